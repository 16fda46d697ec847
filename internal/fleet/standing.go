package fleet

import "slices"

// Pass is the result of the last finished pass of reconcile over a device, for those who judge the device by it.
type Pass struct {
	Generation int64  // of the templates and tags that the device was planned from
	Observed   string // digest of the configuration that it was planned from; "" before the first pass
	Failed     string // why no plan can be made of the templates, for a person; "" when there is one
	Unsent     string // the first key that is still to be sent; "" when there is none
	Waiting    []WaitingChange
}

// WaitingChange is a change that is not sent by itself: it is held, refused, or its key is stopped.
type WaitingChange struct {
	Wish    string // keyed digest of what it asks for, see plan.Wish
	Key     string
	Reason  string // for a person
	Stopped bool
}

// Same tells whether two passes had the same result.
func (p Pass) Same(o Pass) bool {
	return p.Generation == o.Generation && p.Observed == o.Observed && p.Failed == o.Failed && p.Unsent == o.Unsent &&
		slices.Equal(p.Waiting, o.Waiting)
}

// Standing is how a device stands for a rollout: what its watcher observed last, and the result of the last pass of
// reconcile.
type Standing struct {
	Gone       bool // registered no more
	TooOld     bool // to be written to
	Tried      bool // since Muster began to watch it; else it is not known whether it can be reached
	Online     bool
	Mode       Mode
	Digest     string            // of the newest configuration that was observed
	Errors     map[string]string // folders in error, with the reason
	Summarised bool              // every folder of that configuration has a summary

	Configuration Configuration
	Reason        string // of that state, or of the connection

	Pass Pass
}
