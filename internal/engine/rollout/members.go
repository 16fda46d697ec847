package rollout

import (
	"slices"

	"muster/internal/fleet"
)

// Steps for members that go away, or whose devices are deleted or revoked.

// putBack takes members out of their wave that went away before anything was sent to them. A wave that is then empty
// would prove nothing, so the rollout starts anew with the members that are left. A paused rollout stays as it is,
// because it must not admit other devices.
func putBack(r fleet.Rollout, t *progress) (fleet.Rollout, command) {
	if t.counts[factAbsent] == 0 || r.Status == fleet.RolloutPaused {
		return r, command{}
	}
	c := command{write: true, members: true}
	r.Members, r.Waves = slices.Clone(r.Members), slices.Clone(r.Waves)
	for i := range r.Members {
		m := &r.Members[i]
		if f, judged := t.facts[m.Device]; judged && f.kind == factAbsent {
			r.Waves[m.Wave-1]--
			m.Wave = 0
			c.hold = append(c.hold, *m)
		}
	}
	if r.Waves[r.Wave-1] == 0 {
		r = startAnew(r)
	}
	return r, c
}

// drop takes deleted and revoked devices out of a rollout. Waves that have not begun are left out when they have no
// devices any more. A revoked device stays a member without a wave, so that its hold ends with the rollout.
func drop(r fleet.Rollout, deleted, revoked map[fleet.DeviceID]bool) (fleet.Rollout, command) {
	was := r
	r.Members = slices.DeleteFunc(slices.Clone(r.Members), func(m fleet.RolloutMember) bool { return deleted[m.Device] })
	leaves := false
	for i, m := range r.Members {
		if revoked[m.Device] && !m.Left() {
			r.Members[i].Wave, r.Members[i].Waived, leaves = 0, true, true
		}
	}
	sizes := make([]int, len(r.Waves))
	for _, m := range r.Members {
		if m.Wave > 0 {
			sizes[m.Wave-1]++
		}
	}
	if !leaves && len(r.Members) == len(was.Members) && slices.Equal(sizes, was.Waves) {
		return was, command{}
	}
	r.Waves = slices.Clone(sizes[:r.Wave])
	if unmade(was) {
		r.Waves = sizes
	} else {
		number := map[int]int{} // new numbers of the waves that have not begun
		for i, size := range sizes[r.Wave:] {
			if size > 0 {
				r.Waves = append(r.Waves, size)
				number[r.Wave+i+1] = len(r.Waves)
			}
		}
		for i, m := range r.Members {
			if m.Wave > r.Wave {
				r.Members[i].Wave = number[m.Wave]
			}
		}
	}
	if r.Wave > 0 && r.Waves[r.Wave-1] == 0 && r.Status != fleet.RolloutWaiting {
		r = startAnew(r)
	}
	return r, command{write: true, members: true}
}

// startAnew takes the rollout back to before its present wave, which has no device any more. The waves from there on
// are made again once a device can be reached.
func startAnew(r fleet.Rollout) fleet.Rollout {
	r.Wave--
	r.Waves = append(slices.Clone(r.Waves[:r.Wave]), 0) // the next wave is empty, which means that it is still to be made
	for i := range r.Members {
		if r.Members[i].Wave > r.Wave {
			r.Members[i].Wave = 0
		}
	}
	if r.Status == fleet.RolloutRunning {
		r.Status = fleet.RolloutWaiting
		r.Reason = "all devices of its wave were deleted or revoked, or went away before they were written to"
		r.Next = "It starts anew when one of its devices can be reached."
	}
	return r
}

// isEmpty reports whether the rollout has no device left to which it could bring its changes: the others were deleted
// or revoked.
func isEmpty(r fleet.Rollout) bool {
	return !slices.ContainsFunc(r.Members, func(m fleet.RolloutMember) bool {
		done := r.Status == fleet.RolloutWaiting && m.Wave > 0 && m.Wave <= r.Wave
		return !m.Left() && !done
	})
}

// countLeft counts the members without which the rollout goes on, because they are revoked.
func countLeft(r fleet.Rollout) (n int) {
	for _, m := range r.Members {
		n += one(m.Left())
	}
	return n
}
