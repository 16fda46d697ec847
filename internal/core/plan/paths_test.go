package plan_test

import (
	"fmt"
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
		for _, roots := range [][]string{{}, {"~"}, {guard.SecondRoots[name], "~"}} {
			for _, role := range []fleet.Role{fleet.RoleAuthor, fleet.RoleAdmin} {
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
	roots := len(c.facts.Roots)
	for _, path := range guard.Paths[system] {
		for _, form := range guard.Forms {
			if form.Takes(path) {
				if cases++; cases%sampled != 0 {
					continue
				}
				c.judged(t, fmt.Sprintf("%s %q", form.Name, path.Text), form, form.Free(path, role == fleet.RoleAdmin,
					roots > 0, roots > 1),
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
		`{"path": "/srv/new"}`: "its path is outside the folder roots (~); template 12 was not last saved by an admin: " +
			"an admin consents, or saves the template, or adds a root: muster folder-roots add /srv/new",
		`{"path": "/srv/it's; new"}`: `muster folder-roots add '/srv/it'\''s; new'`,
		`{"path": "~/bin/x"}`: "its path lies in a directory of programs; template 12 was not last saved by an admin: " +
			"an admin consents, or saves the template",
	} {
		c := guardScene(t)
		author.Text = text
		_, p, err := c.plan([]fleet.Template{author})
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Changes[0].Reason; got != want && !(strings.HasPrefix(want, "muster") && strings.HasSuffix(got, want)) {
			t.Errorf("%s: the reason is %q, want %q", text, got, want)
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
	want := "its path lies in a directory of programs; template 12 reads vars that were not last saved by an admin " +
		`(root of tag "office"; name of device A): an admin consents, or saves the vars`
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
// and a field that only older daemons have. Elsewhere such names are names like any other.
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
		for _, onWindows := range []bool{true, false} {
			c := guardScene(t)
			c.observed = c.observed.With("options", c.observed.Get("options").With("defaultFolderPath", stconfig.Text("~")))
			if onWindows {
				c.facts.System = fleet.System{OS: "windows", PathSeparator: `\`, Tilde: `C:\Users\syncthing`}
			}
			_, p, err := c.plan([]fleet.Template{{ID: 1, Op: fleet.OpSet, Key: tc.key, Text: tc.value, SavedRole: admin}})
			if err != nil || len(p.Changes) != 1 {
				t.Fatalf("%s %s: got %v, %v", tc.key, tc.value, p.Changes, err)
			}
			if got := p.Changes[0].Class == plan.Refused; got != (tc.refused && onWindows) {
				t.Errorf("%s %s, on Windows: %t, is %s: %s", tc.key, tc.value, onWindows, p.Changes[0].Class, p.Changes[0].Reason)
			}
		}
	}
}
