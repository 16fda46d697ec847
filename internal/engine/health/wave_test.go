package health

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"muster/internal/core/plan"
	"muster/internal/fleet"
)

func TestADeviceThatWaitsForAWaveIsPending(t *testing.T) {
	running := Wave{Rollout: 7, Status: fleet.RolloutRunning, Cause: "template 4 changed", Number: 2, Waves: 3}
	with := func(change func(*Wave)) Wave {
		a := running
		change(&a)
		return a
	}
	for name, c := range map[string]struct {
		condition    fleet.Configuration
		wave         Wave
		want         fleet.Configuration
		reason, next string
	}{
		"in sync": {
			fleet.ConfigInSync, running, fleet.ConfigPending, "waits for wave 2 of 3 of rollout 7 (template 4 changed)",
			"passed its gates",
		},
		"unmanaged": {
			fleet.ConfigUnmanaged, running, fleet.ConfigPending, "waits for wave 2 of 3 of rollout 7", "passed its gates",
		},
		"not waiting": {fleet.ConfigInSync, Wave{}, fleet.ConfigInSync, "as before", "as before"},
		"held":        {fleet.ConfigHeld, running, fleet.ConfigHeld, "as before", "as before"},
		"failed":      {fleet.ConfigFailed, running, fleet.ConfigFailed, "as before", "as before"},
		"drift":       {fleet.ConfigPending, running, fleet.ConfigPending, "as before", "as before"},
		"never read":  {fleet.ConfigUnknown, running, fleet.ConfigUnknown, "as before", "as before"},
		"paused": {
			fleet.ConfigInSync, with(func(a *Wave) { a.Status = fleet.RolloutPaused }), fleet.ConfigPending, "wave 2 of 3",
			"muster rollout resume 7",
		},
		"halted": {
			fleet.ConfigInSync, with(func(a *Wave) { a.Status = fleet.RolloutHalted }), fleet.ConfigPending, "wave 2 of 3",
			"muster rollout show 7",
		},
		"not started": {
			fleet.ConfigInSync, with(func(a *Wave) { a.Status, a.Number, a.Waves = fleet.RolloutWaiting, 0, 0 }),
			fleet.ConfigPending, "has not started", "starts when",
		},
		"not approved": {
			fleet.ConfigInSync, with(func(a *Wave) { a.Status, a.Unapproved = fleet.RolloutWaiting, true }),
			fleet.ConfigPending, "waits for the approval of rollout 7", "muster rollout approve 7",
		},
		"in no wave": {
			fleet.ConfigInSync, with(func(a *Wave) { a.Number = 0 }), fleet.ConfigPending,
			"could not be reached or written to", "succeeded",
		},
		"paused before": {
			fleet.ConfigInSync, with(func(a *Wave) { a.Status, a.Number, a.Waves = fleet.RolloutPaused, 0, 0 }),
			fleet.ConfigPending, "has not started", "resume 7",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := Waits(fleet.State{Configuration: c.condition, Reason: "as before", Next: "as before"}, c.wave)
			if got.Configuration != c.want || !strings.Contains(got.Reason, c.reason) || !strings.Contains(got.Next, c.next) {
				t.Errorf("got %s, %q, %q", got.Configuration, got.Reason, got.Next)
			}
		})
	}
}

func TestTheDevicesThatWaitAreThoseNotAdmittedYet(t *testing.T) {
	members := []fleet.RolloutMember{{Device: "A", Wave: 1}, {Device: "B", Wave: 2}, {Device: "C", Wave: 3},
		{Device: "D"}}
	at := func(status fleet.RolloutStatus, wave int) fleet.Rollout {
		return fleet.Rollout{ID: 7, Status: status, Waves: []int{1, 1, 1}, Wave: wave, Members: members}
	}
	over := at(fleet.RolloutSuperseded, 1)
	over.Members = nil
	next := at(fleet.RolloutRunning, 1)
	next.ID = 8
	h := New()
	for i, step := range []struct {
		rollout fleet.Rollout
		changed string
		waiting string
	}{
		{fleet.Rollout{ID: 7, Status: fleet.RolloutWaiting, Members: members}, "ABCD", "ABCD"},
		{at(fleet.RolloutRunning, 1), "ABCD", "BCD"}, // A is admitted, the others have a wave now
		{at(fleet.RolloutRunning, 1), "", "BCD"},
		{at(fleet.RolloutRunning, 2), "B", "CD"},
		{at(fleet.RolloutHalted, 2), "CD", "CD"},
		{at(fleet.RolloutRunning, 3), "CD", "D"},
		{at(fleet.RolloutSucceeded, 3), "D", ""},
		{at(fleet.RolloutRunning, 1), "BCD", "BCD"},
		{next, "BCD", "BCD"}, // another one takes them over
		{over, "", "BCD"},
		{at(fleet.RolloutUndone, 1), "", "BCD"},
	} {
		var changed []string
		for _, id := range h.Rollout(step.rollout) {
			changed = append(changed, string(id))
		}
		slices.Sort(changed)
		var waiting []string
		for id := range h.waves {
			waiting = append(waiting, string(id))
		}
		slices.Sort(waiting)
		if got := strings.Join(changed, ""); got != step.changed {
			t.Errorf("step %d: changed %s, want %s", i, got, step.changed)
		}
		if got := strings.Join(waiting, ""); got != step.waiting {
			t.Errorf("step %d: %s wait, want %s", i, got, step.waiting)
		}
	}
}

func TestTheStateOfAWaitingDeviceBeginsWithTheWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := New()
		f := Facts{Snapshot: &fleet.Snapshot{Device: "A", Connection: fleet.Online, Since: time.Now()}}
		h.Found("A", plan.Findings{Result: plan.NoTemplates})
		<-time.After(time.Hour)
		h.Rollout(fleet.Rollout{ID: 7, Status: fleet.RolloutWaiting, Members: []fleet.RolloutMember{{Device: "A"}}})
		began := time.Now()
		<-time.After(time.Hour)
		h.Rollout(fleet.Rollout{ID: 7, Status: fleet.RolloutPaused, Members: []fleet.RolloutMember{{Device: "A"}}})
		state, err := h.State("A", f)
		if err != nil || state.Configuration != fleet.ConfigPending || !state.Since.Equal(began) {
			t.Errorf("got %+v, %v, want pending since %v", state, err, began)
		}
		f.Snapshot.Connection = fleet.Unreachable
		if state, _ := h.State("A", f); state.Configuration != fleet.ConfigUnknown {
			t.Errorf("a device that is away: got %+v", state)
		}
	})
}
