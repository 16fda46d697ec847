package httpapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"muster/api"
	"muster/internal/core/plan"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

func (w *world) whatIf(body string) api.WhatIfPlan {
	w.t.Helper()
	var out api.WhatIfPlan
	if err := json.Unmarshal([]byte(w.want(http.StatusOK, call{method: http.MethodPost, path: Prefix + "/plan",
		body: body})), &out); err != nil {
		w.t.Fatal(err)
	}
	return out
}

func TestWhatIfPlansTheRegistryAsTheBodySays(t *testing.T) {
	w := newWorld(t)
	w.device(idA, "one")
	w.template(`{"label":"kept","op":"set","key":"options.a","template":"1","priority":3}`)
	w.template(`{"op":"set","key":"options.b","template":"2"}`)
	var got *fleet.Registry
	w.fakes.effects = func(now, then *fleet.Registry) ([]plan.Effect, error) {
		if len(now.Templates) != 2 || len(now.Devices[idA].Tags) != 0 {
			t.Errorf("the present registry is %+v", now)
		}
		got = then
		return nil, nil
	}
	made := w.whatIf(
		`{"templates":{"new":[{"op":"MERGE","key":"","template":"{}","tags":["y","x","y"]}],"changed":[{"id":1,"priority":-7,"template":"9"}],"deleted":[2]},
		"tags":{"added":[{"tag":"x","device":"` + strings.ToLower(
			string(idA),
		) + `"},{"tag":"x","template":1}]}}`,
	)
	if !slices.Equal(made.NewTemplates, []int64{3}) {
		t.Errorf("new templates are %v", made.NewTemplates)
	}
	if len(got.Templates) != 2 || !slices.Equal(got.Devices[idA].Tags, []fleet.Tag{"x"}) {
		t.Fatalf("got %+v", got)
	}
	changed, fresh := got.Templates[0], got.Templates[1]
	if changed.ID != 1 || changed.Priority != -7 || changed.Text != "9" || changed.Label != "kept" ||
		changed.Key != "options.a" || !slices.Equal(changed.Tags, []fleet.Tag{"x"}) {
		t.Errorf("the changed template is %+v", changed)
	}
	if fresh.ID != 3 || fresh.Op != fleet.OpMerge || !slices.Equal(fresh.Tags, []fleet.Tag{"x", "y"}) {
		t.Errorf("the new template is %+v", fresh)
	}
}

func TestWhatIfCountsWhatIsTouched(t *testing.T) {
	w := newWorld(t)
	w.device(idA, "zeta")
	w.device(idB, "alpha")
	w.device(idC, "mid")
	w.fakes.effects = func(_, _ *fleet.Registry) ([]plan.Effect, error) {
		return []plan.Effect{
			{Device: idA, Brings: []plan.Change{
				changeOf(t, "folders.p.label", plan.Free, stconfig.Text("x")),
				changeOf(t, "folders.p.path", plan.Held, stconfig.Text("/x")),
				changeOf(t, "options.a", plan.Free, stconfig.Text("x")), changeOf(t, "options.skipped", plan.Skipped,
					stconfig.Text("x")),
				changeOf(t, "gui.password", plan.Held, stconfig.Text("hunter2"))}},
			{Device: idB, Brings: []plan.Change{changeOf(t, "gui.enabled", plan.Refused, stconfig.Text("x")),
				changeOf(t, "options.a", plan.Free, stconfig.Text("x"))},
				Drops: []plan.Change{changeOf(t, "options.b", plan.Free, stconfig.Text("x"))}},
			{Device: idC, Err: fleet.Invalidf("", "template 3 fails")},
		}, nil
	}
	made := w.whatIf(`{}`)
	if want := (api.Touched{Devices: 2, Folders: 1, Keys: 4, Held: 2, Refused: 1, Failed: 1}); made.Touched != want {
		t.Errorf("touched %+v, want %+v", made.Touched, want)
	}
	if made.Keys[0] != (api.TouchedKey{Key: "options.a", Devices: 2}) ||
		made.Folders[0] != (api.TouchedFolder{Folder: "p", Devices: 1}) {
		t.Errorf("keys %v, folders %v", made.Keys, made.Folders)
	}
	var labels []string
	for _, device := range made.Devices {
		labels = append(labels, device.Label+":"+strconv.Itoa(len(device.Changes))+":"+
			strconv.Itoa(len(device.Dropped))+":"+device.Error)
	}
	if got := strings.Join(labels, " "); got != "alpha:2:1: mid:0:0:template 3 fails zeta:5:0:" {
		t.Errorf("devices are %q", got)
	}
	if text := w.want(http.StatusOK, call{method: http.MethodPost, path: Prefix + "/plan",
		body: `{}`}); strings.Contains(text, "hunter2") {
		t.Error("a secret is shown")
	}
}

func TestWhatIfForeseesThatItNeedsApproval(t *testing.T) {
	w := newWorld(t)
	w.device(idA, "one")
	w.fakes.effects = func(_, _ *fleet.Registry) ([]plan.Effect, error) {
		return []plan.Effect{{Device: idA, Brings: []plan.Change{changeOf(t, "options.a", plan.Free, stconfig.Text("x"))}}},
			nil
	}
	if made := w.whatIf(`{}`); made.Approval != "" {
		t.Errorf("got %+v without a threshold", made)
	}
	w.fakes.approval = "this change touches 1 device"
	made := w.whatIf(`{}`)
	if made.Approval != w.fakes.approval || made.Touched.Held != 0 || made.Devices[0].Changes[0].Class != "free" {
		t.Errorf("got %+v", made)
	}
}

func TestWhatIfForeseesTheWavesForWhoSeesTheFleet(t *testing.T) {
	w := newRoomy(t)
	n := len(w.fakes.Waves(t.Context(), &fleet.Registry{}, &fleet.Registry{}))
	if got := w.whatIf(`{}`).Waves; len(got) != n {
		t.Errorf("got waves %v", got)
	}
	c := post("/plan", `{}`)
	c.token = w.scoped[fleet.RoleOperator]
	if got := w.want(http.StatusOK, c); !strings.Contains(got, `"waves":[]`) {
		t.Errorf("a scoped token: got %s", got)
	}
}

func TestWhatIfForeseesTheWavesOfTheChange(t *testing.T) {
	w := newWorld(t)
	w.template(`{"op":"set","key":"options.a","template":"1"}`)
	got := w.whatIf(`{"templates":{"new":[{"op":"set","key":"options.natEnabled","template":"false"}]}}`).Waves
	if fmt.Sprint(got) != "[1 2]" {
		t.Errorf("got waves %v", got)
	}
}

func TestWhatIfSaysWhatIsWrongWithItsBody(t *testing.T) {
	w := newWorld(t)
	w.template(`{"op":"set","key":"","template":"{}"}`)
	w.fakes.check = func(template fleet.Template) error {
		if template.Text == "bad" {
			return &fleet.Error{Code: fleet.CodeInvalid, Message: "no",
				Details: []fleet.Detail{{Field: "template", Line: 2, Column: 3, Message: "no"}}}
		}
		return nil
	}
	for name, one := range map[string]struct {
		body, field string
		status      int
	}{
		"unknown field inside": {`{"templates":{"new":[{"op":"set","key":"","body":"{}"}]}}`, "templates.new.0.body", 422},
		"field missing":        {`{"templates":{"new":[{"op":"set","key":""}]}}`, "templates.new.0.template", 422},
		"text that is none": {`{"templates":{"new":[{"op":"set","key":"","template":"bad"}]}}`,
			"templates.new.0.template", 422},
		"changed text is none": {`{"templates":{"changed":[{"id":1,"template":"bad"}]}}`, "templates.changed.0.template",
			422},
		"op that is none":        {`{"templates":{"changed":[{"id":1,"op":"x"}]}}`, "templates.changed.0.op", 422},
		"unknown template":       {`{"templates":{"changed":[{"id":9}]}}`, "templates.changed.0.id", 422},
		"deleted unknown one":    {`{"templates":{"deleted":[9]}}`, "", 422},
		"tag on nothing":         {`{"tags":{"added":[{"tag":"x"}]}}`, "tags.added.0", 422},
		"tag on both":            {`{"tags":{"removed":[{"tag":"x","template":1,"device":"y"}]}}`, "tags.removed.0", 422},
		"tag on no device":       {`{"tags":{"added":[{"tag":"x","device":"` + string(idC) + `"}]}}`, "", 422},
		"device that is none":    {`{"tags":{"added":[{"tag":"x","device":"abc"}]}}`, "tags.added.0.device", 422},
		"tag that is none":       {`{"tags":{"added":[{"tag":"","template":1}]}}`, "tags.added.0.tag", 422},
		"a list for an object":   {`{"templates":[]}`, "templates", 400},
		"an object for a list":   {`{"tags":{"added":{}}}`, "tags.added", 400},
		"a text for a number":    {`{"templates":{"deleted":["1"]}}`, "templates.deleted.0", 400},
		"null for a tag's place": {`{"tags":{"added":[null]}}`, "tags.added.0.tag", 422},
	} {
		t.Run(name, func(t *testing.T) {
			p := w.in(t).problem(one.status, call{method: http.MethodPost, path: Prefix + "/plan", body: one.body})
			if one.field != "" && (len(p.Errors) == 0 || p.Errors[0].Field != one.field) {
				t.Errorf("got %+v, want the field %s", p, one.field)
			}
		})
	}
	p := w.problem(422, call{method: http.MethodPost, path: Prefix + "/plan",
		body: `{"templates":{"new":[{"op":"set","Key":"","template":"{}"}]}}`})
	if p.Hint != "It is written key." {
		t.Errorf("got the hint %q", p.Hint)
	}
}

func TestWhatIfOfTagsIsForOperatorsAndOfTemplatesForAuthors(t *testing.T) {
	w := newWorld(t)
	w.device(idA, "one")
	w.template(`{"op":"set","key":"","template":"{}"}`)
	tags, fresh := `{"tags":{"added":[{"tag":"x","template":1}]},"templates":{"deleted":[]}}`, `{"templates":{"changed":[{"id":1,"template":"{}"}]}}`
	post := func(role fleet.Role, body string) call {
		return call{method: http.MethodPost, path: Prefix + "/plan", role: role, body: body}
	}
	w.want(http.StatusOK, post(fleet.RoleOperator, tags))
	w.problem(http.StatusForbidden, post(fleet.RoleViewer, tags))
	w.problem(http.StatusForbidden, post(fleet.RoleOperator, fresh))
	w.want(http.StatusOK, post(fleet.RoleAuthor, fresh))
}

func TestWhatIfShowsNoMoreThanItsBound(t *testing.T) {
	w := newWorld(t)
	many := make([]plan.Change, 20_000+1)
	for i := range many {
		many[i] = changeOf(t, "options.a"+strconv.Itoa(i), plan.Free, stconfig.Text("x"))
	}
	w.fakes.effects = func(_, _ *fleet.Registry) ([]plan.Effect, error) {
		return []plan.Effect{{Device: idA, Brings: many}, {Device: idB, Brings: many[:1]}}, nil
	}
	made := w.whatIf(`{}`)
	if !made.Truncated || made.Touched.Devices != 2 || made.Touched.Keys != 20_000 ||
		len(made.Keys) != 1000 {
		t.Errorf("truncated %v, touched %+v, %d keys listed", made.Truncated, made.Touched, len(made.Keys))
	}
	w.fakes.effects = func(_, _ *fleet.Registry) ([]plan.Effect, error) { return nil, errors.New("inside") }
	w.problem(http.StatusInternalServerError, call{method: http.MethodPost, path: Prefix + "/plan", body: `{}`})
}

func TestARouteWithoutWhatItStandsOnSaysSo(t *testing.T) {
	w := newWorld(t)
	w.with(func(o *setup) { o.WhatIf = nil })
	w.problem(http.StatusServiceUnavailable, call{method: http.MethodPost, path: Prefix + "/plan", body: `{}`})
	w.problem(http.StatusUnauthorized, call{method: http.MethodPost, path: Prefix + "/plan", body: `{}`, token: "-"})
}

func TestWhatIfWarnsOfMistakesInTemplates(t *testing.T) {
	w := newWorld(t)
	path := w.template(`{"op":"set","key":"gui.theme","template":"\"x\""}`)
	w.fakes.effects = func(_, _ *fleet.Registry) ([]plan.Effect, error) { return nil, nil }
	w.fakes.warnings = func(t fleet.Template) []string { return []string{t.Key + " is strange"} }
	body := `{"templates":{"new":[{"op":"set","key":"gui.them","template":"1"},` +
		`{"label":"mine","op":"set","key":"gui.thema","template":"1"}],"changed":[{"id":` +
		path[strings.LastIndex(path, "/")+1:] + `,"template":"2"}]}}`
	var got api.WhatIfPlan
	if err := json.Unmarshal([]byte(w.want(http.StatusOK, call{method: http.MethodPost, path: Prefix + "/plan",
		body: body})), &got); err != nil {
		t.Fatal(err)
	}
	if want := []string{"new template 1: gui.them is strange", `template "mine": gui.thema is strange`,
		"template 1: gui.theme is strange"}; !slices.Equal(got.Warnings, want) {
		t.Errorf("got %q, want %q", got.Warnings, want)
	}
}

// A plan that panicked kept its turn for good, and no plan was made any more.
func TestAPlanThatPanicsGivesItsTurnBack(t *testing.T) {
	w := newWorld(t)
	w.fakes.effects = func(_, _ *fleet.Registry) ([]plan.Effect, error) { panic("a mistake in the plan") }
	w.problem(http.StatusInternalServerError, call{method: http.MethodPost, path: Prefix + "/plan", body: `{}`})
	w.fakes.effects = nil
	w.whatIf(`{}`)
}
