package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"muster/client"
	"muster/internal/fleet"
)

// Exit codes. Scripts may rely on them.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitRefused     = 3 // refused, or something waits for a person
	exitUnreachable = 4 // no server answers
	exitDiffers     = 5 // the plan has changes

	exitInterrupted = 130 // the code of shells for Ctrl-C
)

// exitCode ends a command whose output is complete with a code other than 0.
type exitCode int

func (c exitCode) Error() string { return fmt.Sprintf("exit code %d", int(c)) }

// failure is an error with the reason, as a problem of the API has it, and an exit code that the reason alone would not
// have.
type failure struct {
	reason *fleet.Error
	code   int
}

func (f failure) Error() string { return f.reason.Error() }
func (f failure) Unwrap() error { return f.reason }

// failed is what was carried out and did not succeed, or not everywhere.
func failed(message string) error {
	return failure{&fleet.Error{Code: fleet.CodeConflict, Message: message}, exitFailed}
}

// codeFor is the exit code of an error.
func codeFor(err error) int {
	var code exitCode
	var outcome failure
	var answer *client.Error
	var unreachable *client.Unreachable
	var e *fleet.Error
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.As(err, &code):
		return int(code)
	case errors.As(err, &outcome):
		return outcome.code
	case errors.As(err, &unreachable):
		return exitUnreachable
	case errors.As(err, &answer):
		if answer.Status >= http.StatusInternalServerError {
			return exitFailed
		}
		return exitRefused
	case !errors.As(err, &e), e.Code == fleet.CodeInternal:
		return exitFailed
	case e.Code == fleet.CodeInvalid, e.Code == fleet.CodeMalformed:
		return exitUsage
	}
	return exitRefused
}
