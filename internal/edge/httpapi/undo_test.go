package httpapi

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"muster/api"
	"muster/internal/core/plan"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// undoable is rollout 2, whose undo removes two folders of a device and asks for an answer to both.
func undoable(t *testing.T) *world {
	t.Helper()
	w, _ := rolling(t)
	w.device(idA, "one")
	w.fakes.effects = func(_, _ *fleet.Registry) ([]plan.Effect, error) {
		return []plan.Effect{{Device: idA, Brings: []plan.Change{changeOf(t, "folders.p", plan.Held, stconfig.Value{}),
			changeOf(t, "folders.q", plan.Held, stconfig.Value{}), changeOf(t, "options.a", plan.Free, stconfig.Text("x"))},
			Answerable: map[string]string{"folders.p": "1", "folders.q": "2"}}}, nil
	}
	return w
}

func shownBody(device fleet.DeviceID, digests ...string) string {
	var shown []string
	for _, digest := range digests {
		shown = append(shown, `{"deviceID":"`+string(device)+`","digest":"`+digest+`"}`)
	}
	return `{"shown":[` + strings.Join(shown, ",") + `]}`
}

// An undo said nothing of which removals it answers, and could not be told which were shown.
func TestAnUndoAnswersWhatWasShownAndTellsWhatWaits(t *testing.T) {
	w := undoable(t)
	var planned api.WhatIfPlan
	if err := json.Unmarshal([]byte(w.want(http.StatusOK, call{method: http.MethodGet,
		path: Prefix + "/rollouts/2/undo"})), &planned); err != nil {
		t.Fatal(err)
	}
	digests := map[string]string{}
	for _, change := range planned.Devices[0].Changes {
		digests[change.Key] = change.Digest
	}
	if digests["folders.p"] != "1" || digests["folders.q"] != "2" || digests["options.a"] != "" {
		t.Errorf("the plan has the digests %v", digests)
	}
	undo := func(query, body string) (answered, waiting []string) {
		t.Helper()
		var undone api.UndoneRollout
		if err := json.Unmarshal([]byte(w.want(http.StatusOK, post("/rollouts/2/undo"+query, body))), &undone); err != nil {
			t.Fatal(err)
		}
		keys := func(of []api.AnsweredKey) (keys []string) {
			for _, one := range of {
				keys = append(keys, one.DeviceID[:7]+" "+one.Key)
			}
			return keys
		}
		return keys(undone.Answered), keys(undone.Waiting)
	}
	p, q := string(idA[:7])+" folders.p", string(idA[:7])+" folders.q"
	for name, c := range map[string]struct {
		query, body       string
		answered, waiting []string
	}{
		"both":                    {"?generation=1", shownBody(idA, "1", "2", "1"), []string{p, q}, nil},
		"one of them":             {"?generation=1", shownBody(idA, "1"), []string{p}, []string{q}},
		"one that is another now": {"?generation=1", shownBody(idA, "1", "old"), []string{p}, []string{q}},
		"of another device":       {"?generation=1", shownBody(idB, "1"), nil, []string{p, q}},
		"no body":                 {"", "", nil, nil},
	} {
		if answered, waiting := undo(c.query, c.body); !slices.Equal(answered, c.answered) ||
			!slices.Equal(waiting, c.waiting) {
			t.Errorf("%s: answered %v, waiting %v", name, answered, waiting)
		}
	}
}

func TestAnUndoThatAnswersNamesTheListThatWasShown(t *testing.T) {
	w := undoable(t)
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
