package fleet

import (
	"slices"
	"time"
)

// RolloutStatus is the state of a rollout.
type RolloutStatus string

const (
	// RolloutWaiting means that the rollout has not started: it waits for approval or for a device that can be
	// reached.
	RolloutWaiting RolloutStatus = "waiting"
	RolloutRunning RolloutStatus = "running" // a wave is under way
	RolloutPaused  RolloutStatus = "paused"  // a person paused it: no device is admitted until it is resumed
	// stopped by a person or a failed gate: fix the template, undo, or resume
	RolloutHalted RolloutStatus = "halted"
	// RolloutUndone means that its templates and tags were set back. The rollout of the undo changes the devices.
	RolloutUndone     RolloutStatus = "undone"
	RolloutSucceeded  RolloutStatus = "succeeded"  // every wave passed its gates
	RolloutSuperseded RolloutStatus = "superseded" // a later change affected one of its devices
)

// Over reports whether the rollout has ended.
func (s RolloutStatus) Over() bool {
	return s == RolloutUndone || s == RolloutSucceeded || s == RolloutSuperseded
}

// Holds reports whether devices that are not admitted yet stay at the generation before.
func (s RolloutStatus) Holds() bool { return !s.Over() }

// Brings reports whether the rollout brings the change of a generation to devices.
func (r Rollout) Brings(generation int64) bool {
	return r.Before < generation && generation <= r.Generation || slices.Contains(r.Carries, generation)
}

// CanBeUndone reports whether a person may take back what the rollout brings.
func (r Rollout) CanBeUndone() bool {
	return r.Undoes == 0 && r.Status != RolloutUndone && r.Status != RolloutSuperseded
}

// Gate is a condition that must hold before the next wave.
type Gate string

const (
	GateAPI     Gate = "api"     // the daemon answers after it was written to
	GatePlan    Gate = "plan"    // a plan made from what was read back is empty
	GateFolders Gate = "folders" // no folder has a new error
)

// Rollout brings a fixed set of devices to the generation of a change, wave by wave.
type Rollout struct {
	ID         int64
	Generation int64 // generation to which its devices are admitted
	Before     int64 // generation of the devices that are not admitted yet
	// generations whose changes it brings, ascending: its own and those of the rollouts that it superseded
	Carries  []int64
	Cause    string // text for people: what was changed
	Status   RolloutStatus
	Reason   string       // why it is in its state, for people
	Next     string       // next step of Muster or of a person
	WavePlan []string     // waves as a person specified them, for example "1", "10%", "rest"
	Waves    []int        // number of devices in each wave; empty before the start
	Wave     int          // the last admitted wave, from 1; 0 before the start
	Halt     *RolloutHalt // set when the rollout is halted
	Approval *Approval    // nil: no approval is needed

	Undoes       int64 // rollout that this one undoes, or 0; all members of an undo are admitted at once
	UndoneBy     int64 // generation of the undo of this rollout, or 0
	SupersededBy int64 // generation of the change that superseded it, or 0

	CreatedAt, StartedAt, WaveAt, EndedAt time.Time

	Members []RolloutMember // ordered by admission, members without a wave last; nil in lists
}

// RolloutHalt says who or what halted a rollout.
type RolloutHalt struct {
	By     string   // name of a token; "muster" for a gate
	Gate   Gate     // "" for a person
	Device DeviceID // "" for a person
	Saw    string   // sentence for people: what the gate found
	At     time.Time
}

// Approval is the approval that a rollout over many devices needs before its first wave.
type Approval struct {
	Reason string    // why it is needed, for people
	By     string    // name of the person or token that approved; "" until then
	At     time.Time // zero until then
}

// Unapproved reports whether the rollout still waits for an approval.
func (r *Rollout) Unapproved() bool { return r.Approval != nil && r.Approval.By == "" }

// RolloutMember is one device of a rollout.
type RolloutMember struct {
	Device DeviceID
	Wave   int           // number of its wave, from 1; 0: no wave, because it could not be reached or written to
	Was    Configuration // state at the start of the rollout
	Errors []string      // folders that had an error or no reading at the start, sorted
	Held   []string      // keyed digests of the changes that waited for a person at the start
	From   int64         // generation to which it was admitted before
	Waived bool          // the rollout does not wait for it: a person resumed in spite of it, or see Left

	// Registered is when the device was registered. A device that is registered again later is not a member.
	Registered time.Time

	State  MemberState // current state; not stored
	Reason string      // sentence for people; not stored
}

// Left reports whether the rollout goes on without the device, because the device was revoked.
func (m RolloutMember) Left() bool { return m.Waived && m.Wave == 0 }

// MemberState says how far a member is.
type MemberState string

const (
	MemberLater MemberState = "later" // waits for its wave
	// it has no wave, and is admitted when it can be reached again after the rollout succeeded
	MemberAbsent   MemberState = "absent"
	MemberAdmitted MemberState = "admitted" // admitted, not finished
	MemberHeld     MemberState = "held"     // waits for a consent, or for the mode "on"
	MemberGood     MemberState = "good"     // all gates passed, except the soak time
	MemberFailed   MemberState = "failed"
)

// Admitted reports whether the member is admitted to the rollout's generation.
func (r *Rollout) Admitted(m RolloutMember) bool {
	return m.Wave > 0 && m.Wave <= r.Wave || r.Status == RolloutSucceeded
}

// Member returns the member for a device.
func (r *Rollout) Member(id DeviceID) (RolloutMember, bool) {
	i := slices.IndexFunc(r.Members, func(m RolloutMember) bool { return m.Device == id })
	if i < 0 {
		return RolloutMember{}, false
	}
	return r.Members[i], true
}

// Hold keeps a device at an older generation until a rollout admits it.
type Hold struct {
	Device     DeviceID
	Generation int64
	Rollout    int64
}

// RolloutWrite is what one step of a rollout changes in the store, in one transaction.
type RolloutWrite struct {
	Settled  *Registry      // newest generation for which rollouts have decided who is admitted; nil: unchanged
	Rollouts []Rollout      // rollouts to store; ID 0 creates one. Members are replaced unless they are nil
	Hold     []Hold         // new holds of members; Rollout 0 means the last created rollout
	Release  []Hold         // holds that end; a hold of another rollout stays
	Consents []GroupConsent // consents given in this step; Rollout 0 means the first created rollout

	Touched []DeviceID // devices affected by the settled generations; earlier rollouts no longer decide about them
	Wake    []DeviceID // devices that are planned from another generation from now on
}
