package httpapi

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"muster/api"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

func (w *world) planFleet(body string) (out api.FleetPlan) {
	w.t.Helper()
	if err := json.Unmarshal([]byte(w.want(http.StatusOK, post("/fleet/plan", body))), &out); err != nil {
		w.t.Fatal(err)
	}
	return out
}

func post(path, body string) call {
	return call{method: http.MethodPost, path: Prefix + path, body: body}
}

// withDigest adds the digest of a plan to a body with files.
func withDigest(body, digest string) string {
	return strings.TrimSuffix(body, "}") + `,"digest":"` + digest + `"}`
}

const twoFiles = `{"source":"repo","templates":{
	"one":{"label":"One","op":"set","key":"options.a","template":"1","tags":["x"]},
	"two":{"op":"merge","key":"options","template":"{}","priority":3}},
	"devices":{"` + string(idA) + `":{"label":"renamed","tags":["x"],"settings":{"mode":"observe"}}},
	"folderRoots":["/srv"],"tags":{"x":{"protected":true}}}`

func TestWhatFilesSayIsPlannedAndApplied(t *testing.T) {
	w := newWorld(t)
	w.device(idA, "one")
	planned := w.planFleet(twoFiles)
	if !planned.Differs || len(planned.Changes) != 8 {
		t.Errorf("got %+v", planned.Changes)
	}
	if planned.Waves == nil {
		t.Error("the waves are null")
	}
	w.want(http.StatusPreconditionFailed, post("/fleet/apply", withDigest(twoFiles, "another")))
	w.want(http.StatusOK, post("/fleet/apply", withDigest(twoFiles, planned.Digest)))
	again := w.planFleet(twoFiles)
	if again.Differs || len(again.Changes) != 0 || again.Generation != planned.Generation+1 {
		t.Errorf("left to do: %+v", again)
	}
	got := read[api.Fleet](w, Prefix+"/fleet")
	device := got.Devices[string(idA)]
	if got.Templates["one"].Source != "repo" || got.Templates["two"].Priority != 3 || device.Label != "renamed" ||
		device.Settings.Mode != "observe" || got.FolderRoots[0] != "/srv" || !got.Tags["x"].Protected {
		t.Errorf("got %+v", got)
	}
}

func TestAPlanOfFilesEndsWithTheNextChange(t *testing.T) {
	w := newWorld(t)
	w.device(idA, "one")
	planned := w.planFleet(twoFiles)
	w.template(`{"label":"meanwhile","op":"set","key":"options.b","template":"1"}`)
	w.want(http.StatusPreconditionFailed, post("/fleet/apply", withDigest(twoFiles, planned.Digest)))
	if again := w.planFleet(twoFiles); again.Digest == planned.Digest {
		t.Error("the digest is the same for another generation")
	}
}

func TestFilesNeedTheRolesOfWhatTheyChange(t *testing.T) {
	w := newWorld(t)
	w.device(idA, "one")
	for body, least := range map[string]fleet.Role{
		`{"devices":{"` + string(idA) + `":{"tags":["y"]}}}`:                 fleet.RoleOperator,
		`{"templates":{"t":{"op":"set","key":"options.a","template":"1"}}}`:  fleet.RoleAuthor,
		`{"devices":{"` + string(idA) + `":{"label":"x"}}}`:                  fleet.RoleAdmin,
		`{"devices":{"` + string(idA) + `":{"settings":{"mode":"paused"}}}}`: fleet.RoleAdmin,
		`{"folderRoots":["/"]}`: fleet.RoleAdmin,
		`{"devices":{"` + string(idA) + `":{"label":"one","settings":{}}}}`: fleet.RoleOperator,
		`{"source":"s"}`: fleet.RoleAuthor,
	} {
		for _, role := range []fleet.Role{fleet.RoleOperator, fleet.RoleAuthor, fleet.RoleAdmin} {
			c, want := post("/fleet/plan", body), http.StatusOK
			if c.role = role; !role.Includes(least) {
				want = http.StatusForbidden
			}
			w.want(want, c)
		}
	}
}

func TestWhatFilesSayWrongNamesItsPlace(t *testing.T) {
	w := newWorld(t)
	w.device(idA, "one")
	for body, want := range map[string]string{
		`{"devices":{"` + string(idB) + `":{"label":"x"}}}`:                   "devices." + string(idB),
		`{"devices":{"nonsense":{}}}`:                                         "devices.nonsense",
		`{"templates":{"a.b":{"op":"put","key":"options.a","template":"1"}}}`: "templates.a.b.op",
		`{"templates":{"t":{"op":"set","key":"options.a"}}}`:                  "templates.t.template",
		`{"tags":{"x":{"mode":"off"}}}`:                                       "tags.x.mode",
		`{"folderRoots":["relative"]}`:                                        "folderRoots",
		`{"prune":true}`:                                                      "source",
		`{"readOnly":true}`:                                                   "source",
		`{"assertions":[{"name":"a","all":true}]}`:                            "assertions.0",
	} {
		if got := w.want(http.StatusUnprocessableEntity, post("/fleet/plan", body)); !strings.Contains(got, want) {
			t.Errorf("%s: got %s, want %q", body, got, want)
		}
	}
}

func TestAnAssertionThatTheFilesBreakIsNamedAndRefused(t *testing.T) {
	w := newWorld(t)
	w.device(idA, "laptop")
	config, err := stconfig.Parse([]byte(`{"options":{"natEnabled":true},"folders":[{"id":"f","devices":[{"deviceID":"` +
		string(idB) + `"}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	w.fakes.config = map[fleet.DeviceID]stconfig.Value{idA: config}
	const body = `{"assertions":[{"name":"nat","device":"laptop","expect":{"options.natEnabled":false},
		"noUnregisteredShares":true}]}`
	planned := w.planFleet(body)
	if len(planned.Broken) != 2 || planned.Broken[1].Label != "laptop" || planned.Broken[1].Got != "true" {
		t.Errorf("got %+v", planned.Broken)
	}
	got := w.want(http.StatusUnprocessableEntity, post("/fleet/apply", withDigest(body, planned.Digest)))
	if !strings.Contains(got, "nat: laptop: options.natEnabled: expected false, got true") {
		t.Errorf("got %s", got)
	}
}

func TestTemplatesOfAReadOnlySourceAnswer409(t *testing.T) {
	w := newWorld(t)
	const body = `{"source":"repo","readOnly":true,"templates":{"one":{"op":"set","key":"options.a","template":"1"}}}`
	w.want(http.StatusOK, post("/fleet/apply", withDigest(body, w.planFleet(body).Digest)))
	change := call{
		method: http.MethodPut,
		path:   Prefix + "/templates/1",
		body:   `{"op":"set","key":"options.a","template":"2"}`,
	}
	if got := w.want(http.StatusConflict, change); !strings.Contains(got, `the source \"repo\"`) {
		t.Errorf("got %s", got)
	}
	w.want(http.StatusNoContent, call{method: http.MethodDelete, path: Prefix + "/sources/repo"})
	w.want(http.StatusOK, change)
}
