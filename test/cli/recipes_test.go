package cli

import (
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"muster/api"
	"muster/internal/core/stconfig"
	"muster/test/daemon"
	"muster/test/wait"
)

// machine is a device of the page with a real Syncthing.
type machine struct {
	*daemon.Daemon
	label string
}

// kitchen runs the page of recipes.
type kitchen struct {
	*reader
	machines []machine
	files    map[string][]string // that were made to see whether a folder syncs, by folder
	answered map[string]bool     // by digest and device; nil unless the last command was an answer
}

var (
	machineRow = regexp.MustCompile("(?m)^\\| `(\\w+)` \\| (.+) \\|$")
	blockStart = regexp.MustCompile("^```(\\w+)$")
	namedFile  = regexp.MustCompile("`(\\w[\\w-]*\\.(?:hjson|star))`")
)

// Each recipe of several steps is done as the manual has it. What it says of the daemons and of their files is so.
func TestTheRecipesOfSeveralSteps(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/recipes.md")
	if err != nil {
		t.Fatal(err)
	}
	r := &reader{T: t, page: page{name: "recipes"}, dir: t.TempDir()}
	r.serve()
	k := &kitchen{reader: r, files: map[string][]string{}}
	k.prepare(string(text))
	file, commands, results := "", 0, 0
	lines := strings.Split(string(text), "\n")
	for i := 0; i < len(lines); i++ {
		block := blockStart.FindStringSubmatch(lines[i])
		switch {
		case block != nil:
			length := slices.Index(lines[i+1:], "```")
			content := lines[i+1 : i+1+length]
			i += length + 1
			if block[1] != "text" {
				k.write(file, strings.Join(content, "\n")+"\n")
				continue
			}
			for _, line := range content {
				results++
				k.says(line)
			}
		case strings.HasPrefix(lines[i], "    "):
			commands++
			k.does(strings.TrimSpace(lines[i]))
		default:
			if named := namedFile.FindStringSubmatch(lines[i]); named != nil {
				file = named[1]
			}
		}
	}
	if commands < 25 || results < 20 {
		t.Errorf("the page has %d commands and %d results", commands, results)
	}
}

// prepare starts the daemons of the page's table, which know each other, and the person who leaves.
func (k *kitchen) prepare(text string) {
	k.Helper()
	rows := machineRow.FindAllStringSubmatch(text, -1)
	for _, row := range rows {
		k.machines = append(k.machines, machine{daemon.Start(k, daemon.Options{}), row[1]})
	}
	for i, m := range k.machines {
		m.Patch("/rest/config/options", map[string]any{"reconnectionIntervalS": 1})
		for _, other := range k.machines {
			m.Put("/rest/config/devices/"+string(other.ID), map[string]any{"deviceID": other.ID, "name": other.label,
				"addresses": []string{other.SyncAddress()}})
		}
		port := int64(m.Port)
		if _, _, err := k.PutDevice(k.Context(), string(m.ID), api.PutDevice{APIKey: &m.APIKey, APIAddress: &m.Address,
			APIPort: &port, Label: &m.label}); err != nil {
			k.Fatal(err)
		}
		k.untilState(m.ID, func(s api.DeviceState) bool { return s.Configuration == "unmanaged" })
		for tag := range strings.SplitSeq(strings.ReplaceAll(rows[i][2], "`", ""), ", ") {
			if _, err := k.TagDevice(k.Context(), string(m.ID), tag); err != nil {
				k.Fatal(err)
			}
		}
	}
	k.write("password", passphrase)
	k.stdin = ""
	k.typed("muster user create eva --role author --password-file password", 0)
	k.typed("muster token create --role author --name eva-laptop", 0)
}

func (k *kitchen) at(label string) machine {
	k.Helper()
	i := slices.IndexFunc(k.machines, func(m machine) bool { return m.label == label })
	if i < 0 {
		k.Fatalf("the page has no machine %q", label)
	}
	return k.machines[i]
}

// does types a command: on each machine with the folder where a shell there finds it, if it is not one of Muster.
func (k *kitchen) does(command string) {
	k.Helper()
	k.stdin = "y\n"
	k.answered = nil
	switch {
	case strings.Contains(command, "~/") && !strings.HasPrefix(command, "muster "):
		for _, label := range []string{"office", "laptop"} {
			k.typed("HOME="+k.at(label).Home+"; "+command, 0)
		}
	case strings.HasPrefix(command, "muster consent 3fd520971084"):
		k.answers()
	default:
		k.typed(command, 0)
	}
}

// answers answers what waits until nothing does, and at least one answer was given.
func (k *kitchen) answers() {
	k.Helper()
	k.answered = map[string]bool{}
	wait.Until(k, func() string {
		if waits := k.answer(); waits != "" || len(k.answered) == 0 {
			return fmt.Sprintf("%d answered, these wait: %s", len(k.answered), waits)
		}
		return ""
	})
}

// answer answers what waits now and returns what still waits.
func (k *kitchen) answer() (waits string) {
	k.Helper()
	groups := must[[]api.HeldGroup](k.reader)(k.Consents(k.Context()))
	for _, group := range groups {
		isNew := func(c api.HeldChange) bool { return !k.answered[group.Digest+c.DeviceID] }
		if !slices.ContainsFunc(group.Changes, isNew) {
			continue
		}
		out, errs, code := k.execute("muster consent " + group.Digest)
		if strings.Contains(errs, "nothing that waits now") || strings.Contains(errs, "with this digest now") {
			return errs // a later plan of the device says something else
		}
		if code != 0 {
			k.Errorf("muster consent %s\nends with %d:\n%s%s", group.Digest, code, out, errs)
		}
		for _, c := range group.Changes {
			k.answered[group.Digest+c.DeviceID] = true
		}
	}
	if len(groups) > 0 {
		return fmt.Sprintf("%+v", groups)
	}
	return ""
}

var (
	keyResult  = regexp.MustCompile(`^(\w+): (\S+) (is gone|is|are) ?(.*)$`)
	syncResult = regexp.MustCompile(`^a new file in (\w+) of (\w+) (comes|does not come) to (\w+)( encrypted)?$`)
	guiResult  = regexp.MustCompile(`^the GUI of (\w+) asks for (\S+)$`)
	keptResult = regexp.MustCompile(`^every earlier file of (\w+) is in (\S+) of (\w+)$`)
)

// says checks a line of the page.
func (k *kitchen) says(line string) {
	k.Helper()
	if r := keyResult.FindStringSubmatch(line); r != nil {
		k.untilKey(k.at(r[1]), r[2], r[3], r[4])
		return
	}
	if r := guiResult.FindStringSubmatch(line); r != nil {
		k.untilGUI(k.at(r[1]), r[2])
		return
	}
	if r := syncResult.FindStringSubmatch(line); r != nil {
		k.syncs(r[1], k.at(r[2]), k.at(r[4]), r[3]+r[5])
		return
	}
	r := keptResult.FindStringSubmatch(line)
	if r == nil || len(k.files[r[1]]) == 0 {
		k.Fatalf("this line says nothing that can be seen: %s", line)
	}
	for _, file := range k.files[r[1]] {
		if _, err := os.Stat(filepath.Join(k.at(r[3]).Home, r[2], file)); err != nil {
			k.Errorf("%s: %v", line, err)
		}
	}
}

// untilKey waits until a daemon has a value. A device whose plan is made after the answers to the others waits by
// itself: it is answered here.
func (k *kitchen) untilKey(m machine, key, is, value string) {
	k.Helper()
	for _, other := range k.machines {
		key = strings.ReplaceAll(key, "<"+other.label+">", string(other.ID))
	}
	at, err := stconfig.ParseKey(key)
	if err != nil {
		k.Fatal(err)
	}
	wait.Until(k, func() string {
		if k.answered != nil {
			k.answer()
		}
		doc, err := stconfig.Parse(m.Get("/rest/config"))
		if err != nil {
			return err.Error()
		}
		got := stconfig.Lookup(doc, at)
		shown := string(got.JSON())
		switch is {
		case "is gone":
			if !got.Exists() {
				return ""
			}
		case "are":
			if shown = k.labelsIn(got); shown == value {
				return ""
			}
		case "is":
			if shown == value {
				return ""
			}
		}
		return fmt.Sprintf("%s of %s %s %s on the page, and is %s", key, m.label, is, value, shown)
	})
}

// labelsIn are the labels of the devices in a list, in the order of the page's table.
func (k *kitchen) labelsIn(list stconfig.Value) string {
	var labels []string
	for _, m := range k.machines {
		for member := range list.Values() {
			if member.Get("deviceID").Str() == string(m.ID) {
				labels = append(labels, m.label)
			}
		}
	}
	return strings.Join(labels, ", ")
}

// untilGUI waits until a GUI lets nobody in but with the password of a file.
func (k *kitchen) untilGUI(m machine, file string) {
	k.Helper()
	text, err := os.ReadFile(filepath.Join(k.dir, file))
	if err != nil {
		k.Fatal(err)
	}
	wait.Until(k, func() string {
		for password, want := range map[string]int{strings.TrimSpace(string(text)): 200, "": 401, "another": 401} {
			request, err := http.NewRequestWithContext(k.Context(), http.MethodGet, "http://"+m.HostPort()+"/", nil)
			if err != nil {
				return err.Error()
			}
			if password != "" {
				request.SetBasicAuth("admin", password)
			}
			answer, err := http.DefaultClient.Do(request)
			if err != nil {
				return err.Error()
			}
			_ = answer.Body.Close()
			if got := answer.StatusCode; got != want && !(want == 401 && got == 403) {
				return fmt.Sprintf("the GUI of %s answers %d to the password %q", m.label, got, password)
			}
		}
		return ""
	})
}

// syncs makes a file on one machine, and waits for it on the other.
func (k *kitchen) syncs(folder string, from, to machine, how string) {
	k.Helper()
	name := fmt.Sprintf("%s-%d.txt", folder, len(k.files[folder]))
	k.files[folder] = append(k.files[folder], name)
	k.write(filepath.Join(k.rootOf(from, folder), name), "what only readers know\n")
	from.Post("/rest/db/scan?folder="+folder, nil)
	if how == "does not come" {
		if _, there := k.find(to, name); there {
			k.Errorf("%s is on %s", name, to.label)
		}
		return
	}
	wait.Until(k, func() string {
		encrypted, there := k.find(to, name)
		switch {
		case how == "comes encrypted" && there:
			k.Fatalf("%s can read %s", to.label, name)
		case how == "comes encrypted" && encrypted, how == "comes" && there:
			return ""
		}
		return fmt.Sprintf("%s of %s does not come to %s", name, from.label, to.label)
	})
}

// rootOf is where a machine keeps a folder. It waits until it is there.
func (k *kitchen) rootOf(m machine, folder string) (root string) {
	k.Helper()
	wait.Until(k, func() string {
		doc, err := stconfig.Parse(m.Get("/rest/config"))
		if err != nil {
			return err.Error()
		}
		path := doc.Get("folders")
		for one := range path.Values() {
			if one.Get("id").Str() == folder {
				root = strings.Replace(one.Get("path").Str(), "~", m.Home, 1)
			}
		}
		if _, err := os.Stat(filepath.Join(root, ".stfolder")); root == "" || err != nil {
			return fmt.Sprintf("%s has no folder %s: %v", m.label, folder, err)
		}
		return ""
	})
	return root
}

// find tells whether a machine has a file that it can read, and whether it has one that is encrypted.
func (k *kitchen) find(m machine, name string) (encrypted, there bool) {
	_ = filepath.WalkDir(m.Home, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			there = there || filepath.Base(path) == name
			encrypted = encrypted || strings.Contains(path, ".syncthing-enc")
		}
		return nil
	})
	return encrypted, there
}
