package fleet

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Code says what kind of failure an Error is. It decides the HTTP status and the exit code of the CLI, and for
// failures of a daemon the connection state.
type Code string

const (
	CodeInternal     Code = "internal"          // 500; the text stays inside
	CodeMalformed    Code = "malformed"         // 400 not JSON, wrong JSON type
	CodeUnauthorized Code = "unauthorized"      // 401
	CodeForbidden    Code = "forbidden"         // 403
	CodeNotFound     Code = "not_found"         // 404
	CodeConflict     Code = "conflict"          // 409
	CodePrecondition Code = "precondition"      // 412
	CodeTooLarge     Code = "too_large"         // 413
	CodeInvalid      Code = "invalid"           // 422 understood but not valid
	CodeTooMany      Code = "too_many"          // 429
	CodeUnavailable  Code = "unavailable"       // 503; of a daemon: not reached
	CodeUnsupported  Code = "unsupported"       // 422; of a daemon: too old to manage
	CodeRejected     Code = "rejected"          // a daemon answered a write with 4xx: repeating it is useless
	CodeKeyRefused   Code = "key_refused"       // a daemon did not take our API key
	CodeWrongDevice  Code = "identity_mismatch" // another daemon answers at the address
	CodeWrongPin     Code = "pin_mismatch"      // another certificate than the pinned one
	CodeUnconfirmed  Code = "unconfirmed"       // a certificate that a person has to confirm first
	CodeUnbelievable Code = "unbelievable"      // a daemon's answer breaks a limit or makes no sense
)

// Error is the one error that carries meaning across packages. Any other error is internal.
type Error struct {
	Code       Code
	During     string        // the work that failed: "apply plan"
	Message    string        // text for the person; no secrets, no paths of the server
	Hint       string        // next step for the person; may be empty
	See        Reference     // What the hint names by a path of the API, for those who use another way; may be zero.
	Details    []Detail      // the fields, or the places in a text, that are wrong
	Traceback  string        // traceback of a Starlark program; may be empty
	Allowable  bool          // The same request with allowFailing is not refused for this.
	RetryAfter time.Duration // too_many, unavailable: time until the next try; 0: a few seconds
	Err        error         // cause: logged, never sent
}

// ErrOldAgent is in the error about a request that a device's agent is too old to let through.
var ErrOldAgent = errors.New("the device's agent is too old for the request")

// Detail is one thing wrong with an input: a field of a body, or a place in a template's text.
type Detail struct {
	Field   string // JSON name, "" when the text as a whole is meant
	Line    int    // 1-based, 0 when there is none
	Column  int    // 1-based, in characters, 0 when there is none
	Message string
}

func (e *Error) Error() string {
	var parts []string
	for _, part := range []string{e.During, e.Message} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	text := strings.Join(parts, ": ")
	switch {
	case e.Err == nil || text != "" && strings.HasSuffix(text, e.Err.Error()): // a message may quote its cause
		return text
	case text == "":
		return e.Err.Error()
	}
	return text + ": " + e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// CodeOf returns the code of the first *Error in err's chain, CodeInternal when there is none, and "" for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return CodeInternal
}

// Reason returns the message of an error, which a person may read. It never includes the cause, because a cause may
// quote a request, a path or a secret. Every reply, state, event, rollout and notification gets its text here.
func Reason(err error) string {
	var e *Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &e) && e.Code != CodeInternal && e.Message != "":
		return e.Message
	case e != nil && e.Code != CodeInternal && e.Err != nil:
		return Reason(e.Err)
	case errors.Is(err, context.DeadlineExceeded):
		return "it took too long"
	}
	return "an internal error; the server's log has it"
}

// ShortReason bounds Reason, for texts that thousands of devices may each have.
func ShortReason(err error) string {
	const most = 500 // bytes
	text := Reason(err)
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// ErrNotKept is the cause of an error about a mode that is in force but could not be stored, so that a restart would
// lose it.
var ErrNotKept = errors.New("in force, not kept")

// Invalidf is an error about one field of an input.
func Invalidf(field, format string, args ...any) *Error {
	message := fmt.Sprintf(format, args...)
	return &Error{Code: CodeInvalid, Message: message, Details: []Detail{{Field: field, Message: message}}}
}

// InvalidWord returns the error for a word that a field does not take. It names the nearest of them.
func InvalidWord(field, word, message string, known []string) *Error {
	err := Invalidf(field, "%s", message)
	if near := Nearest(word, known); near != "" {
		err.Hint = fmt.Sprintf("Did you mean %s?", near)
	}
	return err
}

// NotFoundf returns the error for something that does not exist.
func NotFoundf(format string, args ...any) *Error {
	return &Error{Code: CodeNotFound, Message: fmt.Sprintf(format, args...)}
}

// ErrNoMemory ends work that needs more memory than other work has left.
var ErrNoMemory = errors.New("other templates take the memory that there is for large ones")
