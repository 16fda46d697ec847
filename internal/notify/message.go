package notify

import (
	"context"
	"crypto/rand"
	"time"

	"muster/internal/fleet"
)

// MessageType says whether a message opens or closes a problem.
type MessageType string

const (
	TypeProblem  MessageType = "problem"
	TypeResolved MessageType = "resolved"
)

// Message is what a receiver gets, as JSON.
type Message struct {
	ID        string         `json:"id"` // the same when the message comes twice
	Type      MessageType    `json:"type"`
	ProblemID string         `json:"problemID"` // the ID of the message that opened the problem
	Kind      Kind           `json:"kind"`
	DeviceID  fleet.DeviceID `json:"deviceID"`
	Label     string         `json:"label"`
	Folder    string         `json:"folder,omitempty"`
	Reason    string         `json:"reason"`         // of a resolved one: what was wrong
	Next      string         `json:"next,omitempty"` // what happens next, or what a person can do
	Since     time.Time      `json:"since"`          // when the problem began
	At        time.Time      `json:"at"`             // when the message was made
}

// Sender brings messages to one receiver.
type Sender interface {
	// Name is the receiver's, the same over restarts. It is shown and kept: no secrets.
	Name() string
	// Send returns nil once the receiver has taken the message. A *RejectedError is about this message only, any other
	// error about the receiver.
	Send(ctx context.Context, m Message) error
}

// RejectedError says that the receiver refuses this message, and may well take others.
type RejectedError struct{ Reason string }

func (e *RejectedError) Error() string { return "the receiver refuses the message: " + e.Reason }

// LaterError says that the receiver wants to be left alone for a while.
type LaterError struct {
	After time.Duration
	Err   error
}

func (e *LaterError) Error() string { return e.Err.Error() }
func (e *LaterError) Unwrap() error { return e.Err }

// opening is the message that announces a condition, and the problem that it opens.
func opening(c Condition, began, now time.Time) (Message, Problem) {
	if c.Since.IsZero() {
		c.Since = began
	}
	m := messageOf(c, now)
	m.Type, m.ProblemID = TypeProblem, m.ID
	return m, Problem{Condition: c, ID: m.ID, AnnouncedAt: now}
}

// closing is the message that a problem is over.
func closing(p Problem, now time.Time) Message {
	m := messageOf(p.Condition, now)
	m.Type, m.ProblemID, m.Next = TypeResolved, p.ID, ""
	return m
}

func messageOf(c Condition, now time.Time) Message {
	return Message{ID: rand.Text(), Kind: c.Kind, DeviceID: c.Device, Label: c.Label, Folder: c.Folder, Reason: c.Reason,
		Next: c.Next, Since: c.Since.UTC(), At: now.UTC()}
}
