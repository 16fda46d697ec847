package fleet

import (
	"slices"
	"time"
)

// ProblemKind is what is wrong with a device or a folder. It is one of the causes for which a device waits.
type ProblemKind = WaitCause

// ProblemKey identifies a problem: one kind, on a device or on one folder of it.
type ProblemKey struct {
	Device DeviceID
	Folder string // "" for the device as a whole
	Kind   ProblemKind
	// Subject tells apart problems of one kind that are of no device, such as those of two rollouts. "" for a device.
	Subject string
}

// ToldKinds lists the kinds of problems that people are told of.
var ToldKinds = slices.Concat(slices.DeleteFunc(slices.Clone(WaitCauses), func(c WaitCause) bool {
	return c == WaitPendingDevice || c == WaitPendingFolder
}), []WaitCause{WaitEnrollment, WaitRolloutHalted, WaitRolloutApproval, WaitImpairment})

// Condition is the current state of a problem.
type Condition struct {
	ProblemKey
	Label  string    // label of the device
	Tags   []Tag     // tags of the device
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
	// Routed means that routes decided alone who was told: no notice of this problem alone went to the receivers of flags
	// and settings, so none of its end does.
	Routed bool
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
	// Subject names what a problem is of that is of no device.
	Subject string `json:"subject,omitempty"`
	// Link is the address of the page about the problem; "": the server does not know its address.
	Link  string       `json:"link,omitempty"`
	Group *NoticeGroup `json:"group,omitempty"` // nil: no route sent the notice
}

// NoticeGroup is what a notice of a route says about all its problems. Where there is only one, the notice says the
// same itself.
type NoticeGroup struct {
	Summary  string        `json:"summary"` // "12 devices of site:berlin cannot be reached since 14:02"
	Severity Severity      `json:"severity"`
	Channel  string        `json:"channel"`
	Tag      Tag           `json:"tag,omitempty"` // the tag by which the route groups
	Count    int           `json:"count"`         // problems; more than len(Problems) where there are many
	Problems []ToldProblem `json:"problems"`
	Repeated bool          `json:"repeated,omitempty"` // Nothing changed since the last notice.
}

// ToldProblem is one of the problems of a notice.
type ToldProblem struct {
	DeviceID DeviceID  `json:"deviceID,omitempty"`
	Label    string    `json:"label,omitempty"`
	Folder   string    `json:"folder,omitempty"`
	Subject  string    `json:"subject,omitempty"`
	Reason   string    `json:"reason"`
	Since    time.Time `json:"since"`
}

// ToldGroup is a group of problems that a channel was told of and that is not over.
type ToldGroup struct {
	ToldGroupKey
	ID       string       // ID of the notice that announced it
	Since    time.Time    // its beginning
	ToldAt   time.Time    // time of the last notice
	Count    int          // problems of the last notice
	Problems []ProblemKey // problems of the last notice that are not over
}

// ToldGroupKey identifies a group: one for each channel, kind and tag.
type ToldGroupKey struct {
	Channel string
	Kind    ProblemKind
	Tag     Tag
}

// Delivery is one entry of the log of what was sent to a channel.
type Delivery struct {
	At       time.Time
	NoticeID string
	Type     NoticeType
	Summary  string
	Accepted bool
	Answer   string // Answer is what the receiver answered, or why it could not be asked.
}

// Announcement is what the store writes in one transaction: changes of problems, and notices. Every notice goes into
// the outbox of every receiver, in order, with a sequence number larger than all earlier ones, including those of
// delivered notices.
type Announcement struct {
	Open      []Problem
	Close     []ProblemKey
	Notices   []Notice
	Receivers []string

	Tell   []ToldGroup    // groups as they are now
	Forget []ToldGroupKey // groups that are over
	Posts  []Post         // notices of groups
}

// Post is a notice for some receivers.
type Post struct {
	Notice    Notice
	Receivers []string
}

// Waiting is a notice that was not delivered yet.
type Waiting struct {
	Sequence int64
	Notice   Notice
}
