package notify

import (
	"context"
	"crypto/rand"
	"time"

	"muster/internal/fleet"
)

// Sender sends messages to one receiver.
type Sender interface {
	// Name returns the receiver's name. It is the same after a restart, and it is shown and stored, so it contains no
	// secret.
	Name() string
	// Send returns nil once the receiver has accepted the message. A *RejectedError means that the receiver refuses
	// this message; any other error means that the receiver does not work.
	Send(ctx context.Context, m Message) error
}

// RejectedError says that the receiver refuses this message. It may accept others.
type RejectedError struct{ Reason string }

func (e *RejectedError) Error() string { return "the receiver refuses the message: " + e.Reason }

// LaterError says that the receiver asks for a pause before the next attempt.
type LaterError struct {
	After time.Duration
	Err   error
}

func (e *LaterError) Error() string { return e.Err.Error() }
func (e *LaterError) Unwrap() error { return e.Err }

// opening makes the message that announces a condition, and the problem that the message opens.
func opening(c Condition, began, now time.Time) (Message, Problem) {
	if c.Since.IsZero() {
		c.Since = began
	}
	m := messageOf(c, now)
	m.Type, m.ProblemID = fleet.NoticeProblem, m.ID
	return m, Problem{Condition: c, ID: m.ID, AnnouncedAt: now}
}

// closing makes the message that a problem is over.
func closing(p Problem, now time.Time) Message {
	m := messageOf(p.Condition, now)
	m.Type, m.ProblemID, m.Next = fleet.NoticeResolved, p.ID, ""
	return m
}

func messageOf(c Condition, now time.Time) Message {
	return Message{ID: rand.Text(), Kind: c.Kind, DeviceID: c.Device, Label: c.Label, Folder: c.Folder, Reason: c.Reason,
		Next: c.Next, Since: c.Since.UTC(), At: now.UTC()}
}
