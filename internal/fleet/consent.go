package fleet

import "time"

// Consent is a person's answer to a change that waits for one.
type Consent struct {
	ID     int64 // assigned by the store
	Device DeviceID
	Key    string
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
// it: until a later change touches the member, and, without Removals, until GroupConsentTime after the rollout is over.
type GroupConsent struct {
	ID       int64 // assigned by the store
	Rollout  int64
	Key      string // with * for a registered device; "" with Removals
	Change   string // group digest of the changes, see plan.Change.GroupDigest; "" with Removals
	Answer   Answer
	Removals bool // for whatever an undo removes or creates again; Answer is AnswerConsent then
	By       string
	At       time.Time

	// Waited are keyed digests of what waited on the member before the undo (RolloutMember.Held): Removals is no answer to
	// that. Only the reading of the group consents of one device fills it in.
	Waited []string
}

// GroupConsentTime is how long a group consent counts after the end of its rollout. A device that nobody could reach for
// so long asks again: what it has by then is not what the person answered.
const GroupConsentTime = 24 * time.Hour

// GivenConsent is an answer as it is shown afterwards.
type GivenConsent struct {
	Consent
	Rollout int64     // of its group consent; 0 without one
	Closed  time.Time // when it was used or ended; zero while it is open
	Intent  int64     // that used it; 0: none did
}

// Answer is what a person says of a held change.
type Answer string

const (
	AnswerConsent Answer = "consent" // it may be made, once
	AnswerKeep    Answer = "keep"    // what is there stays: it is the base
)
