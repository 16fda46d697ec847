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

// This file decides what follows from the failure of a pass, of a write, or of a call that may be repeated.

const (
	firstPause   = time.Second // pause after a first pass that failed and may succeed later
	longestPause = time.Minute

	firstRetry   = 100 * time.Millisecond // pause between two tries of a call within one pass
	longestRetry = 2 * time.Second
)

// passEnd tells when a device is due again after a pass.
type passEnd int

const (
	dueOnChange passEnd = iota // due when something changes
	failed                     // due after a pause, which grows with each failure
	outOfMemory                // due once memory was freed
)

// endOf returns when a device is due again after a pass that ended with err. r is the person's request of that pass,
// or nil. A change, and a request that ended with conflict or not_found, is not repeated: the person got the error
// and may ask again. An error that is the fault of a template lasts until something changes.
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

// backoff returns the pause after this many failures in a row. It grows from firstPause to longestPause, with jitter
// so that devices that failed together do not come back together.
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
	writeMoved                // The daemon's document has changed: the rest is planned again from what is read back.
	writeUnknown              // The daemon may have done the write: the attempt ends, and the intent is verified.
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

// isDefinite reports whether an error means that the daemon did not do what it was told to. After any other error the
// daemon may have done it: when it restarts, it may close the connection before it answers.
func isDefinite(err error) bool {
	return err != nil && (fleet.CodeOf(err) != fleet.CodeUnavailable || errors.Is(err, fleet.ErrNotSaved))
}

// retrying repeats a call until it succeeds, the time in patience is over, or ctx ended. It returns the last error.
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

// belongsToDevice reports whether an error is about one device only, so that a question about many devices goes on.
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

// refuse returns the error for a person whose apply r cannot be done because of why; nil where r is nil, because
// then nobody waits for the pass.
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
