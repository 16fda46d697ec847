package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
	"muster/test/reads"
	"muster/test/server"
	"muster/test/wait"
)

// printedFleet is a simulated fleet with one of each trouble, and all commands that Muster prints about it.
type printedFleet struct {
	*reader
	devices []api.Device
	known   map[string]string // where a command was found first
	backups string            // a folder for backups

	answered map[string]bool // devices that ask to be accepted, and held groups, that were answered; see answersOnce
	todo     []string
}

var (
	quotedCommand   = regexp.MustCompile("`(muster [^`]+)`")
	commandLine     = regexp.MustCompile(`(?m)(?:^    |: )(muster [a-z].*?)(?:   .*)?$`)
	unfilled        = regexp.MustCompile(`\{\w*\}|<\w+>|\$\{`)
	wordForExample  = regexp.MustCompile(`\b[A-Z][A-Z_-]+\b`)
	changesTheFleet = regexp.MustCompile(
		`^muster (\S+ )?(delete|forget|reject|revoke|dismiss|disable|end|stop|undo|halt|` +
			`uninstall|logout|protect|apply|consent|accept|resume|restart)\b`,
	)
)

// goesOn are commands that do not end by themselves, or are about this machine.
var goesOn = map[string]string{
	"muster serve":           "it serves until it is stopped; the manual's test runs it",
	"muster agent":           "it runs until it is stopped, or is about services; the test of the manual runs it",
	"muster folder watch":    "it shows a folder until Ctrl-C",
	"muster events":          "it prints what happens until Ctrl-C",
	"muster login":           "a person types a password; the manual's test runs it",
	"muster enroll --server": "it is about the daemon of this machine; the manual's test runs it",
	"muster device edit":     "it opens an editor; scripts run it",
	"muster template edit":   "it opens an editor; scripts run it",
}

// answersOnce are the commands of which one ends what the other would answer. TestCommandsOfEachCauseRun runs each of
// them.
var answersOnce = regexp.MustCompile(`^muster (?:enrollment (?:accept|reject) '?|consent )([A-Z2-7]{7}|[0-9a-f]{12})`)

// endsWith are the commands that may end with an exit code other than 0.
func endsWith(code int) map[string]string {
	switch code {
	case 1:
		return map[string]string{"muster doctor": "it says that something is wrong"}
	case 3:
		return map[string]string{"muster status": "something waits for a person"}
	case 5:
		return map[string]string{"muster plan": "something would change"}
	}
	return nil
}

// A command that Muster prints is typed as it stands there. One with a placeholder, or that takes other arguments, is
// of no use to the person who reads it.
func TestEveryCommandThatMusterPrintsRuns(t *testing.T) {
	t.Parallel()
	f := newPrintedFleet(t)
	f.readAPI()
	f.readPages()
	for _, command := range f.readingCommands() {
		f.add("muster --help", command)
	}
	for len(f.todo) > 0 {
		slices.SortStableFunc(f.todo, func(a, b string) int { // else as they were printed
			return order(changesTheFleet.MatchString(a)) - order(changesTheFleet.MatchString(b))
		})
		command := f.todo[0]
		f.todo = f.todo[1:]
		f.types(command)
	}
	if f.ran < 100 {
		t.Errorf("only %d commands ran", f.ran)
	}
}

func order(last bool) int {
	if last {
		return 1
	}
	return 0
}

// newPrintedFleet starts the demo's fleet, and adds what waits for a person beside the troubles of its folders.
func newPrintedFleet(t *testing.T) *printedFleet {
	t.Helper()
	muster := server.Start(t, server.Options{Demo: 36, ApprovalThreshold: "20", Soak: time.Millisecond,
		BackupPassphrase: "correct horse battery staple", TroubleAfter: time.Millisecond,
		StalledAfter: time.Millisecond, DisagreeAfter: time.Millisecond})
	f := &printedFleet{
		reader: &reader{T: t, Client: muster.Client, url: muster.URL, token: muster.Token, dir: t.TempDir()},
		known:  map[string]string{}, answered: map[string]bool{}, backups: filepath.Join(muster.Home, "backups"),
	}
	home := filepath.Join(f.dir, ".local/share/muster")
	if err := os.MkdirAll(home, 0o700); err != nil {
		t.Fatal(err)
	}
	f.write(filepath.Join(home, "admin-token"), muster.Token+"\n")
	muster.Template("remove", "folders", `["handbook"]`, "price-list")
	f.untilWaits(fleet.WaitHeld)
	muster.Template("set", "options.reconnectionIntervalS", "77", "demo")
	f.typed("muster stop --tag site:osaka", 0) // Troubles that an order helps with are elsewhere.
	for _, cause := range []fleet.WaitCause{fleet.WaitHeld, fleet.WaitStop, fleet.WaitRolloutApproval,
		fleet.WaitEnrollment, fleet.WaitUnreachable, fleet.WaitFolderStopped, fleet.WaitFailedItems,
		fleet.WaitOutOfSync} {
		f.untilWaits(cause)
	}
	f.devices = must[[]api.Device](f.reader)(f.Devices(t.Context(), client.List{}))
	f.typed("muster export fleet", 0)
	return f
}

func (f *printedFleet) untilWaits(cause fleet.WaitCause) {
	f.Helper()
	wait.Until(f, func() string {
		waiting, err := f.Waiting(f.Context(), "")
		if err != nil {
			return err.Error()
		}
		var causes []string
		for _, g := range waiting.Groups {
			causes = append(causes, g.Cause)
		}
		if slices.Contains(causes, string(cause)) {
			return ""
		}
		return fmt.Sprintf("nothing waits because of %s, but of %v", cause, causes)
	})
}

// readAPI reads every answer of the API.
func (f *printedFleet) readAPI() {
	f.Helper()
	values := map[string][]string{
		"number":     {"1"},
		"other":      {"2"},
		"generation": {"1"},
		"user":       {"anna"},
		"path":       {"a.txt"},
		"key":        {"options.natEnabled"},
		"orderID":    {"1"},
		"setting":    {"soak"},
		"channel":    {"chat"},
		"sink":       {"archive"},
	}
	f.write("chat-url", "https://hooks.example.org/chat\n")
	f.typed("muster channel set chat --type webhook --url-file chat-url", 0)
	f.typed("muster sink set archive --kind file", 0)
	for _, d := range f.devices {
		values["deviceID"] = append(values["deviceID"], d.DeviceID)
	}
	for _, folder := range must[[]api.Folder](f.reader)(f.Folders(f.Context(), client.List{})) {
		values["folderID"] = append(values["folderID"], folder.Folder)
	}
	values["tag"] = must[[]string](f.reader)(f.Tags(f.Context(), client.List{}))
	for _, template := range must[[]api.Template](f.reader)(f.Templates(f.Context(), client.List{})) {
		values["templateID"] = append(values["templateID"], strconv.FormatInt(template.ID, 10))
	}
	for _, rollout := range must[[]api.Rollout](f.reader)(f.Rollouts(f.Context(), client.List{})) {
		values["rolloutID"] = append(values["rolloutID"], strconv.FormatInt(rollout.ID, 10))
	}
	for _, path := range reads.Paths(f, values) {
		var answer any
		if path == "/api/v1/openapi.json" { // It says what answers look like.
			continue
		}
		if err := json.Unmarshal(f.get(path), &answer); err == nil {
			f.readJSON(path, answer)
		}
	}
}

func (f *printedFleet) get(path string) []byte {
	f.Helper()
	r, err := http.NewRequestWithContext(f.Context(), http.MethodGet, f.url+path, http.NoBody)
	if err != nil {
		f.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+f.token)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		f.Fatal(err)
	}
	defer answer.Body.Close() //nolint:errcheck // it was read
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		f.Fatal(err)
	}
	return text
}

// readJSON finds the commands in the texts of an answer. A command with placeholders stands beside their values.
func (f *printedFleet) readJSON(where string, value any) {
	switch value := value.(type) {
	case string:
		f.readText(where, value)
	case []any:
		for _, member := range value {
			f.readJSON(where, member)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			member := value[name]
			actions, is := member.([]any)
			devices, ofDevices := value["devices"].([]any)
			if name != "actions" || !is || !ofDevices {
				f.readJSON(where, member)
				continue
			}
			for _, action := range actions {
				f.readAction(where, action.(map[string]any), devices)
			}
		}
	}
}

// readAction fills the command of an action for each device of its group. What a person has to answer is answered.
func (f *printedFleet) readAction(where string, action map[string]any, devices []any) {
	command := action["command"].(string)
	for _, name := range action["ask"].([]any) {
		command = strings.ReplaceAll(command, fmt.Sprintf("{%s}", name), "'~/answered'")
	}
	if len(devices) == 0 {
		f.add(where, command)
	}
	for _, device := range devices {
		filled := command
		for name, value := range device.(map[string]any)["values"].(map[string]any) {
			filled = strings.ReplaceAll(filled, "{"+name+"}", "'"+strings.ReplaceAll(value.(string), "'", `'\''`)+"'")
		}
		f.add(where, filled)
	}
}

// readText finds the commands in a text for people, between backticks or on a line of their own.
func (f *printedFleet) readText(where, text string) {
	for _, found := range quotedCommand.FindAllStringSubmatch(text, -1) {
		f.add(where, found[1])
	}
	for _, found := range commandLine.FindAllStringSubmatch(text, -1) {
		f.add(where, found[1])
	}
}

var (
	commandOnPage = regexp.MustCompile("[>\"`](muster [a-z][^<>\"`]*)[<\"`]")
	programOnPage = regexp.MustCompile(`[^^]\bmuster ([a-z][a-z-]*)`) // A pattern that reads commands begins with ^.
	// tabOfEnroll is the name of a tab, and the tab has the whole command.
	tabOfEnroll = "By muster enroll<"
)

// readPages finds the commands in the texts of the console and of the pages that the server makes.
func (f *printedFleet) readPages() {
	f.Helper()
	found, isCommand := 0, map[string]bool{}
	help := f.typed("muster --help", 0)
	for _, line := range regexp.MustCompile(`(?m)^  ([a-z][a-z-]*)`).FindAllStringSubmatch(help, -1) {
		isCommand[line[1]] = true
	}
	for _, root := range []string{"../../web/src", "../../internal/edge/pages"} {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || strings.Contains(path, "test") || strings.HasSuffix(path, ".go") ||
				entry.Name() == "schema.d.ts" { // It is made from the document of the API, and no page shows it.
				return err
			}
			content, err := os.ReadFile(path)
			text := strings.ReplaceAll(string(content), tabOfEnroll, "")
			for _, match := range commandOnPage.FindAllStringSubmatch(text, -1) {
				found++
				f.add(path, strings.ReplaceAll(match[1], "${root}", f.url))
			}
			for _, match := range programOnPage.FindAllStringSubmatch(commandOnPage.ReplaceAllString(text, ""), -1) {
				if isCommand[match[1]] {
					f.Errorf("%s: %s stands outside quotes, where no test finds the whole command", path, match[0][1:])
				}
			}
			return err
		})
		if err != nil {
			f.Fatal(err)
		}
	}
	if found < 4 {
		f.Errorf("the pages have %d commands", found)
	}
}

// readingCommands are the commands that show something, from the help of the program.
func (f *printedFleet) readingCommands() (commands []string) {
	f.Helper()
	for _, found := range regexp.MustCompile(`(?m)^  ((?:\S+ )?list|status|waiting|doctor|versions|whoami) `).
		FindAllStringSubmatch(f.typed("muster --help", 0), -1) {
		if found[1] != "revision list" { // of one device
			commands = append(commands, "muster "+found[1])
		}
	}
	for _, d := range f.devices {
		commands = append(commands, "muster status "+d.DeviceID, "muster device get "+d.DeviceID)
	}
	for _, folder := range must[[]api.Folder](f.reader)(f.Folders(f.Context(), client.List{})) {
		commands = append(commands, "muster folder get "+folder.Folder, "muster folder who "+folder.Folder)
	}
	for _, rollout := range must[[]api.Rollout](f.reader)(f.Rollouts(f.Context(), client.List{})) {
		commands = append(commands, fmt.Sprint("muster rollout show ", rollout.ID))
	}
	return commands
}

// add has a command typed later, once.
func (f *printedFleet) add(where, command string) {
	command = strings.TrimRight(strings.TrimSpace(command), ".")
	if _, is := f.known[command]; is || strings.Contains(command, "--help") {
		return
	}
	f.known[command] = where
	if left := unfilled.FindString(command); left != "" {
		f.Errorf("%s: %s: nobody knows what to type for %s", where, command, left)
		return
	}
	f.todo = append(f.todo, command)
}

// types runs a command. What it prints has commands, too.
func (f *printedFleet) types(command string) {
	f.Helper()
	if _, is := beginningOf(command, goesOn); is {
		return
	}
	if asked := answersOnce.FindStringSubmatch(command); asked != nil {
		if f.answered[asked[1]] {
			return
		}
		f.answered[asked[1]] = true
	}
	f.stdin = strings.Repeat("y\n", 3)
	out, errs, code := f.execute(f.filled(command))
	f.ran++
	if _, may := beginningOf(command, endsWith(code)); code != 0 && !may {
		f.Errorf("%s: %s: ends with %d:\n%s%s", f.known[command], command, code, out, errs)
	}
	f.readText(command, out+"\n"+errs)
}

// filled is a command with a value for each word in capital letters.
func (f *printedFleet) filled(command string) string {
	return wordForExample.ReplaceAllStringFunc(command, func(word string) string { return f.example(command, word) })
}

// example gives a value for a word in capital letters.
func (f *printedFleet) example(command, word string) string {
	switch word {
	case "DEVICE":
		return f.devices[0].DeviceID
	case "FOLDER":
		return "handbook"
	case "URL":
		return f.url
	case "DIR":
		if strings.Contains(command, "backupTo") {
			return f.backups
		}
		return "fleet"
	}
	return word
}
