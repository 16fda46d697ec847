package fleet

import "time"

// ConsentTime is how long a consent counts while its device can be reached.
const ConsentTime = 24 * time.Hour

// Consent is a person's answer to a change that waits for one.
type Consent struct {
	ID     int64 // assigned by the store
	Device DeviceID
	Key    string // "": the time in which a group consent with Removals counts for the device
	Answer Answer
	Change string // keyed digest of the change: the answer is to no other
	By     string
	At     time.Time
	Until  time.Time // from then on it may not be used
	Group  int64     // the group consent that it was made from; 0: it was given for the device itself

	// UnreachableSince is when the device stopped to answer: since then the time of the consent does not run. Zero while
	// the device can be reached.
	UnreachableSince time.Time
}

// Over tells whether the time of the consent has run out.
func (c Consent) Over(now time.Time) bool {
	if !c.UnreachableSince.IsZero() {
		now = c.UnreachableSince
	}
	return !now.Before(c.Until)
}

// Reachable is the consent after it was found out whether its device can be reached.
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
// now and members that get it later each use it once for each key. It counts for a member while the rollout speaks for
// it, that is, until a later change touches the member. It ends GroupConsentTime after the rollout is over; one with
// Removals ends for each member when the member could be reached for ConsentTime.
type GroupConsent struct {
	ID       int64 // assigned by the store
	Rollout  int64
	Key      string // with * for a registered device; "" with Removals
	Change   string // group digest of the changes, see plan.Grouping; "" with Removals
	Answer   Answer
	Removals bool // for whatever an undo removes or creates again; Answer is AnswerConsent then
	By       string
	At       time.Time

	// Waited are keyed digests of what waited on the member before the undo (RolloutMember.Held): Removals is no answer
	// to that. Only the reading of the group consents of one device fills it in.
	Waited []string
}

// GroupConsentTime is how long a group consent counts after the end of its rollout. A device that nobody could reach
// for so long asks again: what it has by then is not what the person answered.
const GroupConsentTime = ConsentTime

// GivenConsent is an answer as it is shown afterwards.
type GivenConsent struct {
	Consent
	Rollout int64     // of its group consent; 0 without one
	Closed  time.Time // when it was used or ended; zero while it is open
	Used    bool      // else it ended without
	Intent  int64     // that used it; 0 without one, and for what could be kept without sending anything
}

// Answer is what a person says of a held change.
type Answer string

const (
	AnswerConsent Answer = "consent" // it may be made, once
	AnswerKeep    Answer = "keep"    // what is there stays: it is the base
)

// HeldGroup is equal held changes of several devices, as their last plans had them. One answer is enough for all.
type HeldGroup struct {
	Digest   string   // group digest, see plan.Grouping
	Key      string   // with * for a registered device
	From, To []byte   // JSON, secrets masked; of one of the devices
	Reason   string   // why it waits; of one of the devices
	Consent  bool     // it may be consented to
	Keep     bool     // what is there may be kept
	Removes  bool     // a folder or a top-level device
	Of       DeviceID // that device
	Rollout  int64    // that speaks for the devices; 0: none does
	Devices  []HeldDevice
}

// HeldDevice is a device of a HeldGroup.
type HeldDevice struct {
	Device    DeviceID
	Templates []int64 // that ask for the change
}

// GroupAnswer is a person's answer to a HeldGroup.
type GroupAnswer struct {
	Digest   string
	Answer   Answer
	Rollout  int64      // only for its members, also for those that get the change later; 0: for all that have it now
	Template int64      // only where this template asks for it; 0: wherever
	Devices  []DeviceID // only for these; empty: for all
}
