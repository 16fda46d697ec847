package writer_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"muster/api"
	"muster/internal/core/plan"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
	"muster/test/daemon"
	"muster/test/server"
)

// Random templates come and go. The plan is looked at while Muster only observes; then it may write. What the daemon
// has afterwards differs from what it had by exactly the plan, and so it is again when a person consents to what was
// held.
func TestNothingButThePlanChanges(t *testing.T) {
	s, d, r := server.Start(t, server.Options{}), daemon.Start(t, daemon.Options{}), random(t)
	d.Put("/rest/config/devices", fmt.Sprintf(`[{"deviceID": %q, "name": "a"}]`, peerA))
	d.Put(
		"/rest/config/folders",
		fmt.Sprintf(`[{"id": "here", "path": "~/here", "paused": true, "devices": [{"deviceID": %q}],
		"versioning": {"type": "simple", "params": {"keep": "5"}}}, {"id": "with/slash", "path": "~/slash", "paused": true}]`, peerA),
	)
	s.Register(d.ID, d.APIKey, d.Address, d.Port, "t")
	s.WaitConfiguration(d.ID, fleet.ConfigUnmanaged)
	w := &randomTemplates{t: t, s: s, r: r}
	changed, consented := 0, 0
	given := map[string]bool{} // consents that wait for something else
	for round := range rounds(40, 1000) {
		mode(t, s, fleet.ModeObserve)
		w.shuffle()
		made := w.plan(d.ID)
		before := config(t, d)
		mode(t, s, fleet.ModeOn)
		w.atRest(d.ID)
		after := config(t, d)
		happened := withoutConsented(t, made, given, stconfig.Diff(before, after))
		changed += sameAs(t, round, made.Changes, happened, isFree)

		if held, consent := w.heldKeys(d.ID); len(consent) > 0 {
			before = after
			if _, err := s.Client.ApplyPlan(t.Context(), string(d.ID),
				api.ApplyPlan{Digest: &held.Digest, Consent: consent}); err != nil {
				t.Fatalf("round %d: consent to %v: %v", round, consent, err)
			}
			for _, key := range consent {
				given[key] = true
			}
			consented += consentedTo(t, round, held, given, stconfig.Diff(before, config(t, d)), w.plan(d.ID))
		}
		maps.DeleteFunc(given, func(key string, _ bool) bool { return !slices.Contains(keysOf(w.plan(d.ID)), key) })
		if t.Failed() {
			return
		}
	}
	t.Logf("%d changes, %d of them with consent", changed+consented, consented)
	if changed < 40 {
		t.Errorf("only %d changes", changed)
	}
}

// withoutConsented leaves out what an earlier consent let out, exactly as planned. It had waited for something else, as
// for a share that a template of this round takes away.
func withoutConsented(t *testing.T, p api.Plan, given map[string]bool, happened []stconfig.Change) []stconfig.Change {
	t.Helper()
	return slices.DeleteFunc(happened, func(c stconfig.Change) bool {
		return given[c.Key.String()] && slices.ContainsFunc(p.Changes, func(planned api.PlannedChange) bool {
			return planned.Key == c.Key.String() && planned.Class == string(plan.Held) &&
				canonical(t, planned.To) == valueOf(t, c)
		})
	})
}

// valueOf is what a change made of its key: null if the key is gone.
func valueOf(t *testing.T, c stconfig.Change) string {
	t.Helper()
	if !c.To.Exists() {
		return "null"
	}
	return canonical(t, c.To.JSON())
}

func mode(t *testing.T, s *server.Server, mode fleet.Mode) {
	t.Helper()
	if err := s.Client.PutMode(t.Context(), string(mode)); err != nil {
		t.Fatal(err)
	}
}

func isFree(c api.PlannedChange) bool {
	return c.Class == string(plan.Free) || c.Class == string(plan.Implied)
}

// sameAs holds what happened against the changes of the plan that were to happen, and says how many those are.
func sameAs(t *testing.T, round int, planned []api.PlannedChange, happened []stconfig.Change,
	sent func(api.PlannedChange) bool) int {
	t.Helper()
	want := map[string]string{}
	for _, c := range planned {
		if sent(c) {
			want[c.Key] = canonical(t, c.To)
		}
	}
	n := len(want)
	for _, c := range happened {
		key, got := c.Key.String(), valueOf(t, c)
		to, isPlanned := want[key]
		switch {
		case !isPlanned:
			t.Errorf("round %d: %s became %s, which was not planned", round, key, got)
		case to != got:
			t.Errorf("round %d: %s became %s, the plan said %s", round, key, got, to)
		}
		delete(want, key)
	}
	for key, to := range want {
		t.Errorf("round %d: %s did not become %s", round, key, to)
	}
	return n
}

func canonical(t *testing.T, text []byte) string {
	t.Helper()
	return string(stconfig.Normalise(parse(t, text)).JSON())
}

func isHeld(p api.Plan, key string) bool {
	return slices.ContainsFunc(p.Changes, func(c api.PlannedChange) bool {
		return c.Key == key && c.Class == string(plan.Held)
	})
}

func keysOf(p api.Plan) []string {
	var keys []string
	for _, c := range p.Changes {
		keys = append(keys, c.Key)
	}
	return keys
}

// consentedTo checks that what a person said yes to, now or while it had to wait for something else, happened, and
// nothing else but what had waited for it. after is the plan then.
func consentedTo(t *testing.T, round int, held api.Plan, consent map[string]bool, happened []stconfig.Change,
	after api.Plan) int {
	t.Helper()
	left := maps.Clone(consent)
	// Templates may have changed since an earlier consent: then the key is planned no more, or skipped.
	maps.DeleteFunc(left, func(key string, _ bool) bool { return !isHeld(held, key) })
	all := len(left)
	for _, c := range happened {
		key := c.Key.String()
		i := slices.IndexFunc(held.Changes, func(planned api.PlannedChange) bool { return planned.Key == key })
		switch {
		case i < 0:
			t.Errorf("round %d: %s changed with the consent to %v, and was not in the plan", round, key, consent)
		case held.Changes[i].Class == string(plan.Refused):
			t.Errorf("round %d: %s was refused, and changed", round, key)
		case held.Changes[i].Class == string(plan.Held) && !consent[key] &&
			!strings.Contains(held.Changes[i].Reason, "left out together with"):
			t.Errorf("round %d: %s changed without consent: %s", round, key, held.Changes[i].Reason)
		}
		delete(left, key)
	}
	for key := range left { // it may need something else that is still held
		i := slices.IndexFunc(after.Changes, func(planned api.PlannedChange) bool { return planned.Key == key })
		switch {
		case i < 0:
			t.Errorf("round %d: %s did not change in spite of consent, and is planned no more", round, key)
		case !strings.Contains(after.Changes[i].Reason, "left out together with") &&
			!strings.Contains(after.Changes[i].Reason, "still shared"):
			t.Errorf("round %d: %s did not change in spite of consent (%s)", round, key, after.Changes[i].Reason)
		}
	}
	return all - len(left)
}
