package reconcile

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"muster/internal/core/plan"
	"muster/internal/fleet"
)

// This file decides what happens after a failure of a pass, of a write, or of a call that may be repeated.

const (
	firstPause   = time.Second // pause after one failed pass; each further failure doubles it
	longestPause = time.Minute

	firstRetry   = 100 * time.Millisecond // pause between two tries of a call within one pass
	longestRetry = 2 * time.Second
)

// passEnd says when a device is due again after a pass.
type passEnd int

const (
	dueOnChange passEnd = iota // due when something changes
	failed                     // due after a pause, which grows with each failure
	outOfMemory                // due once memory was freed
)

// endOf returns when a device is due again after a pass that ended with err. r is the person's request of that pass,
// or nil. A person's own change is never repeated, nor is an apply that ended with conflict or not_found: the person
// got the error and may ask again. An error that is the fault of a template lasts until something changes.
func endOf(r *request, err error) passEnd {
	code := fleet.CodeOf(err)
	switch {
	case err == nil, isLasting(err):
		return dueOnChange
	case r != nil && (r.change != nil || code == fleet.CodeConflict || code == fleet.CodeNotFound):
		return dueOnChange
	case errors.Is(err, fleet.ErrNoMemory):
		return outOfMemory
	}
	return failed
}

// isLasting reports whether an error is the fault of a template or a person. Such an error lasts until something
// changes.
func isLasting(err error) bool {
	code := fleet.CodeOf(err)
	return code == fleet.CodeInvalid || code == fleet.CodeTooLarge || code == fleet.CodeMalformed
}

// backoff returns the pause after so many failures in a row (at least one). It grows from firstPause to longestPause.
// Jitter shortens it by up to a half, so that devices that failed together are not due together.
func backoff(failures int) time.Duration {
	pause := longestPause
	if failures < 7 {
		pause = min(firstPause<<(failures-1), longestPause)
	}
	return pause/2 + rand.N(pause/2)
}

// writeAnswer says how an attempt goes on after the daemon's answer to one write.
type writeAnswer int

const (
	writeDone     writeAnswer = iota
	writeRejected             // The daemon refused the write: other writes that need it are left out.
	writeMoved                // The document has changed: nothing more is sent, and the read-back is planned again.
	writeUnknown              // It may have done the write: nothing more is sent, and the read-back shows whether it did.
)

// answerOf returns the writeAnswer for the error of a write.
func answerOf(err error) writeAnswer {
	switch {
	case errors.Is(err, plan.ErrMoved):
		return writeMoved
	case fleet.CodeOf(err) == "":
		return writeDone
	case fleet.CodeOf(err) == fleet.CodeRejected:
		return writeRejected
	}
	return writeUnknown
}

// isDefinite reports whether err means that the daemon did not do what it was told. After any other error the daemon
// may have done it: for example, a daemon that restarts may close the connection before it answers.
func isDefinite(err error) bool {
	return err != nil && (fleet.CodeOf(err) != fleet.CodeUnavailable || errors.Is(err, fleet.ErrNotSaved))
}

// retrying repeats a call until it succeeds, ctx ends, or the next call would come later than patience after the
// first. It returns the error of the last call.
func retrying(ctx context.Context, patience time.Duration, call func() error) error {
	until := time.Now().Add(patience)
	for pause := firstRetry; ; pause = min(2*pause, longestRetry) {
		err := call()
		if err == nil || ctx.Err() != nil || time.Now().Add(pause).After(until) {
			return err
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
}

// belongsToDevice reports whether an error concerns one device only. Work on many devices then goes on with the
// others.
func belongsToDevice(err error) bool {
	if errors.Is(err, errNeverRead) {
		return true
	}
	switch fleet.CodeOf(err) {
	case fleet.CodeInvalid, fleet.CodeTooLarge, fleet.CodeMalformed, fleet.CodeUnbelievable, fleet.CodeNotFound:
		return true
	}
	return false
}

// refuse returns the error for a person whose request r cannot be carried out because of why. It returns nil if r is
// nil: then no person waits for the pass.
func refuse(r *request, why string) error {
	if r == nil {
		return nil
	}
	return &fleet.Error{Code: fleet.CodeConflict, During: "apply plan", Message: why,
		Hint: "The state of the device says what to do about that."}
}

func conflict(why, next string) error {
	return &fleet.Error{Code: fleet.CodeConflict, Message: why, Hint: next}
}

// during wraps an error with what was being done. It returns nil for nil.
func during(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}
