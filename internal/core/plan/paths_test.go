package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"muster/internal/core/plan"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
	"muster/internal/stsim"
	"muster/test/guard"
)

// systems are what simulated daemons say of their machines.
var systems = map[stsim.System]fleet.System{
	stsim.Linux:   {OS: "linux", PathSeparator: "/", Tilde: "/home/syncthing"},
	stsim.Windows: {OS: "windows", PathSeparator: `\`, Tilde: `C:\Users\syncthing`},
	stsim.MacOS:   {OS: "darwin", PathSeparator: "/", Tilde: "/Users/syncthing"},
}

// Every form in every spelling on every system, with every set of roots, by an author and by an admin.
func TestWhereDataMayGo(t *testing.T) {
	cases := 0
	for name, system := range systems {
		for _, roots := range [][]string{{}, {fleet.DefaultFolderRoot}, {"~"}, {guard.SecondRoots[name], "~"}} {
			for _, role := range []fleet.Role{fleet.RoleAuthor, fleet.RoleAdmin} {
				if role == fleet.RoleAdmin && len(roots) == 1 {
					continue // Roots are for authors: for admins the fewest and the most will do.
				}
				t.Run(fmt.Sprintf("%s %q %s", name, roots, role), func(t *testing.T) {
					c := guardScene(t)
					c.edit(fleet.OpMerge, "folders."+guard.Folder, `{"path": "~/photos"}`)
					c.facts.System, c.facts.Roots = system, roots
					cases += c.judgeAll(t, name, role)
				})
			}
		}
	}
	t.Logf("%d cases", cases)
}

// While it is not known on which system a daemon runs, every path of every system waits for a person, for every role.
func TestNoPathIsFreeOnAnUnknownSystem(t *testing.T) {
	unknown := []fleet.System{
		{},
		{OS: "plan9", PathSeparator: "/", Tilde: "/usr/syncthing"},
		{OS: "windows", PathSeparator: "/", Tilde: `C:\Users\syncthing`},
		{OS: "linux", PathSeparator: "/"},
	}
	for i, system := range unknown {
		for _, role := range []fleet.Role{fleet.RoleAuthor, fleet.RoleAdmin} {
			t.Run(fmt.Sprintf("%q %s", system, role), func(t *testing.T) {
				c := guardScene(t)
				c.edit(fleet.OpMerge, "folders."+guard.Folder, `{"path": "~/photos"}`)
				c.facts.System, c.facts.Roots = system, []string{fleet.DefaultFolderRoot, "~"}
				for name := range systems {
					for j, path := range guard.Paths[name] {
						form := guard.Forms[(i+j)%len(guard.Forms)]
						if !form.Takes(path) || form.At == "defaults.folder.path" && path.Text == "~" {
							continue
						}
						c.judged(t, fmt.Sprintf("%s %q", form.Name, path.Text), form, false, fleet.Template{ID: 1,
							Op: form.Op, Key: form.Key, Text: form.Template(path), SavedRole: role})
					}
				}
			})
		}
	}
}

// Names for whose paths an author once needed nobody's consent: with the default root they are outside, with the home
// directory as root they lie in directories of programs. Beside them, a directory of data is free.
func TestAuthorsReachNoDirectoryOfPrograms(t *testing.T) {
	programs := map[stsim.System][]string{
		stsim.Windows: {`~\Local Settings\x`, `~\Application Data\x`, `~\Start Menu\Programs\Startup`, `~\SendTo`,
			`~\Documents\PowerShell`, `~\Documents`, `~\CON`},
		stsim.Linux: {"~/snap/x", "~/go/bin", "~/Applications", "~/.local/bin"},
		stsim.MacOS: {"~/snap/x", "~/go/bin", "~/Applications", "~/Library/LaunchAgents"},
	}
	data := map[string]string{"~": "~/Documents2/x", fleet.DefaultFolderRoot: "~/Sync/x"}
	for name, texts := range programs {
		for root, free := range data {
			c := guardScene(t)
			c.edit(fleet.OpMerge, "folders."+guard.Folder, `{"path": "~/photos"}`)
			c.facts.System, c.facts.Roots = systems[name], []string{root}
			form := guard.Forms[0]
			for _, text := range append(slices.Clone(texts), free) {
				c.judged(t, fmt.Sprintf("%s, root %s: %s", name, root, text), form, text == free, fleet.Template{ID: 1,
					Op: form.Op, Key: form.Key, Text: form.Template(guard.Path{Text: text}),
					SavedRole: fleet.RoleAuthor})
			}
		}
	}
}

// Old versions in the folder itself are deleted files of it, however its directory is spelled.
func TestOldVersionsInTheFolderItselfAreHeldInEverySpelling(t *testing.T) {
	form := guard.Form{Op: fleet.OpMerge, Key: "folders." + guard.Folder + ".versioning",
		Text: `{"type": "simple", "fsPath": <path>}`, At: "folders." + guard.Folder + ".versioning.fsPath"}
	for name, texts := range map[stsim.System][]string{
		stsim.Linux: {"~/photos", "/home/syncthing/photos", "/home//syncthing/./photos/",
			"/home/syncthing/photos/../photos"},
		stsim.Windows: {`~\photos`, `C:\Users\syncthing\photos`, `c:/users/SYNCTHING/Photos.`},
		stsim.MacOS:   {"/users/syncthing/PHOTOS"},
	} {
		c := guardScene(t)
		c.edit(fleet.OpMerge, "folders."+guard.Folder, `{"path": "~/photos"}`)
		c.facts.System, c.facts.Roots = systems[name], []string{"~"}
		for _, text := range texts {
			c.judged(t, text, form, false, fleet.Template{ID: 1, Op: form.Op, Key: form.Key,
				Text: form.Template(guard.Path{Text: text})})
		}
	}
}

// judgeAll tries all paths of a system in all forms.
func (c *scene) judgeAll(t *testing.T, system stsim.System, role fleet.Role) (cases int) {
	for _, path := range guard.Paths[system] {
		for _, form := range guard.Forms {
			if form.Takes(path) {
				if cases++; cases%sampled != 0 {
					continue
				}
				c.judged(t, fmt.Sprintf("%s %q", form.Name, path.Text), form, form.Free(path, role == fleet.RoleAdmin,
					c.facts.Roots),
					fleet.Template{ID: 1, Op: form.Op, Key: form.Key, Text: form.Template(path), SavedRole: role})
			}
		}
	}
	return cases
}

// TestTheReasonOfAHoldNamesTheTemplateAndTheRemedy covers a reason that needed two readings ("it is not admins alone
// who ask for it").
func TestTheReasonOfAHoldNamesTheTemplateAndTheRemedy(t *testing.T) {
	author := fleet.Template{ID: 12, Op: fleet.OpMerge, Key: "folders.new", SavedRole: fleet.RoleAuthor}
	for text, want := range map[string]string{
		`{"path": "/srv/new"}`: "its path is outside the folder roots (~); template 12 was not last saved by an " +
			"admin: an admin consents, or saves the template with a change in its text, or adds a root: " +
			"muster folder-roots add /srv/new",
		`{"path": "/srv/it's; new"}`: `muster folder-roots add '/srv/it'\''s; new'`,
		`{"path": "~/bin/x"}`: "its path lies in a directory of programs; template 12 was not last " +
			"saved by an admin: an admin consents, or saves the template with a change in its text",
	} {
		c := guardScene(t)
		author.Text = text
		_, p, err := c.plan([]fleet.Template{author})
		if err != nil {
			t.Fatal(err)
		}
		isEnd := strings.HasPrefix(want, "muster")
		if got := p.Changes[0].Reason; got != want && !(isEnd && strings.HasSuffix(got, want)) {
			t.Errorf("%s: the reason is %q, want %q", text, got, want)
		}
	}
}

// The reason said "is, contains or lies in", whichever of them it was.
func TestTheReasonOfAHoldSaysHowThePathStandsToPrograms(t *testing.T) {
	unix, windows := fleet.System{OS: "linux", PathSeparator: "/", Tilde: "/home/user"},
		fleet.System{OS: "windows", PathSeparator: `\`, Tilde: `C:\Users\User`}
	for _, c := range []struct {
		system     fleet.System
		path, want string
	}{
		{unix, "~/bin", "is"}, {unix, "~/bin/x", "lies in"}, {unix, "~/a/node_modules", "is"},
		{unix, "/data/node_modules/a/b", "lies in"}, {unix, "~/bin/x/bin", "lies in"},
		{unix, "~/go", "is"}, {unix, "~/go/src", "lies in"}, {unix, "~/a/go", ""}, {unix, "~/a", ""},
		{unix, "~/Documents", ""}, {windows, "~/Documents", "contains"}, {windows, "~/OneDrive - x/Documents", "contains"},
		{windows, "~/Documents/My Music", "is"}, {windows, "~/Documents/PowerShell/x", "lies in"},
		{windows, `D:\Startup\x`, "lies in"}, {windows, `D:\a`, ""},
	} {
		scene := guardScene(t)
		scene.facts.System, scene.facts.Roots = c.system, []string{"~", "/data", `D:\`}
		_, p, err := scene.plan([]fleet.Template{{ID: 12, Op: fleet.OpMerge, Key: "folders.new",
			Text: fmt.Sprintf(`{"path": %q}`, c.path), SavedRole: fleet.RoleAuthor}})
		if err != nil {
			t.Fatal(err)
		}
		how, _, held := strings.Cut(strings.TrimPrefix(p.Changes[0].Reason, "its path "), " a directory of programs;")
		if !held {
			how = ""
		}
		if how != c.want {
			t.Errorf("%s %s: got %q, want %q: %s", c.system.OS, c.path, how, c.want, p.Changes[0].Reason)
		}
	}
}

// An admin's template whose vars an author saved was named as one that no admin saved.
func TestTheReasonOfAHoldNamesTheVarsThatAnAuthorSaved(t *testing.T) {
	c := guardScene(t)
	c.facts.OthersVars = func(template int64) []string {
		return map[int64][]string{12: {`root of tag "office"`, "name of device A"}}[template]
	}
	_, p, err := c.plan([]fleet.Template{{ID: 12, Op: fleet.OpMerge, Key: "folders.new", Text: `{"path": "~/bin/x"}`,
		SavedRole: fleet.RoleAuthor}})
	if err != nil {
		t.Fatal(err)
	}
	want := "its path lies in a directory of programs; template 12 reads vars that were not last " +
		`saved by an admin (root of tag "office"; name of device A): an admin consents, or saves the vars with a change`
	if got := p.Changes[0].Reason; got != want {
		t.Errorf("the reason is %q, want %q", got, want)
	}
}

func (c *scene) judged(t *testing.T, what string, form guard.Form, free bool, template fleet.Template) {
	t.Helper()
	_, p, err := c.plan([]fleet.Template{template})
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	at := keyOf(t, form.At)
	for _, change := range p.Changes {
		if change.Key.Equal(at) {
			if got := change.Sendable(); got != free {
				t.Errorf("%s is %s (%s)", what, change.Class, change.Reason)
			}
			if change.Class == plan.Held && change.Reason == "" {
				t.Errorf("%s is held without a reason", what)
			}
			return
		}
	}
	t.Errorf("%s: no change at %s in %v", what, form.At, p.Changes)
}

// TestNamesThatWindowsReservesAreRefusedWhereverAFileIsNamed covers fields besides the paths of folders, for admins,
// and a field that only older daemons have. On other systems such names are names like any other, and on an unknown one
// they wait for a person.
func TestNamesThatWindowsReservesAreRefusedWhereverAFileIsNamed(t *testing.T) {
	for _, tc := range []struct {
		key, value string
		refused    bool
	}{
		{"folders.photos-x4kd.path", `"D:\\CLOCK$"`, true},
		{"folders.photos-x4kd.markerName", `"NUL"`, true},
		{"folders.photos-x4kd.markerName", `".stfolder:x"`, true},
		{"folders.photos-x4kd.markerName", `".mark"`, false},
		{"defaults.folder.markerName", `"aux.txt"`, true},
		{"options.auditFile", `"C:\\logs\\con"`, true},
		{"options.auditFile", `"-"`, false},
		{"options.defaultFolderPath", `"D:\\clock$.x"`, true},
		{"options.defaultFolderPath", `"D:\\Data"`, false},
	} {
		for _, os := range []string{"windows", "linux", ""} {
			c := guardScene(t)
			options := c.observed.Get("options").With("defaultFolderPath", stconfig.Text("~"))
			c.observed = c.observed.With("options", options)
			switch os {
			case "windows":
				c.facts.System = fleet.System{OS: os, PathSeparator: `\`, Tilde: `C:\Users\syncthing`}
			case "":
				c.facts.System = fleet.System{}
			}
			_, p, err := c.plan([]fleet.Template{{ID: 1, Op: fleet.OpSet, Key: tc.key, Text: tc.value,
				SavedRole: admin}})
			if err != nil || len(p.Changes) != 1 {
				t.Fatalf("%s %s: got %v, %v", tc.key, tc.value, p.Changes, err)
			}
			change := p.Changes[0]
			if got := change.Class == plan.Refused; got != (tc.refused && os == "windows") {
				t.Errorf("%s %s, on %q: is %s: %s", tc.key, tc.value, os, change.Class, change.Reason)
			}
			if tc.refused && os == "" && change.Class != plan.Held {
				t.Errorf("%s %s, on an unknown system: is %s: %s, want held", tc.key, tc.value, change.Class,
					change.Reason)
			}
		}
	}
}
