package fleet

import "slices"

// Pass is the result of the last finished pass of reconcile over a device, for rollouts and other judges of the
// device.
type Pass struct {
	Generation int64  // generation from which the device was planned
	Observed   string // digest of the configuration from which it was planned; "" before the first pass
	Failed     string // why the templates give no plan, for people; "" when there is a plan
	Unsent     string // the first key that is still to be written; "" when nothing is
	Waiting    []WaitingChange
}

// WaitingChange is a change that Muster does not write by itself: it is held, refused, or its key is stopped.
type WaitingChange struct {
	Wish    string // keyed digest of the change, see plan.Wish
	Key     string
	Reason  string // sentence for people
	Stopped bool
}

// Same reports whether two passes had the same result.
func (p Pass) Same(o Pass) bool {
	return p.Generation == o.Generation && p.Observed == o.Observed && p.Failed == o.Failed && p.Unsent == o.Unsent &&
		slices.Equal(p.Waiting, o.Waiting)
}

// Standing is what a rollout needs to know of a device: what its watcher last observed, and the result of the last
// pass of reconcile.
type Standing struct {
	Gone   bool // no longer registered
	TooOld bool // its Syncthing is too old to be written to
	// Muster has tried to connect since it began to watch the device; otherwise it is unknown whether the device can
	// be reached
	Tried      bool
	Online     bool
	Mode       Mode
	Digest     string            // digest of the newest observed configuration
	Errors     map[string]string // reasons by folder, for folders in error
	NotFine    []string          // folders that had an error, or no reading, when they were last read; sorted
	Summarised bool              // every folder of that configuration has a summary

	Configuration Configuration
	Reason        string // why the device is in that state, or not connected

	Pass Pass
}
