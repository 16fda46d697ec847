package copies

import (
	"slices"

	"muster/internal/fleet"
)

// Step is one proof of a round: that To holds what Of had.
type Step struct{ Of, To fleet.DeviceID }

// Steps orders the proofs of a round, so that chains of them say of every device what it holds of every other: first
// from the leaves of a tree to its root, then back. For n devices that are linked these are 2(n-1) proofs. Devices that
// are not linked are in trees of their own, and nothing is proven between the trees.
func Steps(devices []fleet.DeviceID, linked func(a, b fleet.DeviceID) bool) []Step {
	var up []Step
	left := slices.Sorted(slices.Values(devices))
	slices.SortStableFunc(left, func(a, b fleet.DeviceID) int { return degree(b, left, linked) - degree(a, left, linked) })
	for len(left) > 0 {
		reached := left[:1:1]
		left = left[1:]
		for at := 0; at < len(reached); at++ { // breadth first: a short tree has short chains
			left = slices.DeleteFunc(left, func(id fleet.DeviceID) bool {
				if !linked(reached[at], id) {
					return false
				}
				reached = append(reached, id)
				up = append(up, Step{Of: id, To: reached[at]})
				return true
			})
		}
	}
	down := make([]Step, len(up))
	for i, step := range up {
		down[i] = Step{Of: step.To, To: step.Of}
	}
	slices.Reverse(up)
	return append(up, down...)
}

func degree(of fleet.DeviceID, devices []fleet.DeviceID, linked func(a, b fleet.DeviceID) bool) (n int) {
	for _, id := range devices {
		if id != of && linked(of, id) {
			n++
		}
	}
	return n
}
