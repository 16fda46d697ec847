package fleet

import (
	"slices"
	"time"
)

// RolloutStatus is where a rollout stands.
type RolloutStatus string

const (
	// not started: it waits for approval, or for a device that can be reached
	RolloutWaiting RolloutStatus = "waiting"
	RolloutRunning RolloutStatus = "running" // a wave is under way
	RolloutPaused  RolloutStatus = "paused"  // by a person: no device is admitted until it is resumed
	RolloutHalted  RolloutStatus = "halted"  // by a person or a failed gate: mend the template, undo, or resume
	// templates and tags are as before; another rollout brings the devices back
	RolloutUndone     RolloutStatus = "undone"
	RolloutSucceeded  RolloutStatus = "succeeded"  // every wave passed its gates
	RolloutSuperseded RolloutStatus = "superseded" // another accepted change touched one of its devices
)

// Over tells whether nothing more comes of the rollout.
func (s RolloutStatus) Over() bool {
	return s == RolloutUndone || s == RolloutSucceeded || s == RolloutSuperseded
}

// Holds tells whether devices that were not admitted yet are held back at the generation before.
func (s RolloutStatus) Holds() bool { return !s.Over() }

// Gate is what has to be so before the next wave.
type Gate string

const (
	GateAPI     Gate = "api"     // the daemon answers after it was written to
	GatePlan    Gate = "plan"    // a plan made from what was read back is empty
	GateFolders Gate = "folders" // no folder is newly in error
)

// Rollout brings a frozen set of devices to what an accepted change asks, wave by wave.
type Rollout struct {
	ID         int64
	Generation int64   // that its devices are admitted to
	Before     int64   // that the devices not admitted yet are at
	Carries    []int64 // the generations whose changes it brings, ascending: its own and those of whatever it superseded
	Cause      string  // what was changed, for a person
	Status     RolloutStatus
	Reason     string       // why it stands so; for a person
	Next       string       // what happens next, or what the person can do
	WavePlan   []string     // as a person asked for them, like "1", "10%", "rest"
	Waves      []int        // devices in each wave; empty before the start
	Wave       int          // the last wave that was admitted, from 1; 0 before the start
	Halt       *RolloutHalt // of a halted one
	Approval   *Approval    // nil: it needs none

	Undoes       int64 // rollout that it takes back, 0 for none. All its members are admitted at once
	UndoneBy     int64 // generation that took it back, 0 without one
	SupersededBy int64 // generation of the change, 0 without one

	CreatedAt, StartedAt, WaveAt, EndedAt time.Time

	Members []RolloutMember // in the order of admission, those in no wave last; nil in lists
}

// RolloutHalt says who or what halted a rollout.
type RolloutHalt struct {
	By     string   // a token's name, "muster" for a gate
	Gate   Gate     // "" for a person
	Device DeviceID // "" for a person
	Saw    string   // for a person
	At     time.Time
}

// Approval is what a rollout over many devices waits for before its first wave.
type Approval struct {
	Reason string    // why it is needed, for a person
	By     string    // "" while it is not given
	At     time.Time // likewise zero
}

// Unapproved tells whether the rollout still waits for an approval.
func (r *Rollout) Unapproved() bool { return r.Approval != nil && r.Approval.By == "" }

// HeldAll among the digests of a member says that it is not known what waited: all of it counts as waiting.
const HeldAll = "*"

// RolloutMember is one device of a rollout.
type RolloutMember struct {
	Device DeviceID
	Wave   int           // from 1; 0: in no wave, because it could not be reached or written to
	Was    Configuration // at the start
	Errors []string      // folders in error at the start, sorted
	Held   []string      // keyed digests of the changes that waited for a person at the start; HeldAll: of any
	From   int64         // the generation that it was admitted to before
	Waived bool          // a person resumed the rollout although this device failed a gate

	// Registered is when its device was registered. A device that is registered again under the ID is no member.
	Registered time.Time

	State  MemberState // as seen now; not kept
	Reason string      // for a person; not kept
}

// MemberState is how far a member is.
type MemberState string

const (
	MemberLater    MemberState = "later"    // not admitted yet
	MemberAbsent   MemberState = "absent"   // in no wave; admitted when it is seen again after success
	MemberAdmitted MemberState = "admitted" // on its way
	MemberHeld     MemberState = "held"     // waits for consent, or for the mode to be on
	MemberGood     MemberState = "good"     // all gates but the soak time passed
	MemberFailed   MemberState = "failed"
)

// Admitted tells whether the member is at the rollout's generation.
func (r *Rollout) Admitted(m RolloutMember) bool {
	return m.Wave > 0 && m.Wave <= r.Wave || r.Status == RolloutSucceeded
}

// Member is a member by its device.
func (r *Rollout) Member(id DeviceID) (RolloutMember, bool) {
	i := slices.IndexFunc(r.Members, func(m RolloutMember) bool { return m.Device == id })
	if i < 0 {
		return RolloutMember{}, false
	}
	return r.Members[i], true
}

// Hold keeps a device at an older generation while a rollout has not admitted it.
type Hold struct {
	Device     DeviceID
	Generation int64
	Rollout    int64
}

// RolloutWrite is what a step of rollouts changes in the store, all of it or nothing.
type RolloutWrite struct {
	Settled  *Registry      // the newest generation of which it was decided who is admitted; nil: as before
	Rollouts []Rollout      // put; one with ID 0 is created. Members are replaced where they are not nil
	Hold     []Hold         // of members; Rollout 0 means the last one that is created
	Release  []Hold         // that end; a hold of another rollout stays
	Consents []GroupConsent // given with it; Rollout 0 means the first one that is created

	Touched []DeviceID // by the generations that are settled: earlier rollouts do not speak for them any more
	Wake    []DeviceID // are planned from another generation because of it
}

// GenerationChange is what one generation changed.
type GenerationChange struct {
	Number       int64
	Cause        string
	By           string // who made it; "" when that is not known
	At           time.Time
	Templates    []TemplateChange
	DeviceTags   []DeviceTagChange
	TemplateTags []TemplateTagChange
	Vars         []VarsChange
}

// TemplateVersion is what a template said from a generation on.
type TemplateVersion struct {
	Generation int64
	At         time.Time // of the generation
	By         string    // who made the generation; "" when that is not known
	Cause      string    // of the generation
	SavedBy    string    // who wrote op, key and text, which may be older than the generation
	SavedRole  Role
	Label      string
	Priority   int64
	Op         Op
	Key        string
	Text       string // "" in lists
}

// TemplateChange is a template as it was from a generation on.
type TemplateChange struct {
	Template Template
	Deleted  bool
}

// DeviceTagChange says that a device carried a tag from a generation on, or did no longer.
type DeviceTagChange struct {
	Device  DeviceID
	Tag     Tag
	Carried bool
}

// TemplateTagChange is the same for a template.
type TemplateTagChange struct {
	Template int64
	Tag      Tag
	Carried  bool
}

// ModeScope says whose mode is meant: of a tag, a device, or, when it is zero, of the fleet.
type ModeScope struct {
	Tag    Tag
	Device DeviceID
}
