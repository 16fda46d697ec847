package httpapi

import (
	"net/http"
	"strings"
	"testing"

	"muster/internal/fleet"
)

func TestFolderRootsOfFleetAndTags(t *testing.T) {
	w := newWorld(t)
	fleetRoots, tag := Prefix+"/folder-roots", Prefix+"/tags/nas%2F1/settings"
	if got := w.get(fleetRoots); got != `{"folderRoots":["~/Sync"]}` {
		t.Errorf("they start as %s", got)
	}
	if got := w.put(fleetRoots,
		`{"folderRoots":["~","/srv/sync","/srv/sync"]}`); got != `{"folderRoots":["/srv/sync","~"]}` {
		t.Errorf("got %s, want them sorted, each once", got)
	}
	w.put(tag, `{"mode":"observe"}`)
	if got := w.put(
		tag,
		`{"folderRoots":["D:\\\\Data"]}`,
	); got != `{"mode":"observe","folderRoots":["D:\\\\Data"],"authorKeys":[],"quietAfter":0}` {
		t.Errorf("the tag's are %s, want the mode to stay", got)
	}
	if got := w.put(
		tag,
		`{"folderRoots":[]}`,
	); got != `{"mode":"observe","folderRoots":[],"authorKeys":[],"quietAfter":0}` {
		t.Errorf("the tag's are %s, want none", got)
	}
	if got := w.put(fleetRoots, `{"folderRoots":[]}`); got != `{"folderRoots":[]}` {
		t.Errorf("the fleet's are %s, want none", got)
	}
}

func TestOnlyAnAdminSetsFolderRoots(t *testing.T) {
	w := newWorld(t)
	for _, path := range []string{Prefix + "/folder-roots", Prefix + "/tags/site/settings"} {
		for _, role := range []fleet.Role{fleet.RoleViewer, fleet.RoleOperator, fleet.RoleAuthor} {
			w.want(http.StatusForbidden, call{method: http.MethodPut, path: path, role: role, body: `{"folderRoots":["/"]}`})
		}
	}
	tag := Prefix + "/tags/site/settings"
	w.want(http.StatusForbidden, call{method: http.MethodPut, path: tag, role: fleet.RoleOperator,
		body: `{"mode":"observe","folderRoots":["/"]}`})
	if got := w.get(tag); got != `{"mode":"on","folderRoots":[],"authorKeys":[],"quietAfter":0}` {
		t.Errorf("got %s after what was refused", got)
	}
}

func TestAFolderRootThatIsNoDirectoryIsRefused(t *testing.T) {
	w := newWorld(t)
	for _, root := range []string{``, `srv`, `..`, `~x`, `~/../x`, `/srv/../etc`, `C:`, `C:x`, `/a\u0000b`,
		`/` + strings.Repeat("x", fleet.MaxFolderRootBytes)} {
		w.problem(http.StatusUnprocessableEntity, call{method: http.MethodPut, path: Prefix + "/folder-roots",
			body: `{"folderRoots":["` + root + `"]}`})
	}
	for _, body := range []string{`{}`, `{"folderRoots":null}`} {
		w.problem(http.StatusUnprocessableEntity, call{method: http.MethodPut, path: Prefix + "/folder-roots", body: body})
	}
}

// Who last saved op, key and text stands for them; a new label or priority changes nothing about that.
func TestWhoStandsForATemplate(t *testing.T) {
	w := newWorld(t)
	path := w.template(`{"op":"set","key":"options.natEnabled","template":"false"}`)
	for _, step := range []struct {
		role fleet.Role
		body string
		want fleet.Role
	}{
		{fleet.RoleAuthor, `{"op":"set","key":"options.natEnabled","template":"false","label":"x","priority":9}`,
			fleet.RoleAdmin},
		{fleet.RoleAuthor, `{"op":"set","key":"options.natEnabled","template":"true"}`, fleet.RoleAuthor},
		{fleet.RoleAdmin, `{"op":"set","key":"options.natEnabled","template":"true","label":"y"}`, fleet.RoleAuthor},
		{fleet.RoleAdmin, `{"op":"merge","key":"options.natEnabled","template":"true"}`, fleet.RoleAdmin},
		{fleet.RoleAuthor, `{"op":"merge","key":"options.NATEnabled","template":"true"}`, fleet.RoleAuthor},
	} {
		w.want(http.StatusOK, call{method: http.MethodPut, path: path, role: step.role, body: step.body})
		if got := w.get(path + "/saver"); !strings.Contains(got, `"role":"`+string(step.want)+`"`) {
			t.Errorf("after %s by %s: got %s, want %s", step.body, step.role, got, step.want)
		}
	}
}

// TestAuthorKeysOfFleetAndTags covers the keys that admins let authors set.
func TestAuthorKeysOfFleetAndTags(t *testing.T) {
	w := newWorld(t)
	ofFleet, ofTag := Prefix+"/author-keys", Prefix+"/tags/site/settings"
	put := func(path, body string, role fleet.Role) call {
		return call{method: http.MethodPut, path: path, body: body, role: role}
	}
	for _, path := range []string{ofFleet, ofTag} {
		for _, role := range []fleet.Role{fleet.RoleViewer, fleet.RoleOperator, fleet.RoleAuthor} {
			w.problem(http.StatusForbidden, put(path, `{"authorKeys":["options"]}`, role))
		}
		for _, keys := range []string{`[""]`, `[" "]`, `["options..x"]`, `["*"]`, `["a\u0007"]`} {
			w.problem(http.StatusUnprocessableEntity, put(path, `{"authorKeys":`+keys+`}`, fleet.RoleAdmin))
		}
		w.want(http.StatusOK, put(path, `{"authorKeys":["options.x","folders.*.ignorePerms","options.x"]}`, fleet.RoleAdmin))
		if got := w.get(path); !strings.Contains(got,
			`"authorKeys":["folders.*.ignorePerms","options.x"]`) {
			t.Errorf("%s: got %s", path, got)
		}
	}
}

// The quiet time of a body was stored although its mode was refused.
func TestARefusedBodyOfTagSettingsStoresNothing(t *testing.T) {
	w := newWorld(t)
	path := Prefix + "/tags/site/settings"
	good := map[string]string{"mode": `"observe"`, "quietAfter": `172800`, "folderRoots": `["/srv"]`,
		"authorKeys": `["options.x"]`}
	bad := map[string]string{"mode": `"bogus"`, "quietAfter": `-1`, "folderRoots": `["srv"]`, "authorKeys": `["*"]`}
	for field := range good {
		var all []string
		for name, value := range good {
			if name == field {
				value = bad[name]
			}
			all = append(all, `"`+name+`":`+value)
		}
		body := "{" + strings.Join(all, ",") + "}"
		w.problem(http.StatusUnprocessableEntity, call{method: http.MethodPut, path: path, body: body})
		if got := w.get(path); got != `{"mode":"on","folderRoots":[],"authorKeys":[],"quietAfter":0}` {
			t.Errorf("after %s: got %s", body, got)
		}
	}
}
