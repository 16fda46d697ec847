package rollout

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"muster/internal/fleet"
)

// advanceUndo ends the rollout of an undo when nothing is under way in it any more. Members that wait for a person,
// are paused or are away do not keep it, because every device is admitted already. A failed gate, or no progress,
// halts it until that device is back.
func advanceUndo(r fleet.Rollout, t *progress, rules rules, now time.Time) (fleet.Rollout, command) {
	id, f, failed := t.first(r.Members, factFailed)
	running := r.Status == fleet.RolloutRunning
	waits, away := t.counts[factHeld]+t.counts[factPaused], t.counts[factAbsent]
	switch {
	case failed && running:
		return halt(r, fleet.RolloutHalt{By: muster, Gate: f.gate, Device: id, Saw: f.reason, At: now})
	case running && t.clockRuns() && now.Sub(t.progressAt) >= rules.progressDeadline:
		return halt(r, late(r, t, rules, now))
	case t.counts[factGood]+waits+away < t.expected:
		return r, command{}
	}
	r.Status, r.Halt, r.EndedAt = fleet.RolloutSucceeded, nil, now
	r.Reason, r.Next = fmt.Sprintf("%s back", devicesAre(t.counts[factGood])), ""
	left := countLeft(r)
	if waived := len(r.Members) - left - t.expected; waived > 0 {
		r.Reason += fmt.Sprintf("; it was resumed in spite of %s", devices(waived))
	}
	if left > 0 {
		r.Reason += fmt.Sprintf("; %s revoked", devicesAre(left))
	}
	if away > 0 {
		r.Next = fmt.Sprintf("%s away: what is theirs follows when they return. ", devicesAre(away))
	}
	if waits > 0 {
		r.Next += fmt.Sprintf("Of %s something waits for a person: %s", devices(waits), firstWaiting(r, t))
	}
	r.Next = strings.TrimSpace(r.Next)
	c := command{write: true, members: true, before: []string{StepBeforeEnd}, after: []string{StepAfterEnd}}
	return notBack(r, t), c
}

// firstWaiting returns the first member that waits for a person, and the reason.
func firstWaiting(r fleet.Rollout, t *progress) string {
	id, f, held := t.first(r.Members, factHeld)
	if !held {
		id, f, _ = t.first(r.Members, factPaused)
	}
	return fmt.Sprintf("%s: %s", id, f.reason)
}

// notBack takes the members that are not known to be back out of the wave of an undo.
func notBack(r fleet.Rollout, t *progress) fleet.Rollout {
	r.Members, r.Waves = slices.Clone(r.Members), slices.Clone(r.Waves)
	for i := range r.Members {
		m := &r.Members[i]
		if !m.Waived && t.facts[m.Device].kind != factGood {
			r.Waves[m.Wave-1]--
			m.Wave = 0
		}
	}
	return r
}
