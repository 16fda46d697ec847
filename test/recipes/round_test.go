package recipes

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"testing"

	"muster/api"
	"muster/internal/core/desired"
	"muster/internal/core/stconfig"
	"muster/internal/core/template"
	"muster/internal/fleet"
	"muster/test/wait"
)

func (w *world) create(t *testing.T, label string, text templateText) {
	t.Helper()
	made, err := w.muster.Client.CreateTemplate(t.Context(), api.PutTemplate{Label: &label, Op: &text.op, Key: &text.key,
		Template: &text.text})
	if err != nil {
		t.Fatal(err)
	}
	for _, tag := range text.tags {
		if _, err := w.muster.Client.TagTemplate(t.Context(), made.ID, tag); err != nil {
			t.Fatal(err)
		}
	}
}

func (w *world) state(t *testing.T, l *living) api.DeviceState {
	t.Helper()
	state, err := w.muster.Client.DeviceState(t.Context(), string(l.id))
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// plan is a device's. While a daemon's API restarts, there may be none for a moment: what was read last is not kept
// yet.
func (w *world) plan(t *testing.T, l *living) (plan api.Plan) {
	t.Helper()
	var err error
	wait.ForState(t, func() string { return fmt.Sprintf("no plan for %s: %v", l.label, err) }, func() bool {
		plan, err = w.muster.Client.DevicePlan(t.Context(), string(l.id))
		if err != nil && fleet.CodeOf(err) != fleet.CodeUnavailable {
			t.Fatal(err)
		}
		return err == nil
	})
	return plan
}

// awaitIdle waits until nothing is under way: what is left of every plan waits for a person. A device that the recipe
// is not about stays unmanaged; any other is so only until it was looked at.
func (w *world) awaitIdle(t *testing.T, r recipe) {
	t.Helper()
	for _, l := range w.alive {
		concerned := w.concerns(r, l)
		var state api.DeviceState
		var plan api.Plan
		wait.ForState(t, func() string {
			return fmt.Sprintf("%s does not become idle: %+v\n%+v", l.label, state, plan)
		}, func() bool {
			state, plan = w.state(t, l), w.plan(t, l)
			switch state.Configuration {
			case "inSync", "held":
			case "unmanaged":
				return !concerned
			default:
				return false
			}
			return !slices.ContainsFunc(plan.Changes, func(c api.PlannedChange) bool {
				return c.Class == "free" ||
					c.Class == "implied"
			})
		})
	}
}

// concerns tells whether a template of the recipe applies to a device.
func (w *world) concerns(r recipe, l *living) bool {
	for _, m := range w.fleet {
		for _, text := range r.templates {
			if m.label == l.label && slices.ContainsFunc(text.tags,
				func(tag string) bool { return slices.Contains(m.tags, tag) }) {
				return true
			}
		}
	}
	return false
}

// byHand has a person edit a key that no recipe names, pause a folder and let it go on: that stays, and changes
// nothing of what the templates do.
func (w *world) byHand(t *testing.T, r recipe) {
	t.Helper()
	order := stconfig.Key{}.Child("folders").Child("photos").Child("order")
	for _, l := range w.alive {
		l.wanted = l.start
		if !stconfig.Lookup(l.call(t, "GET", "/rest/config", nil), order).Exists() {
			continue // a recipe took the folder away
		}
		for _, body := range []string{`{"order": "oldestFirst"}`, `{"paused": true}`, `{"paused": false}`} {
			l.call(t, "PATCH", "/rest/config/folders/photos", []byte(body))
		}
		l.wanted = stconfig.Replace(l.start, order, stconfig.Text("oldestFirst"))
	}
	w.awaitIdle(t, r)
	for _, result := range r.results {
		w.check(t, r, result)
	}
}

// takeAway deletes every template: each daemon has again what it had before, once a person consented to what goes with
// a folder or device.
func (w *world) takeAway(t *testing.T) {
	t.Helper()
	w.deleteTemplates(t.Context(), t)
	for _, l := range w.alive {
		var state api.DeviceState
		wait.ForState(t, func() string { return fmt.Sprintf("%s does not return: %+v\n%+v", l.label, state, w.plan(t, l)) },
			func() bool {
				state = w.state(t, l)
				if state.Configuration != "held" {
					return state.Configuration == "unmanaged"
				}
				plan := w.plan(t, l)
				var held []string
				for _, change := range plan.Changes {
					if change.Class == "held" {
						held = append(held, change.Key)
					}
				}
				if len(held) == len(plan.Changes) && len(held) > 0 {
					w.apply(t, l, plan.Digest, held)
				}
				return false
			})
		if changes := differences(l.wanted, l.call(t, "GET", "/rest/config", nil)); !slices.Equal(changes, l.migrated) {
			t.Errorf("%s is not as it was: %q; an upgrade made %q", l.label, changes, l.migrated)
		}
		if left := l.doc(t).Get("ignores").Get("photos"); left.Len() > 0 {
			t.Errorf("%s still ignores %s", l.label, left.JSON())
		}
	}
}

// consent checks that a device's plan waits for exactly what the page says, and says yes to it.
func (w *world) consent(t *testing.T, l *living, r recipe) {
	t.Helper()
	plan := w.plan(t, l)
	consent := w.names.checkHeld(t, l.label, plan, r.results)
	if len(consent) > 0 && !w.apply(t, l, plan.Digest, consent) {
		t.Fatalf("%s: the plan moved while it was looked at", l.label)
	}
}

// apply says yes to what waits; false says that the plan is another by now.
func (w *world) apply(t *testing.T, l *living, digest string, consent []string) bool {
	t.Helper()
	body, err := json.Marshal(map[string]any{"digest": digest, "consent": consent})
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost,
		w.muster.URL+"/api/v1/devices/"+string(l.id)+"/apply", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+w.muster.Token)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answer, _ := io.ReadAll(response.Body)
	switch {
	case response.StatusCode == http.StatusConflict:
		return false
	case response.StatusCode/100 != 2:
		t.Fatalf("apply on %s: %s %s", l.label, response.Status, answer)
	}
	return true
}

// check compares one line of the page with the daemon that it is about.
func (w *world) check(t *testing.T, r recipe, said result) {
	t.Helper()
	for _, l := range w.alive {
		if l.label == said.device {
			w.names.check(t, l.doc(t), said)
			return
		}
	}
	if said.device != "windows" {
		t.Fatalf("%q: there is no such daemon", said.line)
	}
	w.names.check(t, w.foldOn(t, said.device, r), said)
}

// foldOn is what a recipe would make of a device with another system.
func (w *world) foldOn(t *testing.T, system string, r recipe) stconfig.Value {
	t.Helper()
	facts := template.Facts{DeviceID: stconfig.SampleID, Label: "sample", OS: system}
	var templates []fleet.Template
	for i, text := range r.templates {
		templates = append(templates, fleet.Template{ID: int64(i + 1), Op: fleet.Op(text.op), Key: text.key,
			Text: text.text})
	}
	folded, err := desired.Fold(desired.Input{Device: stconfig.SampleID, Observed: stconfig.Sample(),
		Templates: templates,
		Evaluate: func(t fleet.Template, config stconfig.Value) (desired.Fragment, error) {
			program, err := template.CompileNew(t.Text)
			if err != nil {
				return desired.Fragment{}, err
			}
			made, err := program.Evaluate(template.Input{Device: facts, Config: config}, template.Limits{})
			return desired.Fragment{Value: made.Value}, err
		}})
	if err != nil {
		t.Fatal(err)
	}
	return folded.Desired
}

// noneTwice checks that no place was written twice: a recipe needs one round.
func noneTwice(t *testing.T, label string, writes []write) {
	t.Helper()
	for i, w := range writes {
		for _, earlier := range writes[:i] {
			if w.method == earlier.method && w.path == earlier.path {
				t.Errorf("%s was sent %s %s twice: %s, then %s", label, w.method, w.path, earlier.body, w.body)
			}
		}
	}
}

// secondRound adds a template that has nothing to do with the recipe: every device is planned anew, and that
// template's write is the only one.
func (w *world) secondRound(t *testing.T) {
	t.Helper()
	unrelated := templateText{"set", "options.reconnectionIntervalS", w.tagOfAll(t), "61\n"}
	w.create(t, "unrelated", unrelated)
	for _, l := range w.alive {
		wait.ForState(t, func() string { return l.label + " does not get the unrelated template" }, func() bool {
			return l.call(t, "GET", "/rest/config/options", nil).Get("reconnectionIntervalS").Str() == "61"
		})
	}
	w.awaitIdle(t, recipe{templates: []templateText{unrelated}})
	for _, l := range w.alive {
		want := []write{{"PATCH", "/rest/config/options", `{"reconnectionIntervalS":61}`}}
		if got := l.taken(); !slices.Equal(got, want) {
			t.Errorf("the second round sent %v to %s, want %v", got, l.label, want)
		}
		if left := w.plan(t, l).Changes; len(left) > 0 {
			t.Errorf("%s still has a plan: %+v", l.label, left)
		}
	}
}

// tagOfAll is a tag that every device has.
func (w *world) tagOfAll(t *testing.T) []string {
	t.Helper()
	for _, tag := range w.fleet[0].tags {
		if !slices.ContainsFunc(w.fleet, func(m member) bool { return !slices.Contains(m.tags, tag) }) {
			return []string{tag}
		}
	}
	t.Fatal("the page's devices have no tag in common")
	return nil
}
