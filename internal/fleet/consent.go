package fleet

import (
	"slices"
	"time"
)

// ConsentTime is how long a consent is valid while its device can be reached.
const ConsentTime = 24 * time.Hour

// Consent is a person's answer to a change that waits for one.
type Consent struct {
	ID     int64 // assigned by the store
	Device DeviceID
	Key    string // key of the change; "": the entry only keeps the time for which a group consent with Removals is valid
	Answer Answer
	Change string // keyed digest of the change; a different change needs a new answer
	By     string
	At     time.Time
	Until  time.Time // end of its validity
	Group  int64     // ID of the group consent that it was made from; 0: a person gave it for this device

	// UnreachableSince is when the device stopped answering. The validity does not run out while the device cannot be
	// reached. Zero while it can be reached.
	UnreachableSince time.Time
}

// Over tells whether the validity has run out.
func (c Consent) Over(now time.Time) bool {
	if !c.UnreachableSince.IsZero() {
		now = c.UnreachableSince
	}
	return !now.Before(c.Until)
}

// Reachable gives the consent after its device was found reachable or unreachable.
func (c Consent) Reachable(reachable bool, now time.Time) Consent {
	switch away := !c.UnreachableSince.IsZero(); {
	case !reachable && !away:
		c.UnreachableSince = now
	case reachable && away:
		c.Until = c.Until.Add(now.Sub(c.UnreachableSince))
		c.UnreachableSince = time.Time{}
	}
	return c
}

// GroupConsent is a person's answer to equal held changes of the members of a rollout. Members that have such a change
// now, and members that get it later, each use the answer once for each key. It is valid for a member until a later
// change touches that member. It ends GroupConsentTime after the rollout is over. One with Removals ends for each
// member when the member could be reached for ConsentTime.
type GroupConsent struct {
	ID       int64 // assigned by the store
	Rollout  int64
	Key      string // key with * for a registered device; "" with Removals
	Change   string // group digest of the changes, see plan.Grouping; "" with Removals
	Answer   Answer
	Removals bool // It consents to everything that an undo removes or creates again.
	By       string
	At       time.Time

	// Waited are keyed digests of the changes that waited on the member before the undo (RolloutMember.Held): Removals
	// does not consent to these. It is filled in only when the group consents of one device are read.
	Waited []string
}

// GroupConsentTime is how long a group consent is valid after the end of its rollout. A device that was unreachable
// for longer asks again, because its changes may be different ones by then.
const GroupConsentTime = ConsentTime

// GivenConsent is a consent as it is shown afterwards.
type GivenConsent struct {
	Consent
	Rollout int64     // rollout of its group consent; 0: no group consent
	Closed  time.Time // when it was used or ended; zero while open
	Used    bool      // It was used; false: it ended unused.
	Intent  int64     // ID of the intent that used it; 0: none, as where a value was kept and nothing was sent
}

// Answer is what a person decides about a held change.
type Answer string

const (
	AnswerConsent Answer = "consent" // make the change, once
	AnswerKeep    Answer = "keep"    // keep the present value: it becomes the base
)

// HeldGroup is a set of equal held changes of several devices, taken from their last plans. One answer covers all.
type HeldGroup struct {
	Digest   string   // group digest, see plan.Grouping
	Key      string   // with * for a registered device
	From, To []byte   // JSON of one of the devices, with secrets masked
	Reason   string   // why the change waits on one of the devices
	Consent  bool     // the change may be consented to
	Keep     bool     // the present value may be kept
	Removes  bool     // the change removes a folder or a device
	Of       DeviceID // the device that From, To and Reason come from
	Rollout  int64    // rollout that brings the change to the devices; 0: none
	Devices  []HeldDevice
}

// Templates returns the templates that ask for the change on any of the devices, sorted.
func (g HeldGroup) Templates() []int64 {
	all := []int64{}
	for _, d := range g.Devices {
		all = append(all, d.Templates...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// HeldDevice is a device of a HeldGroup.
type HeldDevice struct {
	Device    DeviceID
	Templates []int64 // templates that ask for the change
}

// GroupAnswer is a person's answer to a HeldGroup.
type GroupAnswer struct {
	Digest string
	Answer Answer
	// only members of this rollout, including those that get the change later; 0: all devices that have it now
	Rollout  int64
	Template int64      // only devices where this template asks for the change; 0: all
	Devices  []DeviceID // only these devices; empty: all
}
