package httpapi

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"muster/internal/fleet"
)

func TestVarsOfADeviceAndOfItsTags(t *testing.T) {
	w := newWorld(t)
	w.device(idA, "one")
	device, tag := Prefix+"/devices/"+string(idA)+"/vars", Prefix+"/tags/site%2F1/vars"
	w.do(call{method: http.MethodPut, path: Prefix + "/devices/" + string(idA) + "/tags/site%2F1"})
	if got := w.get(device); got != `{"vars":{}}` {
		t.Errorf("they start as %s", got)
	}
	if got := w.put(tag, `{"vars":{"b":[1, 2],"a":"x"}}`); got != `{"vars":{"a":"x","b":[1,2]}}` {
		t.Errorf("got %s", got)
	}
	first := w.do(call{method: http.MethodGet, path: device}).Header.Get("ETag")
	stored := w.do(call{method: http.MethodPut, path: device, role: fleet.RoleAuthor, body: `{"vars":{"a":10}}`,
		header: http.Header{"If-Match": {first}}})
	if stored.StatusCode != http.StatusOK || stored.Header.Get("ETag") == first {
		t.Errorf("got %v with ETag %s after %s", stored.Status, stored.Header.Get("ETag"), first)
	}
	w.want(http.StatusPreconditionFailed, call{method: http.MethodPut, path: device, body: `{"vars":{}}`,
		header: http.Header{"If-Match": {first}}})
	if got := w.get(device + "/effective"); got !=
		`{"vars":{"a":{"value":10,"tag":""},"b":{"value":[1,2],"tag":"site/1"}}}` {
		t.Errorf("got %s", got)
	}
	if got := w.put(device, `{"vars":{}}`); got != `{"vars":{}}` {
		t.Errorf("got %s", got)
	}
}

func TestOnlyAuthorsAndAdminsChangeVars(t *testing.T) {
	w := newWorld(t)
	w.device(idA, "one")
	for _, path := range []string{Prefix + "/devices/" + string(idA) + "/vars", Prefix + "/tags/site/vars"} {
		for _, role := range []fleet.Role{fleet.RoleViewer, fleet.RoleOperator} {
			w.want(http.StatusForbidden, call{method: http.MethodPut, path: path, role: role, body: `{"vars":{}}`})
			w.want(http.StatusOK, call{method: http.MethodGet, path: path, role: role})
		}
	}
	for _, path := range []string{"/plan", "/changes"} {
		w.want(http.StatusForbidden, call{method: http.MethodPost, path: Prefix + path, role: fleet.RoleOperator,
			body: `{"vars":{"tags":{"site":{"a":1}}}}`})
	}
	w.want(http.StatusNotFound, call{method: http.MethodPut, body: `{"vars":{}}`,
		path: Prefix + "/devices/" + string(idB) + "/vars"})
}

func TestVarsThatCannotBeAreRefused(t *testing.T) {
	w := newWorld(t)
	path := Prefix + "/tags/site/vars"
	for _, body := range []string{`{}`, `{"vars":null}`, `{"vars":{"a-b":1}}`, `{"vars":{"":1}}`,
		`{"vars":{"a":"` + strings.Repeat("x", fleet.MaxVarsBytes) + `"}}`, `{"vars":{"a":1,"A":2}}`,
		`{"vars":{"a":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}}`} {
		w.problem(http.StatusUnprocessableEntity, call{method: http.MethodPut, path: path, body: body})
	}
	if got := w.get(path); got != `{"vars":{}}` {
		t.Errorf("got %s after what was refused", got)
	}
}

func TestAChangeOfVarsIsMadeWithOthersInOneGeneration(t *testing.T) {
	w := newWorld(t)
	w.device(idA, "one")
	body := fmt.Sprintf(`{"tags":{"added":[{"tag":"site","device":%q}]},
		"vars":{"devices":{%q:{"a":1}},"tags":{"site":{"b":2}}},"generation":0}`, idA, idA)
	w.want(http.StatusOK, call{method: http.MethodPost, path: Prefix + "/changes", role: fleet.RoleAuthor, body: body})
	registry, err := w.store.Registry(t.Context())
	if err != nil || registry.Generation != 1 || registry.VarsOf(idA) != `{"a":1,"b":2}` || registry.VarsByAdmins(idA) {
		t.Errorf("generation %d has %s, %v", registry.Generation, registry.VarsOf(idA), err)
	}
}
