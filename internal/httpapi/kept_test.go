package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"muster/internal/fleet"
	"muster/internal/stconfig"
)

// foldedTo is what devices would have at options.a: the text of the last template, 9 with vars, 8 with the label bad.
func foldedTo(r *fleet.Registry, id fleet.DeviceID) stconfig.Value {
	value := "0"
	for t := range r.Applying(id) {
		value = t.Text
	}
	switch {
	case r.VarsOf(id) != "":
		value = "9"
	case r.Devices[id].Label == "bad":
		value = "8"
	}
	return stconfig.Obj(stconfig.Member{Name: "options", Value: stconfig.Obj(
		stconfig.Member{Name: "a", Value: stconfig.Literal(value)})})
}

// newKeptWorld has a device with the tag x and a template with it, and a source that keeps what that means.
func newKeptWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.fakes.desired = foldedTo
	w.device(idA, "one")
	files := `{"source":"repo","keep":true,"templates":{"one":{"op":"set","key":"options.a","template":"1","tags":["x"]}},
		"devices":{"` + string(idA) + `":{"tags":["x"]}},
		"assertions":[{"name":"the limit","all":true,"expect":{"options.a":1}},{"name":"how many","tag":"x","devices":1}]}`
	w.want(http.StatusOK, post("/fleet/apply", withDigest(files, w.planFleet(files).Digest)))
	return w
}

// Changes by another way than files were not checked against the assertions that a source keeps.
func TestNoChangeBreaksAKeptAssertionWhicheverWayItComes(t *testing.T) {
	const bad = "the limit: bad: options.a: expected 1, got 8"
	const limit, count = `source "repo": the limit: one: options.a: expected 1, got `, `source "repo": how many: `
	device, template, tag := "/devices/"+string(idA), "/templates/1", "/tags/x"
	body := func(text string) string { return `{"op":"set","key":"options.a","template":"` + text + `"}` }
	registered := `{"label":"bad","apiKey":"k","apiAddress":"192.0.2.1","apiPort":8384}`
	for name, test := range map[string]struct{ method, path, body, says string }{
		"another text":             {"PUT", template, body("2"), limit + "2"},
		"a template deleted":       {"DELETE", template, "", limit + "0"},
		"a template untagged":      {"DELETE", template + tag, "", limit + "0"},
		"a device untagged":        {"DELETE", device + tag, "", limit + "0"},
		"a tag deleted":            {"DELETE", tag, "", limit + "0"},
		"vars of a device":         {"PUT", device + "/vars", `{"vars":{"v":1}}`, limit + "9"},
		"vars of a tag":            {"PUT", tag + "/vars", `{"vars":{"v":1}}`, limit + "9"},
		"another label":            {"PUT", device, registered, "source \"repo\": " + bad},
		"a device deleted":         {"DELETE", device, "", count + "expected 1 devices, got 0 devices"},
		"a device registered":      {"PUT", "/devices/" + string(idB), registered, bad},
		"changes together":         {"POST", "/changes", `{"templates":{"deleted":[1]}}`, limit + "0"},
		"vars with other changes":  {"POST", "/changes", `{"vars":{"tags":{"x":{"v":1}}}}`, limit + "9"},
		"the files of another one": {"POST", "/fleet/apply", `{"source":"b","tags":{"x":{"vars":{"v":1}}}}`, limit + "9"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newKeptWorld(t)
			before := w.get(Prefix + "/fleet")
			c := call{method: test.method, path: Prefix + test.path, body: test.body}
			if strings.HasPrefix(test.path, "/fleet") {
				planned := w.planFleet(test.body)
				if len(planned.Broken) != 1 || planned.Broken[0].Source != "repo" || planned.Broken[0].Got != "9" {
					t.Errorf("the plan shows %+v", planned.Broken)
				}
				c.body = withDigest(test.body, planned.Digest)
			}
			problem := w.problem(http.StatusUnprocessableEntity, c)
			says := fmt.Sprint(problem)
			if !strings.Contains(says, test.says) || !strings.Contains(says, "muster source forget") {
				t.Errorf("got %s, want %q", says, test.says)
			}
			if after := w.get(Prefix + "/fleet"); after != before {
				t.Errorf("it was changed all the same: %s", after)
			}
		})
	}
}

func TestAPlanShowsTheKeptAssertionsThatItWouldBreak(t *testing.T) {
	w := newKeptWorld(t)
	got := w.whatIf(`{"vars":{"tags":{"x":{"v":1}}}}`)
	if len(got.Broken) != 1 || got.Broken[0].Source != "repo" || got.Broken[0].Name != "the limit" {
		t.Errorf("got %+v", got.Broken)
	}
	if got := w.whatIf(`{"vars":{"tags":{"else":{"v":1}}}}`); len(got.Broken) != 0 {
		t.Errorf("got %+v", got.Broken)
	}
}

func TestAChangeThatBreaksNothingNewIsMade(t *testing.T) {
	w := newKeptWorld(t)
	w.want(http.StatusCreated, call{method: http.MethodPost, path: Prefix + "/templates",
		body: `{"op":"set","key":"options.a","template":"7"}`})
	w.want(http.StatusOK, call{method: http.MethodPut, path: Prefix + "/tags/else/vars", body: `{"vars":{"v":1}}`})
	// A daemon's own trouble breaks it; the way to mend it is open, also step by step.
	w.fakes.desired = func(r *fleet.Registry, id fleet.DeviceID) stconfig.Value {
		if r.VarsOf(id) == `{"v":2}` {
			return stconfig.Obj(stconfig.Member{Name: "options", Value: stconfig.Obj(
				stconfig.Member{Name: "a", Value: stconfig.Literal("1")})})
		}
		return stconfig.Obj()
	}
	for _, v := range []string{"1", "2"} {
		w.want(http.StatusOK, call{method: http.MethodPut, path: Prefix + "/tags/x/vars", body: `{"vars":{"v":` + v + `}}`})
	}
	w.problem(http.StatusUnprocessableEntity, call{method: http.MethodPut, path: Prefix + "/tags/x/vars",
		body: `{"vars":{"v":1}}`})
	w.want(http.StatusNoContent, call{method: http.MethodDelete, path: Prefix + "/sources/repo"})
	w.want(http.StatusOK, call{method: http.MethodPut, path: Prefix + "/tags/x/vars", body: `{"vars":{"v":1}}`})
}

// Of two changes at the same moment, each harmless alone, the second is judged again.
func TestTwoChangesBrokeAKeptAssertionTogether(t *testing.T) {
	w := newKeptWorld(t)
	meanwhile := 0
	w.fakes.desired = func(r *fleet.Registry, id fleet.DeviceID) stconfig.Value {
		both := r.TagVars["x"].Vars != "" && r.Devices[id].Vars.Vars != ""
		if meanwhile++; meanwhile == 1 {
			if _, err := w.store.PutVars(context.Background(), fleet.VarsOwner{Device: idA}, `{"v":1}`, nil); err != nil {
				t.Error(err)
			}
		}
		return stconfig.Obj(stconfig.Member{Name: "options", Value: stconfig.Obj(
			stconfig.Member{Name: "a", Value: stconfig.Literal(map[bool]string{false: "1", true: "2"}[both])})})
	}
	problem := w.problem(http.StatusUnprocessableEntity, call{method: http.MethodPut, path: Prefix + "/tags/x/vars",
		body: `{"vars":{"v":1}}`})
	if !strings.Contains(fmt.Sprint(problem), "the limit: one: options.a: expected 1, got 2") {
		t.Errorf("got %+v", problem)
	}
}

// Who sees a part of the fleet is told that a device outside is in the way, and not which.
func TestARefusalDoesNotNameDevicesOutsideOfAScope(t *testing.T) {
	hidden := &fleet.Registered{Device: fleet.Device{ID: idA, Label: "hidden"}}
	r := &fleet.Registry{Devices: map[fleet.DeviceID]*fleet.Registered{idA: hidden}}
	b := fleet.BrokenAssertion{Source: "repo", Name: "limit", Device: idA, Key: "options.a", Expected: "1", Got: "2"}
	text := keptText(b, r, func(fleet.DeviceID) bool { return false })
	if text != `source "repo": limit: a device outside of the token's tags` {
		t.Errorf("got %s", text)
	}
}
