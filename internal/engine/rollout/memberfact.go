package rollout

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"muster/internal/fleet"
)

// factKind is the state of an admitted member, as the rollout judges it.
type factKind uint8

const (
	factGood      factKind = iota // The plan is empty, every folder was summarised, and no folder is newly in error.
	factPending                   // Something is still to be planned, sent or read.
	factHeld                      // Something waits for a person.
	factPaused                    // The member is not watched, because of its mode.
	factUnwatched                 // The member is not watched yet.
	factAbsent                    // The member does not answer, and nothing was sent to it.
	factAway                      // The member does not answer, and something was sent to it, or may have been.
	factFailed                    // The member does not pass a gate.
	factKinds
)

type fact struct {
	kind   factKind
	begun  bool       // Something was applied to the member, or is being applied.
	gate   fleet.Gate // the gate, with factFailed
	reason string     // sentence for a person
}

// judge returns the fact that follows from the standing of an admitted member.
func judge(r *fleet.Rollout, m fleet.RolloutMember, s fleet.Standing) fact {
	switch {
	case s.Mode == fleet.ModePaused:
		return fact{kind: factPaused, reason: "it is not watched (mode paused): nothing is read or written"}
	case s.Gone, !s.Online && !s.Tried:
		return fact{kind: factUnwatched, reason: s.Reason}
	case !s.Online:
		return fact{kind: factAbsent, reason: s.Reason}
	}
	f := judgeOnline(r, m, s)
	f.begun = s.Configuration == fleet.ConfigApplying
	asBefore := m.Wave > 1 && m.Was == fleet.ConfigFailed && f.gate == fleet.GatePlan
	if f.kind == factFailed && asBefore {
		return fact{kind: factGood, reason: "it failed before this rollout, too: " + f.reason}
	}
	return f
}

func judgeOnline(r *fleet.Rollout, m fleet.RolloutMember, s fleet.Standing) fact {
	if r.Undoes == 0 {
		for _, folder := range slices.Sorted(maps.Keys(s.Errors)) {
			if !slices.Contains(m.Errors, folder) {
				return failed(fleet.GateFolders, fmt.Sprintf("folder %q is in error: %s", folder, s.Errors[folder]))
			}
		}
	}
	p := s.Pass
	if p.Observed == "" || p.Generation < r.Generation {
		return fact{kind: factPending, reason: "it was not planned for this rollout yet"}
	}
	if p.Failed != "" {
		return failed(fleet.GatePlan, p.Failed)
	}
	var waits, before *fleet.WaitingChange
	for i, w := range p.Waiting {
		switch {
		case slices.Contains(m.Held, w.Wish):
			before = cmp.Or(before, &p.Waiting[i])
		case w.Stopped:
			return failed(fleet.GatePlan, w.Key+": "+w.Reason)
		default:
			waits = cmp.Or(waits, &p.Waiting[i])
		}
	}
	switch {
	case p.Unsent != "" && s.Mode != fleet.ModeOn:
		return fact{kind: factHeld, reason: "its mode is " + string(s.Mode) + ": nothing is written"}
	case p.Unsent != "":
		return fact{kind: factPending, reason: p.Unsent + " is still to be sent: " + s.Reason}
	case waits != nil:
		return fact{kind: factHeld, reason: waits.Key + " waits: " + waits.Reason}
	case s.Configuration == fleet.ConfigPending, s.Configuration == fleet.ConfigFailed:
		return fact{kind: factPending, reason: s.Reason} // the daemon shows a value that it may not have saved
	case p.Observed != s.Digest || !s.Summarised:
		return fact{kind: factPending, reason: "its folders were not read yet"}
	case before != nil:
		return fact{kind: factGood, reason: before.Key + " waits, as it did before this rollout: " + before.Reason}
	}
	return fact{kind: factGood}
}

func failed(gate fleet.Gate, reason string) fact {
	return fact{kind: factFailed, gate: gate, reason: reason}
}

// heldOf returns the digests of the changes that wait for a person on a device.
func heldOf(s fleet.Standing) []string {
	var held []string
	for _, w := range s.Pass.Waiting {
		held = append(held, w.Wish)
	}
	return held
}
