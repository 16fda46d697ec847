package notify

import (
	"context"
	"crypto/rand"
	"errors"
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
type RejectedError struct {
	Reason string
	Answer string // Answer is what the receiver said, for administrators only; "": nothing.
}

func (e *RejectedError) Error() string { return "the receiver refuses the message: " + e.Reason }

// AnswerError says that the receiver does not work, as its answer shows.
type AnswerError struct {
	Reason string
	Answer string // Answer is for administrators, as in RejectedError.
}

func (e *AnswerError) Error() string { return e.Reason }

// answerOf returns what a receiver answered, or why it could not be asked, for administrators.
func answerOf(err error) string {
	text := err.Error()
	var rejected *RejectedError
	var answered *AnswerError
	switch {
	case errors.As(err, &rejected) && rejected.Answer != "":
		text += ": " + rejected.Answer
	case errors.As(err, &answered) && answered.Answer != "":
		text += ": " + answered.Answer
	}
	return oneLine(text)
}

// LaterError says that the receiver asks for a pause before the next attempt.
type LaterError struct {
	After time.Duration
	Err   error
}

func (e *LaterError) Error() string { return e.Err.Error() }
func (e *LaterError) Unwrap() error { return e.Err }

// opening makes the message that announces a condition, and the problem that the message opens.
func opening(c Condition, began time.Time, public string, now time.Time) (Message, Problem) {
	if c.Since.IsZero() {
		c.Since = began
	}
	m := messageOf(c, public, now)
	m.Type, m.ProblemID = fleet.NoticeProblem, m.ID
	return m, Problem{Condition: c, ID: m.ID, AnnouncedAt: now}
}

// closing makes the message that a problem is over.
func closing(p Problem, public string, now time.Time) Message {
	m := messageOf(p.Condition, public, now)
	m.Type, m.ProblemID, m.Next = fleet.NoticeResolved, p.ID, ""
	return m
}

func messageOf(c Condition, public string, now time.Time) Message {
	return Message{ID: rand.Text(), Kind: c.Kind, DeviceID: c.Device, Label: c.Label, Folder: c.Folder, Reason: c.Reason,
		Next: c.Next, Since: c.Since.UTC(), At: now.UTC(), Subject: c.Subject, Link: linkTo(public, c.Device, c.Folder)}
}
