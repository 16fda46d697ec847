package plan

import "muster/internal/fleet"

// maxWaiting is of how many changes of a device it is known between two passes that they wait.
const maxWaiting = 1000

// Pass is what a plan means for rollouts, between two passes over a device. key keys the digests of what waits.
func (p Plan) Pass(generation int64, observed string, key []byte) fleet.Pass {
	pass := fleet.Pass{Generation: generation, Observed: observed}
	for _, c := range p.Changes {
		switch {
		case c.Sendable() && pass.Unsent == "":
			pass.Unsent = c.Key.String()
		case c.Class != Skipped && !c.Sendable() && len(pass.Waiting) < maxWaiting:
			pass.Waiting = append(pass.Waiting, fleet.WaitingChange{Wish: c.Wish().Keyed(key), Key: c.Key.String(),
				Reason: fleet.Bounded(c.Reason), Stopped: c.Stopped})
		}
	}
	return pass
}
