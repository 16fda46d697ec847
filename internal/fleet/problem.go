package fleet

import "time"

// ProblemKind is what is wrong with a device or a folder, as people are told of it.
type ProblemKind string

const (
	ProblemUnreachable ProblemKind = "unreachable"
	ProblemOutOfSync   ProblemKind = "outOfSync"
	ProblemFailed      ProblemKind = "failed"
	ProblemHeld        ProblemKind = "held"
	ProblemContended   ProblemKind = "contended"
	ProblemUnstable    ProblemKind = "unstable"
)

// ProblemKey names a problem: one kind, at a device or at one folder of it.
type ProblemKey struct {
	Device DeviceID
	Folder string // "" for the device as a whole
	Kind   ProblemKind
}

// Condition is a problem as it is now.
type Condition struct {
	ProblemKey
	Label  string    // of the device
	Reason string    // for a person; no secrets
	Next   string    // what happens next, or what the person can do; may be empty
	Since  time.Time // when it began; one that is newer than before means that it was over in between
}

// ProblemReport is what is wrong in the fleet now.
type ProblemReport struct {
	Conditions []Condition
	// Unknown tells whether nothing is known about a problem now: it is neither over nor does it begin. Nil: what is not
	// in Conditions is over.
	Unknown func(ProblemKey) bool
}

// Problem is one that people were told of and that is not over.
type Problem struct {
	Condition
	ID          string    // of the notice that announced it
	AnnouncedAt time.Time // when that was made
}

// NoticeType says whether a notice opens or closes a problem.
type NoticeType string

const (
	NoticeProblem  NoticeType = "problem"
	NoticeResolved NoticeType = "resolved"
)

// Notice is what people are told, once when a problem stays and once when it is over. As JSON it is kept, and sent to
// receivers.
type Notice struct {
	ID        string      `json:"id"` // the same when it comes twice
	Type      NoticeType  `json:"type"`
	ProblemID string      `json:"problemID"` // of the notice that opened the problem
	Kind      ProblemKind `json:"kind"`
	DeviceID  DeviceID    `json:"deviceID"`
	Label     string      `json:"label"` // of the device
	Folder    string      `json:"folder,omitempty"`
	Reason    string      `json:"reason"`         // of a resolved one: what was wrong
	Next      string      `json:"next,omitempty"` // what happens next, or what a person can do
	Since     time.Time   `json:"since"`          // when the problem began
	At        time.Time   `json:"at"`             // when the notice was made
}

// Announcement is what happens to problems and outbox together: every notice is put into the outbox of every receiver,
// in order, with a sequence number that is larger than all before, also than those of notices already delivered.
type Announcement struct {
	Open      []Problem
	Close     []ProblemKey
	Notices   []Notice
	Receivers []string
}

// Waiting is a notice that waits for a receiver.
type Waiting struct {
	Sequence int64
	Notice   Notice
}
