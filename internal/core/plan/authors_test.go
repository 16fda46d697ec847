package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"muster/internal/core/plan"
	"muster/internal/fleet"
)

// folder is a template that makes a folder, shared with a device.
func folder(id, priority int64, role fleet.Role, path string, with ...string) fleet.Template {
	shares := ""
	for _, device := range with {
		shares += fmt.Sprintf(`{"deviceID": %q},`, device)
	}
	return fleet.Template{ID: id, Priority: priority, Op: fleet.OpMerge, Key: "folders.finance", SavedRole: role,
		Text: fmt.Sprintf(`{"path": %q, "devices": [%s]}`, path, shares)}
}

func merge(id, priority int64, role fleet.Role, key, text string) fleet.Template {
	return fleet.Template{ID: id, Priority: priority, Op: fleet.OpMerge, Key: key, Text: text, SavedRole: role}
}

const (
	author = fleet.RoleAuthor
	admin  = fleet.RoleAdmin
	// stranger is one of the scene's devices that is not registered.
	stranger = "K4KRHSO-CKCSM2A-FW6WVO3-4B27H3A-62IDDET-2LWT2O6-UF2QV7Q-XDKPDAI"
)

// Who asks for a change is not who touched its key, but what the templates of admins make by themselves. Nora is
// registered.
func TestWhatAdminsAskForByThemselves(t *testing.T) {
	program := func(role fleet.Role) fleet.Template {
		return merge(2, 20, role, "folders.copy", `def template(config):
    paths = [f["path"] for f in config["folders"] if f["id"] == "finance"]
    return {"path": paths[0] + "/x" if paths else "~/copy"}
`)
	}
	for _, tc := range []struct {
		name      string
		wrote     []fleet.Template // what the daemon has already
		templates []fleet.Template
		held      string // key; "" for none
	}{
		{"an admin's folder anywhere", nil, []fleet.Template{folder(1, 10, admin, "/srv/finance", nora)}, ""},
		{"an author's folder at home", nil, []fleet.Template{folder(1, 10, author, "~/finance", nora)}, ""},
		{"an author's folder elsewhere", nil, []fleet.Template{folder(1, 10, author, "/srv/finance", nora)},
			"folders.finance"},
		{"nobody is known to have saved it", nil, []fleet.Template{folder(1, 10, "nobody", "/srv/finance", nora)},
			"folders.finance"},
		{"an operator did", nil, []fleet.Template{folder(1, 10, fleet.RoleOperator, "/srv/finance", nora)},
			"folders.finance"},
		{"both ask for the same", nil, []fleet.Template{folder(1, 10, author, "/srv/finance", nora), folder(2, 20, admin,
			"/srv/finance", nora)}, ""},
		{"an admin has the last word", nil, []fleet.Template{folder(1, 10, author, "/srv/other", nora), folder(2, 20,
			admin, "/srv/finance", nora)}, ""},
		{"an author has the last word", nil, []fleet.Template{folder(1, 10, admin, "/srv/finance", nora), folder(2, 20,
			author, "/srv/other", nora)}, "folders.finance"},
		{"an admin's program copies an author's path", nil, []fleet.Template{folder(1, 10, author, "/srv/finance", nora),
			program(admin)}, "folders.copy"},
		{"an author's folder with a stranger", nil, []fleet.Template{folder(1, 10, author, "~/finance", stranger)},
			"folders.finance"},
		{"an admin's folder with a stranger", nil, []fleet.Template{folder(1, 10, admin, "~/finance", stranger)}, ""},
		{"a stranger in lower case", nil, []fleet.Template{merge(1, 10, author, "folders.finance",
			`{"path": "~/finance", "devices": [{"deviceID": "k4krhsockcsm2afw6wvo34b27h3a62iddet2lwt2o6uf2qv7qxdkpdai"}]}`)},
			"folders.finance"},
		{"a person's folder shared by an author", nil, []fleet.Template{merge(1, 10, author, "folders.docs-7hq2.devices",
			`[{"deviceID": "`+nora+`"}]`)}, "folders.docs-7hq2.devices." + nora},
		{"a person's folder shared by an admin", nil, []fleet.Template{merge(1, 10, admin, "folders.docs-7hq2.devices",
			`[{"deviceID": "`+nora+`"}]`)}, ""},
		{"every folder shared by an author", nil, []fleet.Template{merge(1, 10, author, "folders.*.devices",
			`[{"deviceID": "`+nora+`"}]`)}, "folders.docs-7hq2.devices." + nora},
		{"an admin's folder shared by an author", []fleet.Template{folder(1, 10, admin, "~/finance")},
			[]fleet.Template{folder(1, 10, admin, "~/finance"), folder(2, 20, author, "~/finance", nora)},
			"folders.finance.devices." + nora},
		{"an admin's folder made by an author first", []fleet.Template{folder(1, 10, admin, "~/finance")},
			[]fleet.Template{folder(2, 5, author, "~/finance", nora), folder(1, 10, admin, "~/finance")},
			"folders.finance.devices." + nora},
		{"an admin's folder after an author saved its template", []fleet.Template{folder(1, 10, admin, "/srv/finance")},
			[]fleet.Template{folder(1, 10, author, "/srv/finance", nora)}, "folders.finance.devices." + nora},
		{"an admin's folder in an author's template after the admin's lost its tag",
			[]fleet.Template{folder(1, 10, admin, "~/finance")},
			[]fleet.Template{folder(2, 10, author, "~/finance", nora)}, "folders.finance.devices." + nora},
		{"an admin's list of folders after an author saved its template", []fleet.Template{
			{ID: 1, Op: fleet.OpAppend, Key: "folders", Text: `[{"id": "finance", "path": "/srv/finance"}]`, SavedRole: admin}},
			[]fleet.Template{{ID: 1, Op: fleet.OpAppend, Key: "folders", SavedRole: author,
				Text: `[{"id": "finance", "path": "/srv/finance", "devices": [{"deviceID": "` + nora + `"}]}]`}},
			"folders.finance.devices." + nora},
		{"an author's folder of which an admin's template sets a field", []fleet.Template{folder(1, 10, author, "~/finance"),
			merge(2, 20, admin, "folders.*", `{"rescanIntervalS": 60}`)},
			[]fleet.Template{folder(1, 10, author, "~/finance", nora)}, ""},
		{"an author's folder shared further", []fleet.Template{folder(1, 10, author, "~/finance")},
			[]fleet.Template{folder(1, 10, author, "~/finance", nora)}, ""},
		{"an author's folder shared further with a stranger", []fleet.Template{folder(1, 10, author, "~/finance")},
			[]fleet.Template{folder(1, 10, author, "~/finance", stranger)}, "folders.finance.devices." + stranger},
		{"every new folder shared by an author", nil, []fleet.Template{merge(1, 10, author, "defaults.folder.devices",
			`[{"deviceID": "`+nora+`"}]`)}, "defaults.folder.devices." + nora},
		{"every new folder shared by an admin", nil, []fleet.Template{merge(1, 10, admin, "defaults.folder.devices",
			`[{"deviceID": "`+nora+`"}]`)}, ""},
		{"two folders of one author in one another", nil, []fleet.Template{folder(1, 10, author, "~/finance"), merge(2,
			20, author, "folders.inner", `{"path": "~/finance/inner"}`)}, "folders.inner"},
		{"two folders of one admin in one another", nil, []fleet.Template{folder(1, 10, admin, "~/finance"), merge(2, 20,
			admin, "folders.inner", `{"path": "~/finance/inner"}`)}, ""},
		{"an author's old versions in another folder", nil, []fleet.Template{merge(1, 10, author, "folders.finance",
			`{"path": "~/finance", "versioning": {"type": "simple", "fsPath": "~/Documents/old"}}`)}, "folders.finance"},
		{"an author's old versions in the folder", nil, []fleet.Template{merge(1, 10, author, "folders.finance",
			`{"path": "~/finance", "versioning": {"type": "simple", "fsPath": "old"}}`)}, "folders.finance"},
		{"an author's old versions in the folder by its whole path", nil,
			[]fleet.Template{merge(1, 10, author, "folders.finance",
				`{"path": "~/finance", "versioning": {"type": "trashcan", "fsPath": "~/finance/old"}}`)}, "folders.finance"},
		{"an author's old versions in every new folder", nil, []fleet.Template{merge(1, 10, author, "defaults.folder",
			`{"versioning": {"type": "simple", "fsPath": "old"}}`)}, "defaults.folder.versioning.fsPath"},
		{"an admin's old versions in the folder", nil, []fleet.Template{merge(1, 10, admin, "folders.finance",
			`{"path": "~/finance", "versioning": {"type": "simple", "fsPath": "old"}}`)}, ""},
		{"an author's old versions beside the folder", nil, []fleet.Template{merge(1, 10, author, "folders.finance",
			`{"path": "~/finance", "versioning": {"type": "simple", "fsPath": "~/finance-old"}}`)},
			"folders.finance"},
		{"an author's folder over the old versions of another", []fleet.Template{merge(1, 10, admin, "folders.other",
			`{"path": "/srv/other", "versioning": {"type": "simple", "fsPath": "~/old"}}`)},
			[]fleet.Template{folder(2, 20, author, "~/old", nora),
				merge(1, 10, admin, "folders.other",
					`{"path": "/srv/other", "versioning": {"type": "simple", "fsPath": "~/old"}}`)}, "folders.finance"},
		{"an author's old versions out of the folder", nil, []fleet.Template{merge(1, 10, author, "folders.finance",
			`{"path": "~/finance", "versioning": {"type": "simple", "fsPath": "a/../../Documents"}}`)}, "folders.finance"},
		{"what a daemon does by itself", nil, []fleet.Template{merge(1, 10, author, "folders.finance",
			`{"path": "~/finance", "versioning": {"type": "simple", "fsPath": ".stversions"}}`)}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newScene(t)
			c.registered[nora] = "Nora"
			c.consent = func(plan.Change) bool { return true }
			c.write(tc.wrote)
			c.consent = nil
			_, p, err := c.plan(tc.templates)
			if err != nil {
				t.Fatal(err)
			}
			found := tc.held == ""
			for _, change := range p.Changes {
				switch key := change.Key.String(); {
				case tc.held == "" && !change.Sendable():
					t.Errorf("%s is %s (%s)", key, change.Class, change.Reason)
				case tc.held == key:
					found = true
					if change.Class != plan.Held {
						t.Errorf("%s is %s", key, change.Class)
					}
				}
			}
			if !found {
				t.Errorf("no change at %s in %v", tc.held, p.Changes)
			}
		})
	}
}

// What the daemon does not say is not guessed: nothing goes anywhere without consent then, even when an admin asks.
func TestPathsAreHeldWhileTheSystemIsNotKnown(t *testing.T) {
	for name, system := range map[string]fleet.System{
		"nothing":         {},
		"no system":       {PathSeparator: "/", Tilde: "/home/sample"},
		"no home":         {OS: "linux", PathSeparator: "/"},
		"a relative home": {OS: "linux", PathSeparator: "/", Tilde: "home"},
		"the root":        {OS: "linux", PathSeparator: "/", Tilde: "/"},
		"another system":  {OS: "plan9", PathSeparator: "/", Tilde: "/home/sample"},
		"a contradiction": {OS: "windows", PathSeparator: "/", Tilde: `C:\Users\x`},
	} {
		for _, role := range []fleet.Role{author, admin} {
			c := newScene(t)
			c.facts.System = system
			_, p, err := c.plan([]fleet.Template{folder(1, 10, role, "~/finance")})
			if err != nil || len(p.Changes) != 1 || p.Changes[0].Class != plan.Held {
				t.Errorf("%s, %s: got %v, %v, want it held", name, role, p.Changes, err)
			}
		}
	}
}

// A daemon of 2.1 says where its own files are; where they lie in the home directory, or it is one of them, is no
// reason to hold everything in it.
func TestTheDaemonsOwnDirectoriesAreHeld(t *testing.T) {
	for _, tc := range []struct {
		tilde, own, path string
		free             bool
	}{
		{"/home/sample", "/home/sample/st", "~/st", false},
		{"/home/sample", "/home/sample/st", "~/st/x", false},
		{"/home/sample", "/home/sample/a/st", "~/a", false},
		{"/home/sample", "/home/sample/st", "~/st2", true},
		{"/home/sample", "/srv/st", "/srv/st/x", false},
		{"/home/sample", "/srv/st", "/srv", false},
		{"/home/sample", "/srv/st", "/srv/x", true},
		{"/var/syncthing", "/var/syncthing", "~/photos", true},
		{"/var/syncthing", "/var/syncthing/config", "~/config", false},
		{"/var/syncthing", "/var/syncthing", "/var/syncthing", false},
		{"/var/lib/syncthing", "/var/lib/syncthing", "~/photos", true},
		{"/var/lib/syncthing", "/var/lib/syncthing", "/var/lib/other", false},
		{"/root", "/root/st", "~/photos", true},
	} {
		for _, role := range []fleet.Role{author, admin} {
			if role == author && tc.free && tc.path[0] != '~' {
				continue
			}
			c := newScene(t)
			c.facts.System = fleet.System{OS: "linux", PathSeparator: "/", Tilde: tc.tilde, Directories: []string{tc.own}}
			_, p, err := c.plan([]fleet.Template{folder(1, 10, role, tc.path)})
			if err != nil || len(p.Changes) != 1 || p.Changes[0].Sendable() != tc.free {
				t.Errorf("home %s, own %s, %s of an %s: got %v, %v", tc.tilde, tc.own, tc.path, role, p.Changes, err)
			}
		}
	}
}

// An author took a folder away, whose files stayed, and made another at a symbolic link that came with them.
func TestAnAuthorsFolderWhereAnotherOneWas(t *testing.T) {
	for path, class := range map[string]plan.Class{
		"~/gone/link": plan.Held, "~//gone/a/link": plan.Held, "/home/sample/gone/link": plan.Held, "~/gone": plan.Free,
		"~/gone2": plan.Free,
	} {
		for _, role := range []fleet.Role{author, admin} {
			c := newScene(t)
			c.facts.FolderPaths = func() ([]string, error) { return []string{"~/gone", "/srv/gone"}, nil }
			_, p, err := c.plan([]fleet.Template{folder(1, 10, role, path)})
			if err != nil || len(p.Changes) != 1 {
				t.Fatal(p.Changes, err)
			}
			if want := map[fleet.Role]plan.Class{author: class, admin: plan.Free}[role]; p.Changes[0].Class != want {
				t.Errorf("%s by an %s is %s (%s), want %s", path, role, p.Changes[0].Class, p.Changes[0].Reason, want)
			}
		}
	}
}

// A device that only a held folder needs said that "the folder that needs it is left out". People who read that first
// did not learn what holds the folder. Now the device names the change of the folder, which has a reason of its own.
func TestADeviceThatOnlyAHeldFolderNeedsNamesThatFolder(t *testing.T) {
	c, added := guardScene(t), fleet.DeviceIDOf([32]byte{7})
	c.registered[added] = "new"
	_, p, err := c.plan([]fleet.Template{folder(1, 10, author, "/srv/finance", string(added))})
	if err != nil {
		t.Fatal(err)
	}
	reasons := map[string]string{}
	for _, change := range p.Changes {
		if change.Class != plan.Held {
			t.Errorf("%s is %s", change.Key, change.Class)
		}
		reasons[change.Key.String()] = change.Reason
	}
	if got := reasons["devices."+string(added)]; got != "left out together with folders.finance" {
		t.Errorf("the device waits because %q", got)
	}
	if got := reasons["folders.finance"]; !strings.Contains(got, "outside") || strings.Contains(got, "left out") {
		t.Errorf("the folder waits because %q", got)
	}
}
