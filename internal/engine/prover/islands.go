package prover

import (
	"slices"

	"muster/internal/fleet"
)

const maxCuts = 20

// islands returns the groups of devices between which no connection is known, and pairs that could have one. Only
// devices that could be asked are in a group, and an encrypted copy is not: it passes on what it has, and so does a
// device that Muster does not manage, but nothing is proven through them.
func (r *round) islands(devices []fleet.DeviceID) (groups [][]fleet.DeviceID, cuts [][2]fleet.DeviceID) {
	left := slices.DeleteFunc(slices.Clone(devices), func(id fleet.DeviceID) bool {
		snapshot := r.o.Snapshot(id)
		return r.sides[id].encrypted || snapshot == nil || !snapshot.Answers()
	})
	for len(left) > 0 {
		group := left[:1:1]
		left = left[1:]
		for at := 0; at < len(group); at++ {
			left = slices.DeleteFunc(left, func(id fleet.DeviceID) bool {
				if !r.linked(group[at], id) {
					return false
				}
				group = append(group, id)
				return true
			})
		}
		groups = append(groups, group)
	}
	if len(groups) < 2 {
		return nil, nil
	}
	slices.SortStableFunc(groups, func(a, b []fleet.DeviceID) int { return len(b) - len(a) })
	return groups, r.cuts(groups)
}

// cuts returns the pairs of devices of different groups that share the folder with each other.
func (r *round) cuts(groups [][]fleet.DeviceID) (cuts [][2]fleet.DeviceID) {
	for i, group := range groups {
		for _, other := range slices.Concat(groups[i+1:]...) {
			for _, id := range group {
				if r.shared(id, other) && len(cuts) < maxCuts {
					cuts = append(cuts, [2]fleet.DeviceID{id, other})
				}
			}
		}
	}
	return cuts
}
