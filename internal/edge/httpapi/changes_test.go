package httpapi

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"muster/api"
	"muster/internal/fleet"
)

func (w *world) apply(body string) api.AppliedChanges {
	w.t.Helper()
	var out api.AppliedChanges
	if err := json.Unmarshal([]byte(w.want(http.StatusOK, call{method: http.MethodPost, path: Prefix + "/changes",
		body: body})), &out); err != nil {
		w.t.Fatal(err)
	}
	return out
}

func TestChangesAreWhatTheirPlanWas(t *testing.T) {
	w := newWorld(t)
	w.device(idA, "one")
	w.template(`{"label":"kept","op":"set","key":"options.a","template":"1","priority":3}`)
	const what = `"templates":{"new":[{"op":"merge","key":"options","template":"{}","tags":["x"]}],"changed":[{"id":1,"priority":-7}]},
		"tags":{"added":[{"tag":"x","device":"` + string(idA) + `"},{"tag":"x","template":1}]}`
	planned := w.whatIf("{" + what + "}")
	done := w.apply("{" + what + "}")
	if !slices.Equal(done.NewTemplates, planned.NewTemplates) || done.Generation != planned.Generation+1 {
		t.Errorf("got %+v, planned as %+v", done, planned)
	}
	w.want(http.StatusPreconditionFailed, call{method: http.MethodPost, path: Prefix + "/changes",
		body: `{"generation":1,"templates":{"deleted":[1]}}`})
	w.want(http.StatusPreconditionFailed, call{method: http.MethodPost, path: Prefix + "/changes", // of an empty server
		body: `{"generation":0,"templates":{"deleted":[1]}}`})
	registry, err := w.store.Registry(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	changed := registry.Templates[0]
	if changed.Label != "kept" || changed.Priority != -7 || !slices.Equal(changed.Tags, []fleet.Tag{"x"}) ||
		!slices.Equal(registry.Devices[idA].Tags, []fleet.Tag{"x"}) {
		t.Errorf("got %+v", registry)
	}
}

func TestOperatorsChangeTagsAndNoTemplates(t *testing.T) {
	w := newWorld(t)
	w.device(idA, "one")
	w.template(`{"label":"kept","op":"set","key":"options.a","template":"1"}`)
	post := func(body string) call {
		return call{method: http.MethodPost, path: Prefix + "/changes", body: body, role: fleet.RoleOperator}
	}
	w.want(http.StatusForbidden, post(`{"templates":{"deleted":[1]}}`))
	w.want(http.StatusForbidden, post(`{"templates":{"changed":[{"id":1,"priority":2}]}}`))
	if out := w.want(
		http.StatusUnprocessableEntity,
		post(`{"tags":{"added":[{"tag":"x","template":1},{"tag":"x","template":1}]}}`),
	); !strings.Contains(
		out,
		"twice",
	) {
		t.Errorf("got %s", out)
	}
	w.want(http.StatusOK, post(`{"tags":{"added":[{"tag":"x","template":1},{"tag":"x","device":"`+string(idA)+`"}]}}`))
}
