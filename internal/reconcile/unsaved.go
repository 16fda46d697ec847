package reconcile

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode"

	"muster/internal/fleet"
	"muster/internal/plan"
)

// A daemon whose disk is full answers a write with 500, has the new value in memory, and the old one again after its
// next start. So a write that was answered with 5xx counts as not done, whatever the daemon shows, until it answers a
// write of its configuration with 2xx: then it has saved all of it. The stop that says so, with the number of equal
// answers, is durable before the daemon is read back. Where nothing is left to send, a write that changes nothing goes
// the way of every other: intent, fresh read, write, read back, outcome.

const (
	unsavedKey  = "unsaved configuration" // no key of a configuration: nothing is kept from being written
	failedAfter = 5                       // equal answers
)

// answered notes how the daemon answered a write of its configuration, or that it could not save ignore patterns.
func (e *Engine) answered(ctx context.Context, j *job, err error) {
	if j.m.history.answered(err, time.Now()) {
		e.keepStops(context.WithoutCancel(ctx), j)
	}
}

func (m *history) answered(err error, now time.Time) (changed bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	was, unsaved := m.stops[unsavedKey]
	switch {
	case err == nil:
		delete(m.stops, unsavedKey)
		return unsaved
	case !errors.Is(err, fleet.ErrNotSaved):
		return false
	}
	is := fleet.Stop{Key: unsavedKey, Kind: fleet.StopUnsaved, Reason: fleet.Reason(err), Since: now, Answers: 1}
	if unsaved && isSameAnswer(was.Reason, is.Reason) {
		is = was
		is.Answers = min(was.Answers+1, failedAfter)
	}
	m.stop(is)
	return is != was
}

// isSameAnswer compares the texts of two answers without their digits: the names of temporary files differ in these.
func isSameAnswer(a, b string) bool {
	withoutDigits := func(text string) string {
		return strings.Map(func(r rune) rune {
			if unicode.IsDigit(r) {
				return -1
			}
			return r
		}, text)
	}
	return withoutDigits(a) == withoutDigits(b)
}

// unsaved is the answer after which it is not known what the daemon has on its disk; none when there is none.
func (m *history) unsaved() (fleet.Stop, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.stops[unsavedKey]
	return s, ok
}

func (j *job) isUnsaved() bool {
	_, unsaved := j.m.history.unsaved()
	return unsaved
}

// maySave tells whether the daemon is to be asked now to save what it has.
func (j *job) maySave() bool { return j.isUnsaved() && j.blocked() == "" }

// writes are those of the plan. A plan without changes is sent where the daemon did not save what it has: that is one
// write, which changes nothing.
func (a *attempt) writes() []plan.Write {
	if len(a.planned.Sendable()) == 0 {
		return []plan.Write{plan.Save()}
	}
	return plan.Writes(a.planned, a.j.observed())
}
