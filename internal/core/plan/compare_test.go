package plan_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"muster/internal/core/plan"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// A key whose held correction became a different one was shown as drift and as no longer planned at once.
//
// With any templates before and after, any values that Muster wrote and people set, writes that were lost, stops and
// answers: an edit brings a change of a key or takes the key out of the plan, and never both.
func TestAKeyIsNeverPlannedAndNoLongerPlannedAtOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		for range rapid.IntRange(1, 8).Draw(rt, "steps") {
			w.act(rt)
			w.history = append(w.history, w.observed)
			if rapid.Bool().Draw(rt, "sent") {
				w.bring(rt)
			}
			now, then := w.plannedWith(rt, w.templates), w.plannedWith(rt, someOf(rt, pool))
			wantCompared(rt, now, then)
			if brings, drops := plan.Compare(now, now); len(brings)+len(drops) > 0 {
				rt.Errorf("a plan differs from itself: %v, %v", brings, drops)
			}
		}
	})
}

func someOf(rt *rapid.T, all []fleet.Template) []fleet.Template {
	some := slices.Clone(rapid.SliceOfDistinct(rapid.SampledFrom(all),
		func(t fleet.Template) int64 { return t.ID }).Draw(rt, "templates"))
	slices.SortFunc(some, fleet.CompareTemplates)
	return some
}

// plannedWith plans with templates, while some keys are stopped and a person has answered for some.
func (w *world) plannedWith(rt *rapid.T, templates []fleet.Template) []plan.Change {
	answered, stopped := rapid.Bool().Draw(rt, "answered"), rapid.IntRange(0, 2).Draw(rt, "stopped")
	w.consent = func(c plan.Change) bool { return answered && len(c.Key.String())%2 == 0 }
	w.stopped = func(key stconfig.Key) fleet.Stop {
		if stopped > 0 && len(key.String())%2 == stopped-1 {
			return fleet.Stop{Kind: fleet.StopContended, Reason: "a person sets it back"}
		}
		return fleet.Stop{}
	}
	defer func() { w.consent, w.stopped = nil, nil }()
	_, p, err := w.plan(templates)
	if err != nil {
		rt.Fatal(err)
	}
	return p.Changes
}

func wantCompared(rt *rapid.T, now, then []plan.Change) {
	brings, drops := plan.Compare(now, then)
	has := func(changes []plan.Change, key stconfig.Key) bool {
		return slices.ContainsFunc(changes, func(c plan.Change) bool { return c.Key.Equal(key) })
	}
	for _, c := range drops {
		if has(brings, c.Key) || has(then, c.Key) {
			rt.Errorf("%s is planned and no longer planned at once", c.Key)
		}
	}
	for _, c := range now {
		if !has(then, c.Key) && !has(drops, c.Key) {
			rt.Errorf("nothing says that %s is no longer planned", c.Key)
		}
	}
	for _, c := range then {
		same := slices.ContainsFunc(now, func(other plan.Change) bool {
			return other.Key.Equal(c.Key) && other.Class == c.Class && other.Digest() == c.Digest()
		})
		if !same && !has(brings, c.Key) {
			rt.Errorf("nothing says that %s is planned (%s)", c.Key, c.Class)
		}
	}
}
