package notify

import (
	"context"
	"crypto/rand"
	"time"

	"muster/internal/fleet"
)

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
	m.Type, m.ProblemID = fleet.NoticeProblem, m.ID
	return m, Problem{Condition: c, ID: m.ID, AnnouncedAt: now}
}

// closing is the message that a problem is over.
func closing(p Problem, now time.Time) Message {
	m := messageOf(p.Condition, now)
	m.Type, m.ProblemID, m.Next = fleet.NoticeResolved, p.ID, ""
	return m
}

func messageOf(c Condition, now time.Time) Message {
	return Message{ID: rand.Text(), Kind: c.Kind, DeviceID: c.Device, Label: c.Label, Folder: c.Folder, Reason: c.Reason,
		Next: c.Next, Since: c.Since.UTC(), At: now.UTC()}
}
