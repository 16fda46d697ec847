package health

import (
	"testing"

	"muster/internal/core/plan"
	"muster/internal/fleet"
)

// What a pass found is of the configuration that it planned from. Until the next pass the device has another one.
func TestADeviceIsNotInSyncWithAConfigurationThatNothingWasPlannedFrom(t *testing.T) {
	inSync := plan.Findings{Templates: 1, Online: true, Mode: fleet.ModeOn, Plan: plan.Plan{Observed: "of the pass"}}
	unmanaged := inSync
	unmanaged.Templates = 0
	held := inSync
	held.Plan.Changes = []plan.Change{{Key: key(t, "folders.photos.path"), Class: plan.Held, Reason: "the path moves"}}
	for name, c := range map[string]struct {
		found  plan.Findings
		digest string // of what the daemon has; "announced": that was not read yet
		wave   int64  // of a rollout
		want   fleet.Configuration
	}{
		"the same":           {inSync, "of the pass", 0, fleet.ConfigInSync},
		"another":            {inSync, "another", 0, fleet.ConfigUnknown},
		"announced":          {inSync, "announced", 0, fleet.ConfigUnknown},
		"another, held":      {held, "another", 0, fleet.ConfigHeld},
		"another, unmanaged": {unmanaged, "another", 0, fleet.ConfigUnmanaged},
		"another, no plan":   {plan.Findings{Result: plan.NoTemplates}, "another", 0, fleet.ConfigUnmanaged},
		"another, waits":     {inSync, "another", 7, fleet.ConfigPending},
	} {
		t.Run(name, func(t *testing.T) {
			h := New()
			h.Found("A", c.found)
			if c.wave != 0 {
				h.Rollout(fleet.Rollout{ID: c.wave, Status: fleet.RolloutWaiting, Members: []fleet.RolloutMember{{Device: "A"}}})
			}
			snapshot := &fleet.Snapshot{Device: "A", Connection: fleet.Online, Digest: c.digest}
			if c.digest == "announced" {
				snapshot.Digest, snapshot.Outdated = "of the pass", true
			}
			state, err := h.State("A", Facts{Snapshot: snapshot})
			if err != nil || state.Configuration != c.want || state.Reason == "" {
				t.Errorf("got %s (%s) and %v, want %s", state.Configuration, state.Reason, err, c.want)
			}
			if state.Configuration == fleet.ConfigUnknown && state.Next == "" {
				t.Error("it does not say what comes next")
			}
		})
	}
}

// The state was unknown from the change of the configuration to the pass: those who follow it read it anew.
func TestAPassOverAnotherConfigurationIsNewsAlthoughItFoundTheSame(t *testing.T) {
	found := plan.Findings{Templates: 1, Online: true, Mode: fleet.ModeOn, Plan: plan.Plan{Observed: "one"}}
	h := New()
	h.Found("A", found)
	if h.Found("A", found) {
		t.Error("the same is news")
	}
	found.Plan.Observed = "two"
	if !h.Found("A", found) {
		t.Error("a pass over another configuration is no news")
	}
}
