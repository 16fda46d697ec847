package fleet

import (
	"bytes"
	"slices"
	"strings"
	"time"
)

// ConsentTime is how long a consent is valid while Muster can write to its device.
const ConsentTime = 24 * time.Hour

// Consent is a person's answer to a change that waits for one.
type Consent struct {
	ID     int64 // assigned by the store
	Device DeviceID
	Key    string // key of the change; "": the entry belongs to a group consent with Removals, see GroupConsent.Shown
	Answer Answer
	Change string // keyed digest of the change; a different change needs a new answer
	By     string
	At     time.Time
	Until  time.Time // end of its validity
	Group  int64     // ID of the group consent that it was made from; 0: a person gave it for this device

	// UnreachableSince is since when Muster cannot write to the device, because it does not answer or is only observed.
	// The validity does not run out meanwhile. Zero while Muster can write to it.
	UnreachableSince time.Time
}

// Over reports whether the validity has run out.
func (c Consent) Over(now time.Time) bool {
	if !c.UnreachableSince.IsZero() {
		now = c.UnreachableSince
	}
	return !now.Before(c.Until)
}

// Reachable returns the consent after it was found whether Muster can write to its device.
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
// member when the member could be written to for ConsentTime.
type GroupConsent struct {
	ID       int64 // assigned by the store
	Rollout  int64
	Key      string // key with * for a registered device; "" with Removals
	Change   string // group digest of the changes, see plan.Grouping; "" with Removals
	Answer   Answer
	Removals bool // It consents to what an undo removes or creates again, as Shown lists it.
	By       string
	At       time.Time

	// Now are the consents of the members whose changes wait when the answer is given. They are stored together with
	// it, and not filled in where it is read.
	Now []Consent

	// Shown are the changes that the person was shown before the undo. Removals consents to these only. They are stored as
	// one Consent with a blank key for each device, whose Change has their digests. Where the group consents of one device
	// are read, Shown has the changes of that device.
	Shown []ShownChange

	// Keys has the keys of Shown, for the audit. It is not filled in where the group consent is read.
	Keys map[ShownChange]string `json:"-"`
}

// Shows reports whether Shown has the change of a device with this consent digest.
func (g GroupConsent) Shows(device DeviceID, digest string) bool {
	return slices.Contains(g.Shown, ShownChange{Device: device, Digest: digest})
}

// GroupConsentTime is how long a group consent is valid after the end of its rollout. A device that was unreachable
// for longer asks again, because its changes may be different ones by then.
const GroupConsentTime = ConsentTime

// GivenConsent is a consent as it is shown afterwards.
type GivenConsent struct {
	Consent
	Rollout int64     // rollout of its group consent; 0: no group consent
	Closed  time.Time // time at which it was used or ended; zero while it is open
	Used    bool      // It was used; false: it ended unused.
	Intent  int64     // ID of the intent that used it; 0: none, as where a value was kept and nothing was sent
}

// ConsentState is what became of a consent.
type ConsentState string

// States of consents.
const (
	ConsentOpen   ConsentState = "open"
	ConsentUsed   ConsentState = "used"
	ConsentClosed ConsentState = "closed" // It ended unused.
)

// State returns what became of the consent.
func (c GivenConsent) State() ConsentState {
	switch {
	case c.Used:
		return ConsentUsed
	case !c.Closed.IsZero():
		return ConsentClosed
	}
	return ConsentOpen
}

// Answer is what a person decides about a held change.
type Answer string

const (
	AnswerConsent Answer = "consent" // make the change, once
	AnswerKeep    Answer = "keep"    // keep the present value: it becomes the base
)

// valueAnswer begins the answers by which people choose values.
const valueAnswer = "value "

// AnswerValue is the answer by which a person chooses, by its name, a value that a held change offers.
func AnswerValue(name string) Answer { return Answer(valueAnswer + name) }

// Choice gives the name of the value that the answer chooses, "" for every other answer.
func (a Answer) Choice() string {
	name, chooses := strings.CutPrefix(string(a), valueAnswer)
	if !chooses {
		return ""
	}
	return name
}

// Choice is a value that a person may choose in an answer to a held change, by its name.
type Choice struct {
	Name string
	Does string // consequence, for a person
}

// HeldGroup is a set of held changes that are equal, taken from the last plans of their devices. A person answers them
// together, and the answer covers the changes that the person was shown.
type HeldGroup struct {
	Digest    string   // group digest, see plan.Grouping
	Key       string   // * replaces a registered device
	Templates []int64  // templates that ask for the changes, in fold order; empty where the keys return to base
	Consent   bool     // the changes may be consented to
	Keep      bool     // the present values may be kept
	Choices   []Choice // values that may be chosen by name
	Removes   bool     // the changes remove a folder or a device
	Rollout   int64    // rollout that brings the changes to the devices; 0: none
	Changes   []HeldChange
}

// HeldChange is one change of a HeldGroup, with everything that a person is shown of it.
type HeldChange struct {
	Device   DeviceID
	Key      string
	From, To []byte // JSON with secrets masked
	Reason   string // why the change waits
	Names    Names
	// Digest identifies the change, and an answer names it. "": the values are too large to be shown in a group, so
	// no answer to the group covers the change.
	Digest string
	// Choices has, by the name of each value that a person may choose, the digest of the change with that value. Nil:
	// the change offers none, or Digest is "".
	Choices map[string]string
}

// DigestFor gives the digest of the change to which an answer is given.
func (c HeldChange) DigestFor(answer Answer) string {
	if name := answer.Choice(); name != "" {
		return c.Choices[name]
	}
	return c.Digest
}

// Names are the devices, folders and paths that a change names in its key and its values, each once and sorted.
type Names struct {
	Devices []DeviceID
	Folders []string
	Paths   []string
}

// Devices returns the devices that the group changes, each once, in their order in Changes.
func (g HeldGroup) Devices() []DeviceID { return DevicesOf(g.Changes) }

// DevicesOf returns the devices of changes, each once.
func DevicesOf(changes []HeldChange) []DeviceID {
	all := []DeviceID{}
	for _, c := range changes {
		if !slices.Contains(all[max(0, len(all)-1):], c.Device) { // a device's changes stand together
			all = append(all, c.Device)
		}
	}
	return all
}

// Alike reports whether all changes of the group have the same key and the same values.
func (g HeldGroup) Alike() bool {
	return !slices.ContainsFunc(g.Changes, func(c HeldChange) bool {
		first := g.Changes[0]
		return c.Key != first.Key || !bytes.Equal(c.From, first.From) || !bytes.Equal(c.To, first.To)
	})
}

// ShownChange identifies a change that a person was shown.
type ShownChange struct {
	Device DeviceID
	Digest string // HeldChange.Digest
}

// GroupAnswer is a person's answer to the changes of a HeldGroup that the person was shown.
type GroupAnswer struct {
	Digest string // digest of the group
	Answer Answer
	Shown  []ShownChange
	// WholeRollout is the rollout for whose members the answer holds beyond what was shown: for changes that are equal
	// to those shown, now and later. 0: the answer is only for the changes that were shown.
	WholeRollout int64
}

// GroupAnswered tells what an answer was recorded for.
type GroupAnswered struct {
	Key      string       // key of the group
	Changes  []HeldChange // answered changes
	Waiting  []HeldChange // changes of the same group that the answer does not cover
	Gone     []DeviceID   // devices that were shown and are not registered any more: nothing is recorded for them
	NotShown int          // members of the rollout for which the answer holds although no change was shown
}
