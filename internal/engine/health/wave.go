package health

import (
	"fmt"
	"time"

	"muster/internal/fleet"
)

// Wave is the wave of a rollout that a device waits for.
type Wave struct {
	Rollout    int64
	Status     fleet.RolloutStatus
	Cause      string // text for a person: what was changed
	Unapproved bool   // the rollout waits for approval
	Number     int    // number of the wave, from 1; 0: the device has no wave
	Waves      int    // 0: the rollout has not started
}

// awaited returns the members that a rollout keeps at the generation before, with their waves.
func awaited(r fleet.Rollout) map[fleet.DeviceID]Wave {
	waiting := map[fleet.DeviceID]Wave{}
	if !r.Status.Holds() {
		return waiting
	}
	for _, m := range r.Members {
		if !r.Admitted(m) && !m.Left() {
			waiting[m.Device] = Wave{
				Rollout: r.ID, Status: r.Status, Cause: r.Cause, Number: m.Wave, Waves: len(r.Waves),
				Unapproved: r.Unapproved(),
			}
		}
	}
	return waiting
}

// Waits returns the state of a device that waits for a wave, by how its configuration stands otherwise. What the
// device has already says nothing about the change that it waits for: inSync and unmanaged give way to pending,
// nothing else does.
func Waits(condition fleet.State, w Wave) fleet.State {
	hasNothingToDo := condition.Configuration == fleet.ConfigInSync || condition.Configuration == fleet.ConfigUnmanaged
	if w.Rollout == 0 || !hasNothingToDo {
		return condition
	}
	condition.Configuration = fleet.ConfigPending
	condition.Reason, condition.Next = fleet.Bounded(w.reason()), w.next()
	return condition
}

func (w Wave) reason() string {
	what := fmt.Sprintf("rollout %d", w.Rollout)
	if w.Cause != "" {
		what += " (" + w.Cause + ")"
	}
	switch {
	case w.Unapproved:
		return fmt.Sprintf("waits for the approval of %s", what)
	case w.Status == fleet.RolloutWaiting:
		return fmt.Sprintf("waits for %s, which has not started", what)
	case w.Number > 0:
		return fmt.Sprintf("waits for wave %d of %d of %s", w.Number, w.Waves, what)
	case w.Waves > 0:
		return fmt.Sprintf("waits for the end of %s: it could not be reached or written to when its wave was made", what)
	}
	return fmt.Sprintf("waits for %s, which has not started", what)
}

func (w Wave) next() string {
	switch {
	case w.Unapproved:
		return fmt.Sprintf("An admin approves it: `muster rollout approve %d`.", w.Rollout)
	case w.Status == fleet.RolloutPaused:
		return fmt.Sprintf("The rollout is paused: `muster rollout resume %d` goes on with it.", w.Rollout)
	case w.Status == fleet.RolloutHalted:
		return fmt.Sprintf("The rollout is halted: `muster rollout show %d` says why, and what to do.", w.Rollout)
	case w.Status == fleet.RolloutWaiting:
		return "The rollout starts when one of its devices can be reached and written to."
	case w.Number > 0:
		return "It is admitted when the wave before it has passed its gates."
	}
	return "It is admitted when the rollout has succeeded."
}

// waiting is a wave with the time since when the device waits.
type waiting struct {
	Wave
	since time.Time
}

// Rollout takes how a rollout stands, with its members. It gives the devices that wait for something else than before.
// A rollout that is over keeps no device waiting, and may come without members.
func (h *Health) Rollout(r fleet.Rollout) (changed []fleet.DeviceID) {
	waves, now := awaited(r), time.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	for id := range h.rollouts[r.ID] {
		if _, waits := waves[id]; !waits &&
			h.waves[id].Rollout == r.ID { // Otherwise a different rollout has the device by now.
			delete(h.waves, id)
			changed = append(changed, id)
		}
	}
	delete(h.rollouts, r.ID)
	if len(waves) > 0 {
		h.rollouts[r.ID] = make(map[fleet.DeviceID]bool, len(waves))
	}
	for id, a := range waves {
		h.rollouts[r.ID][id] = true
		if was := h.waves[id]; was.Wave != a {
			if was.Rollout == 0 {
				was.since = now
			}
			h.waves[id] = waiting{a, was.since}
			changed = append(changed, id)
		}
	}
	return changed
}
