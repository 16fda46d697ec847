package rollout

import (
	"context"
	"fmt"
	"slices"

	"muster/internal/fleet"
)

// Rollouts returns all rollouts, newest first, without members.
func (r *Runner) Rollouts(ctx context.Context) ([]fleet.Rollout, error) {
	stored, err := r.o.Store.Rollouts(ctx)
	if err != nil {
		return nil, err
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	for i := range stored {
		if l := r.live[stored[i].ID]; l != nil {
			stored[i] = l.shown()
			stored[i].Members = nil
		}
	}
	return stored, nil
}

// Rollout returns the rollout with this ID, with its members as they stand now.
func (r *Runner) Rollout(ctx context.Context, id int64) (fleet.Rollout, error) {
	r.mu.RLock()
	if l := r.live[id]; l != nil {
		defer r.mu.RUnlock()
		return l.shown(), nil
	}
	r.mu.RUnlock()
	stored, err := r.o.Store.Rollout(ctx, id)
	return overRollout(stored), err
}

// overRollout returns a rollout that is over, with how far each member came.
func overRollout(r fleet.Rollout) fleet.Rollout {
	r.Members = slices.Clone(r.Members)
	for i, m := range r.Members {
		r.Members[i].State = overState(r, m)
	}
	return r
}

// overState returns how far a member came in a rollout that is over.
func overState(r fleet.Rollout, m fleet.RolloutMember) fleet.MemberState {
	switch {
	case m.Left():
		return fleet.MemberAbsent
	case m.Waived:
		return fleet.MemberFailed
	case m.Wave == 0 && r.Undoes != 0:
		return fleet.MemberAdmitted
	case m.Wave == 0:
		return fleet.MemberAbsent
	case !r.Admitted(m):
		return fleet.MemberLater
	case r.Status != fleet.RolloutSucceeded:
		return fleet.MemberAdmitted
	}
	return fleet.MemberGood
}

// shown returns a copy of the rollout for readers, with how its members stand. The caller holds Runner.deciding or
// Runner.mu.
func (l *live) shown() fleet.Rollout {
	shown := l.Rollout
	shown.Members = slices.Clone(shown.Members)
	waits := ""
	for i := range shown.Members {
		m := &shown.Members[i]
		m.State, m.Reason = l.memberState(*m)
		if m.State == fleet.MemberHeld && waits == "" {
			waits = fmt.Sprintf("%s: %s", m.Device, m.Reason)
		}
	}
	counts := l.progress.counts
	switch {
	case shown.Undoes != 0 && shown.Status == fleet.RolloutRunning:
		shown.Reason = fmt.Sprintf("%s of %s back", fleet.NumberText(counts[factGood]),
			devicesAre(len(shown.Members)-countLeft(shown)))
	case shown.Status == fleet.RolloutRunning:
		shown.Reason = fmt.Sprintf("wave %d of %d: %s of %s passed the gates", shown.Wave, len(shown.Waves),
			fleet.NumberText(counts[factGood]),
			devices(l.progress.expected))
		if !l.progress.goodSince.IsZero() {
			shown.Reason += ", soaking"
		}
	case shown.Status == fleet.RolloutWaiting && l.waiting.paused > 0:
		shown.Reason += fmt.Sprintf("; %s not watched (mode paused)", devicesAre(l.waiting.paused))
	}
	if waits != "" && shown.Status == fleet.RolloutRunning {
		shown.Next = "It waits for a person: " + waits
	}
	return shown
}

func (l *live) memberState(m fleet.RolloutMember) (fleet.MemberState, string) {
	switch {
	case m.Left():
		return fleet.MemberAbsent, "it is revoked: the rollout goes on without it"
	case m.Waived:
		return fleet.MemberFailed, "resumed in spite of it"
	case m.Wave == 0 && len(l.Waves) == 0:
		return fleet.MemberLater, ""
	case m.Wave == 0:
		return fleet.MemberAbsent, "it could not be reached or written to when its turn came"
	case m.Wave > l.Wave:
		return fleet.MemberLater, ""
	case l.Halt != nil && l.Halt.Device == m.Device:
		return fleet.MemberFailed, l.Halt.Saw
	}
	f, judged := l.progress.facts[m.Device]
	if !judged {
		return fleet.MemberAdmitted, ""
	}
	switch f.kind {
	case factGood:
		return fleet.MemberGood, f.reason
	case factHeld, factPaused:
		return fleet.MemberHeld, f.reason
	case factFailed:
		return fleet.MemberFailed, f.reason
	case factAway, factAbsent:
		if l.Undoes != 0 {
			return fleet.MemberAbsent, f.reason
		}
	}
	return fleet.MemberAdmitted, f.reason
}
