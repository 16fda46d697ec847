package fleet

import "time"

// ProblemKind is what is wrong with a device or a folder. It is one of the causes for which a device waits.
type ProblemKind = WaitCause

// ProblemKey identifies a problem: one kind, on a device or on one folder of it.
type ProblemKey struct {
	Device DeviceID
	Folder string // "" for the device as a whole
	Kind   ProblemKind
}

// Condition is the current state of a problem.
type Condition struct {
	ProblemKey
	Label  string    // label of the device
	Reason string    // sentence for people; no secrets
	Next   string    // next step of Muster or of a person; may be empty
	Since  time.Time // its beginning; a later time than in the last report means that it ended and began again
}

// ProblemReport lists all current problems of the fleet.
type ProblemReport struct {
	Conditions []Condition
	// Unknown reports whether nothing is known about a problem now, so that it neither ends nor begins. Nil: every
	// problem that is not in Conditions is over.
	Unknown func(ProblemKey) bool
}

// Problem is a problem that was announced to people and is not over.
type Problem struct {
	Condition
	ID          string    // ID of the notice that announced it
	AnnouncedAt time.Time // time of the notice
}

// NoticeType says whether a notice announces a problem or its end.
type NoticeType string

const (
	NoticeProblem  NoticeType = "problem"
	NoticeResolved NoticeType = "resolved"
	NoticeTrial    NoticeType = "trial" // It is about no problem: somebody tries the receiver.
)

// Notice is a message to people: one when a problem lasts, one when it is over. It is stored and sent as JSON.
type Notice struct {
	ID        string      `json:"id"` // equal for repeated messages
	Type      NoticeType  `json:"type"`
	ProblemID string      `json:"problemID"` // ID of the notice that announced the problem
	Kind      ProblemKind `json:"kind"`
	DeviceID  DeviceID    `json:"deviceID"`
	Label     string      `json:"label"` // label of the device
	Folder    string      `json:"folder,omitempty"`
	Reason    string      `json:"reason"`         // reason of the problem, also in the notice of its end
	Next      string      `json:"next,omitempty"` // next step of Muster or of a person
	Since     time.Time   `json:"since"`          // beginning of the problem
	At        time.Time   `json:"at"`             // time of the notice
}

// Announcement is what the store writes in one transaction: changes of problems, and notices. Every notice goes into
// the outbox of every receiver, in order, with a sequence number larger than all earlier ones, including those of
// delivered notices.
type Announcement struct {
	Open      []Problem
	Close     []ProblemKey
	Notices   []Notice
	Receivers []string
}

// Waiting is a notice that was not delivered yet.
type Waiting struct {
	Sequence int64
	Notice   Notice
}
