package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"muster/api"
	"muster/internal/core/plan"
	"muster/internal/core/stconfig"
	"muster/internal/edge/auth"
	"muster/internal/fleet"
)

// undoable is rollout 2, whose undo removes two folders of a device, makes a third again, and asks for an answer to
// each.
func undoable(t *testing.T) (*world, *rollouts) {
	t.Helper()
	w, f := rolling(t)
	w.device(idA, "one")
	w.fakes.effects = func(_, _ *fleet.Registry) ([]plan.Effect, error) { return []plan.Effect{undoEffect(t)}, nil }
	return w, f
}

func undoEffect(t *testing.T) plan.Effect {
	t.Helper()
	again := changeOf(t, "folders.r", plan.Held, stconfig.Text("x"))
	again.From = stconfig.Value{}
	return plan.Effect{Device: idA, Brings: []plan.Change{changeOf(t, "folders.p", plan.Held, stconfig.Value{}),
		changeOf(t, "folders.q", plan.Held, stconfig.Value{}), again,
		changeOf(t, "options.a", plan.Free, stconfig.Text("x"))},
		Answerable: map[string]plan.Answerable{"folders.p": {Digest: "1", Removes: true},
			"folders.q": {Digest: "2", Removes: true}, "folders.r": {Digest: "3"}}}
}

func shownBody(device fleet.DeviceID, digests ...string) string {
	var shown []string
	for _, digest := range digests {
		shown = append(shown, `{"deviceID":"`+string(device)+`","digest":"`+digest+`"}`)
	}
	return `{"shown":[` + strings.Join(shown, ",") + `]}`
}

// undo undoes rollout 2.
func (w *world) undo(role fleet.Role, query, body string) (undone api.UndoneRollout) {
	w.t.Helper()
	c := post("/rollouts/2/undo"+query, body)
	c.role = role
	if err := json.Unmarshal([]byte(w.want(http.StatusOK, c)), &undone); err != nil {
		w.t.Fatal(err)
	}
	return undone
}

// answeredKeys are the keys of changes of device idA.
func answeredKeys(t *testing.T, of []api.AnsweredKey) (keys []string) {
	t.Helper()
	for _, one := range of {
		if one.DeviceID != string(idA) || one.Label != "one" {
			t.Errorf("got %+v of another device", one)
		}
		keys = append(keys, strings.TrimPrefix(one.Key, "folders."))
	}
	return keys
}

// digestsOf are the digests in the plan of the undo of rollout 2, by key.
func (w *world) digestsOf(role fleet.Role) map[string]string {
	w.t.Helper()
	var planned api.WhatIfPlan
	if err := json.Unmarshal([]byte(w.want(http.StatusOK, call{method: http.MethodGet,
		path: Prefix + "/rollouts/2/undo", role: role})), &planned); err != nil {
		w.t.Fatal(err)
	}
	digests := map[string]string{}
	for _, change := range planned.Devices[0].Changes {
		digests[change.Key] = change.Digest
	}
	return digests
}

// An undo said nothing of which removals it answers, and could not be told which were shown.
func TestAnUndoAnswersWhatWasShownAndTellsWhatWaits(t *testing.T) {
	w, _ := undoable(t)
	if got := w.digestsOf(fleet.RoleAdmin); got["folders.p"] != "1" || got["folders.q"] != "2" || got["options.a"] != "" {
		t.Errorf("the plan has the digests %v", got)
	}
	for name, c := range map[string]struct {
		query, body       string
		answered, waiting []string
	}{
		"all":                     {"?generation=1", shownBody(idA, "1", "2", "3", "1"), []string{"p", "q", "r"}, nil},
		"one of them":             {"?generation=1", shownBody(idA, "1"), []string{"p"}, []string{"q", "r"}},
		"one that is another now": {"?generation=1", shownBody(idA, "1", "old"), []string{"p"}, []string{"q", "r"}},
		"of another device":       {"?generation=1", shownBody(idB, "1"), nil, []string{"p", "q", "r"}},
		"nothing that was shown":  {"", `{"shown":[]}`, nil, []string{"p", "q", "r"}},
		"no list":                 {"", `{}`, nil, nil},
		"no body":                 {"", "", nil, nil},
	} {
		undone := w.undo(fleet.RoleAdmin, c.query, c.body)
		if !slices.Equal(answeredKeys(t, undone.Answered), c.answered) ||
			!slices.Equal(answeredKeys(t, undone.Waiting), c.waiting) || len(undone.Problems) > 0 {
			t.Errorf("%s: answered %v, waiting %v, problems %q", name, undone.Answered, undone.Waiting, undone.Problems)
		}
	}
}

// An author's undo consented to folders and devices that are made again. Only an admin may consent to these.
func TestAnUndoConsentsToNoMoreThanTheCallerMay(t *testing.T) {
	w, f := undoable(t)
	if got := w.digestsOf(fleet.RoleAuthor); got["folders.p"] != "1" || got["folders.r"] != "" {
		t.Errorf("an author may answer %v, want the removals only", got)
	}
	if got := w.digestsOf(fleet.RoleAdmin); got["folders.r"] != "3" {
		t.Errorf("an admin may answer %v, want the re-creation, too", got)
	}
	undone := w.undo(fleet.RoleAuthor, "?generation=1", shownBody(idA, "1", "3"))
	if got := answeredKeys(t, undone.Answered); !slices.Equal(got, []string{"p"}) {
		t.Errorf("an author answered %v", got)
	}
	if got := answeredKeys(t, undone.Waiting); !slices.Equal(got, []string{"q", "r"}) {
		t.Errorf("%v wait, want the re-creation, too", got)
	}
	if want := []fleet.ShownChange{{Device: idA, Digest: "1"}}; !slices.Equal(f.approved.Shown, want) {
		t.Errorf("the undo consents to %v", f.approved.Shown)
	}
	if key := f.approved.Keys[f.approved.Shown[0]]; key != "folders.p" {
		t.Errorf("the audit is told the key %q", key)
	}
}

func TestAnUndoThatAnswersNamesTheListThatWasShown(t *testing.T) {
	w, _ := undoable(t)
	for name, c := range map[string]call{
		"no generation": post("/rollouts/2/undo", shownBody(idA, "1")),
		"no digest":     post("/rollouts/2/undo?generation=1", shownBody(idA, "")),
		"no device":     post("/rollouts/2/undo?generation=1", shownBody("x", "1")),
		"another field": post("/rollouts/2/undo?generation=1", `{"all":true}`),
	} {
		t.Run(name, func(t *testing.T) { w.problem(http.StatusUnprocessableEntity, c) })
	}
	c := post("/rollouts/2/undo?generation=1", shownBody(idA, "1"))
	c.role = fleet.RoleOperator
	w.problem(http.StatusForbidden, c)
}

// An undo waited up to two minutes for somebody's what-if, and so did its list.
func TestAnUndoWaitsForNobodysPlan(t *testing.T) {
	for name, slow := range map[string]call{
		"a what-if":           post("/plan", `{}`),
		"the list of an undo": {method: http.MethodGet, path: Prefix + "/rollouts/2/undo"},
	} {
		t.Run(name, func(t *testing.T) {
			w, _ := undoable(t)
			began, end, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
			quick := w.fakes.effects
			w.fakes.effects = func(_, _ *fleet.Registry) ([]plan.Effect, error) {
				close(began)
				<-end
				return nil, nil
			}
			go func() {
				defer close(ended)
				w.do(slow)
			}()
			<-began
			w.fakes.effects = quick
			if name == "a what-if" {
				w.digestsOf(fleet.RoleAuthor)
			}
			undone := w.undo(fleet.RoleAuthor, "?generation=1", shownBody(idA, "1"))
			if got := answeredKeys(t, undone.Answered); !slices.Equal(got, []string{"p"}) {
				t.Errorf("answered %v", got)
			}
			close(end)
			<-ended
		})
	}
}

// An undo failed when the plan of what it answers failed or took too long.
func TestAPlanThatFailsStopsNoUndo(t *testing.T) {
	w, f := undoable(t)
	w.fakes.effects = func(_, _ *fleet.Registry) ([]plan.Effect, error) {
		return []plan.Effect{undoEffect(t)}, context.DeadlineExceeded
	}
	undone := w.undo(fleet.RoleAuthor, "?generation=1", shownBody(idA, "1", "of a device that was not planned"))
	if got := answeredKeys(t, undone.Answered); !slices.Equal(got, []string{"p"}) || len(f.approved.Shown) != 1 {
		t.Errorf("answered %v, consented to %v", got, f.approved.Shown)
	}
	if len(undone.Problems) != 1 || !strings.Contains(undone.Problems[0], "`muster consent list`") ||
		!strings.Contains(undone.Problems[0], "it took too long") {
		t.Errorf("got the problems %q", undone.Problems)
	}
}

// mute is an audit that cannot be written.
type mute struct{ audited }

func (mute) Record(context.Context, string, string, string) error {
	return errors.New("the disk is full")
}

// An error after the commit was the answer, so that the undo seemed not to be done.
func TestWhatFailsAfterAnUndoIsNotItsAnswer(t *testing.T) {
	w, f := undoable(t)
	f.lost = errors.New("the connection is lost")
	w.with(func(o *setup) { o.Audit = mute{o.Audit} })
	undone := w.undo(fleet.RoleAuthor, "?generation=1", shownBody(idA, "1"))
	if len(f.calls) != 1 || undone.ID != 2 || len(undone.Members) != 2 || len(undone.Answered) != 1 {
		t.Errorf("called %v, got %+v", f.calls, undone)
	}
	if all := strings.Join(undone.Problems, "\n"); len(undone.Problems) != 2 || !strings.Contains(all, "audit") ||
		!strings.Contains(all, "the rollout lists it") || strings.Contains(all, "disk") {
		t.Errorf("got the problems %q", undone.Problems)
	}
	if log := w.log.String(); !strings.Contains(log, "the disk is full") || !strings.Contains(log, "connection is lost") {
		t.Errorf("the log lacks a cause: %s", log)
	}
}

// An empty body without a Content-Length was refused as no JSON object.
func TestAnEmptyBodyOfAnUndoMeansNone(t *testing.T) {
	w, f := undoable(t)
	srv := w.listen(t)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL+Prefix+"/rollouts/2/undo",
		io.NopCloser(strings.NewReader("")))
	if err != nil {
		t.Fatal(err)
	}
	r.ContentLength = -1
	r.TransferEncoding = []string{"chunked"}
	r.Header.Set("Authorization", "Bearer "+w.tokens[fleet.RoleAuthor])
	resp, err := srv.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if text, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusOK || len(f.calls) != 1 {
		t.Errorf("got %d %s, %v", resp.StatusCode, text, err)
	}
	w.problem(http.StatusBadRequest, post("/rollouts/2/undo", "x"))
}

// One open page of a rollout held the only turn for plans of the whole fleet.
func TestWhatARolloutStillDoesWaitsForNoWhatIfAndIsKept(t *testing.T) {
	w := newRoomy(t)
	base, planned := newBase(w.setup.Options), 0
	handlers := UndoHandlers{base: base,
		Planning: PlanningHandlers{base: base, WhatIf: countingPlans{w.setup.WhatIf, &planned}},
		Rollouts: RolloutHandlers{Rollouts: w.setup.Rollouts, Runner: w.setup.Runner}}
	ask := func(scope fleet.Scope) error {
		r := httptest.NewRequest(http.MethodGet, Prefix+"/rollouts/2/rest", nil)
		r.SetPathValue("rolloutID", "2")
		who := auth.Principal{Role: fleet.RoleAdmin, Scope: scope}
		answer, err := handlers.getRolloutRest(&request{Request: r.WithContext(asCaller(r.Context(), who)), who: who})
		if answer.release != nil {
			answer.release() // The answer is written.
		}
		return err
	}
	base.whatIfs <- struct{}{} // A what-if is under way.
	in := fleet.ScopeOf([]fleet.Tag{"in"})
	for want, scope := range []fleet.Scope{{}, in} {
		for range 2 {
			if err := ask(scope); err != nil || planned != want+1 {
				t.Errorf("%v: got %v, planned %d times", scope, err, planned)
			}
		}
	}
}

// countingPlans counts how often devices are planned.
type countingPlans struct {
	WhatIf
	calls *int
}

func (c countingPlans) Planned(ctx context.Context, now *fleet.Registry, devices []fleet.DeviceID,
	each func(id fleet.DeviceID, changes []plan.Change, failed error)) error {
	*c.calls++
	return c.WhatIf.Planned(ctx, now, devices, each)
}

// The plan of an undo told a caller with a part of the fleet that a rollout of others exists. No author has a part;
// this holds if one ever has.
func TestTheUndoOfARolloutOfOthersIsNotThere(t *testing.T) {
	w := newRoomy(t)
	ask := func(id string) error {
		r := httptest.NewRequest(http.MethodGet, Prefix+"/rollouts/"+id+"/undo", nil)
		r.SetPathValue("rolloutID", id)
		who := auth.Principal{Role: fleet.RoleAuthor, Scope: fleet.ScopeOf([]fleet.Tag{"in"})}
		handlers := UndoHandlers{base: newBase(w.setup.Options),
			Planning: PlanningHandlers{WhatIf: w.setup.WhatIf},
			Rollouts: RolloutHandlers{Rollouts: w.setup.Rollouts, Runner: w.setup.Runner}}
		_, err := handlers.planUndo(&request{Request: r.WithContext(asCaller(r.Context(), who)), who: who})
		return err
	}
	for id, want := range map[string]string{"3": "there is no rollout 3", "9": "there is no rollout 9"} {
		var e *fleet.Error
		if err := ask(id); !errors.As(err, &e) || e.Code != fleet.CodeNotFound || e.Message != want {
			t.Errorf("rollout %s: got %v", id, err)
		}
	}
}
