package prover

import (
	"slices"

	"muster/internal/fleet"
)

const maxCuts = 20

// islands returns the groups of devices between which no connection is known, and pairs that could have one. Only
// devices that can be asked and are not encrypted are in a group. A further device that both sides are connected to
// joins them: it passes on what it has, although nothing is proven through it.
func (r *round) islands(devices []fleet.DeviceID) (groups [][]fleet.DeviceID, cuts [][2]fleet.DeviceID) {
	left := slices.DeleteFunc(slices.Clone(devices), func(id fleet.DeviceID) bool {
		return r.sides[id].encrypted || r.sideOf(id).reason != ""
	})
	for len(left) > 0 {
		group := left[:1:1]
		left = left[1:]
		for at := 0; at < len(group); at++ {
			left = slices.DeleteFunc(left, func(id fleet.DeviceID) bool {
				if !r.linked(group[at], id) && !r.joined(group[at], id) {
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

// joined tells whether a device that was not asked passes the folder on between two devices: one that is not managed,
// not online or encrypted.
func (r *round) joined(a, b fleet.DeviceID) bool {
	one, other := r.o.Snapshot(a), r.o.Snapshot(b)
	of, _ := one.Share(r.folder)
	with, _ := other.Share(r.folder)
	for id := range of.With.All() {
		if id != a && id != b && with.With.Has(id) && one.IsConnected(id) && other.IsConnected(id) && !r.isPaused(id) {
			return true
		}
	}
	return false
}

// isPaused reports whether a device is known to have the folder paused.
func (r *round) isPaused(id fleet.DeviceID) bool {
	snapshot := r.o.Snapshot(id)
	if snapshot == nil {
		return false
	}
	share, _ := snapshot.Share(r.folder)
	return share.Paused
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
