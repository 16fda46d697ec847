package httpapi

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"muster/api"
	"muster/internal/fleet"
	"muster/internal/logkey"
)

// retryAfter is how long a client that was refused for now shall wait, in seconds.
const retryAfter = "5"

// statusError is an error about HTTP itself, for which the vocabulary has no code.
type statusError struct {
	status int
	says   fleet.Error
}

func (e *statusError) Error() string { return e.says.Error() }

// statusOf maps codes to statuses, here and nowhere else. Failures of a daemon that reach a client are ours to the
// client: the service cannot do it now.
var statusOf = map[fleet.Code]int{
	fleet.CodeInternal:     http.StatusInternalServerError,
	fleet.CodeMalformed:    http.StatusBadRequest,
	fleet.CodeUnauthorized: http.StatusUnauthorized,
	fleet.CodeForbidden:    http.StatusForbidden,
	fleet.CodeNotFound:     http.StatusNotFound,
	fleet.CodeConflict:     http.StatusConflict,
	fleet.CodePrecondition: http.StatusPreconditionFailed,
	fleet.CodeTooLarge:     http.StatusRequestEntityTooLarge,
	fleet.CodeInvalid:      http.StatusUnprocessableEntity,
	fleet.CodeUnsupported:  http.StatusUnprocessableEntity,
	fleet.CodeTooMany:      http.StatusTooManyRequests,
	fleet.CodeUnavailable:  http.StatusServiceUnavailable,
	fleet.CodeRejected:     http.StatusServiceUnavailable,
	fleet.CodeKeyRefused:   http.StatusServiceUnavailable,
	fleet.CodeWrongDevice:  http.StatusServiceUnavailable,
	fleet.CodeWrongPin:     http.StatusServiceUnavailable,
	fleet.CodeUnconfirmed:  http.StatusServiceUnavailable,
	fleet.CodeUnbelievable: http.StatusServiceUnavailable,
}

// hintOf is what a person can do about a status when the error itself does not say.
var hintOf = map[int]string{
	http.StatusBadRequest:            "Correct the body and send it again; " + Prefix + "/openapi.json describes it.",
	http.StatusNotFound:              "Look at the list it should be in.",
	http.StatusConflict:              "Read the current state, then try again.",
	http.StatusRequestEntityTooLarge: "Send less: all together at most 4 MiB, the text of a template at most 1 MiB.",
	http.StatusUnprocessableEntity:   "Correct what is named and send it again.",
	http.StatusTooManyRequests:       "Wait a few seconds, then try again.",
	http.StatusServiceUnavailable:    "Try again in a few seconds.",
}

// fail writes an error as a problem document. What is no *fleet.Error, or an internal one, is logged and not sent.
func (s *server) fail(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, context.Canceled) && r.Context().Err() != nil {
		return // the client is gone
	}
	status, e := Classify(err)
	hint := e.Hint
	if hint == "" {
		hint = hintOf[status]
		if status == http.StatusBadRequest && e.See.Subject == "" {
			described := *e
			described.See = fleet.Reference{Subject: fleet.SeeAPI}
			e = &described
		}
	}
	if status == http.StatusInternalServerError {
		number := strings.ToLower(rand.Text()[:8])
		s.log.Error("request failed", logkey.Method, r.Method, logkey.Path, r.URL.Path, "request", number, "err", err)
		e = &fleet.Error{Code: fleet.CodeInternal, Message: "something went wrong inside Muster"}
		hint = "Try again. If it stays, look for " + number + " in the server's log."
	}
	if begun(w) {
		return
	}
	s.writeProblem(w, r, status, e, hint)
}

// Classify finds the status of an error and what to say about it.
func Classify(err error) (int, *fleet.Error) {
	var he *statusError
	if errors.As(err, &he) {
		return he.status, &he.says
	}
	var e *fleet.Error
	if errors.As(err, &e) {
		if status, ok := statusOf[e.Code]; ok {
			return status, e
		}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return http.StatusServiceUnavailable, &fleet.Error{Code: fleet.CodeUnavailable, Message: "that took too long"}
	}
	return http.StatusInternalServerError, &fleet.Error{Code: fleet.CodeInternal}
}

func (s *server) writeProblem(w http.ResponseWriter, r *http.Request, status int, e *fleet.Error, hint string) {
	code := string(e.Code)
	if code == "" {
		code = strings.ToLower(strings.ReplaceAll(http.StatusText(status), " ", "_"))
	}
	detail := e.Message
	if detail == "" {
		detail = http.StatusText(status)
	}
	body, err := encode(api.Problem{
		Type: "urn:muster:problem:" + code, Title: http.StatusText(status), Status: status,
		Detail: detail, Hint: hint, See: wireSee(e.See), Errors: problemDetails(e.Details), Traceback: e.Traceback,
		AllowFailing: e.Allowable,
	})
	if err != nil {
		s.log.Error("problem not encoded", logkey.Err(err))
	}
	header := w.Header()
	switch status {
	case http.StatusUnauthorized:
		header.Set("WWW-Authenticate", `Bearer realm="muster"`)
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		after := retryAfter
		if e.RetryAfter > 0 {
			after = strconv.Itoa(int(e.RetryAfter.Seconds()))
		}
		header.Set("Retry-After", after)
	case http.StatusRequestEntityTooLarge:
		header.Set("Connection", "close") // the rest of the body is not read
	}
	header.Set("Content-Type", api.ProblemType)
	header.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // a client that is gone needs no answer
	}
}

func wireSee(see fleet.Reference) *api.ProblemSubject {
	if see.Subject == "" {
		return nil
	}
	return &api.ProblemSubject{Subject: string(see.Subject), ID: see.ID, Says: saysOf[see.Subject]}
}

// problemDetails tells fields of the body from places elsewhere in the request, which are written "path.NAME" and so
// on, or "query" for all of it.
func problemDetails(details []fleet.Detail) []api.ProblemDetail {
	out := make([]api.ProblemDetail, len(details))
	for i, d := range details {
		out[i] = api.ProblemDetail{Field: d.Field, Line: d.Line, Column: d.Column, Message: d.Message}
		place, _, below := strings.Cut(d.Field, ".")
		if place == "query" || below && (place == "path" || place == "header") {
			out[i].Field, out[i].Location = "", d.Field
		}
	}
	return out
}

// inside sets the place in the body, such as "templates.new.0", of an error about an object in the body.
func inside(field string, err error) error {
	var e *fleet.Error
	if !errors.As(err, &e) {
		return err
	}
	moved := *e
	moved.Details = make([]fleet.Detail, len(e.Details))
	for i, d := range e.Details {
		d.Field = strings.TrimSuffix(field+"."+d.Field, ".")
		moved.Details[i] = d
	}
	return &moved
}

// at moves an error about a single value to where in the request it stands: "path.deviceID".
func at(place string, err error) error {
	var e *fleet.Error
	if !errors.As(err, &e) {
		return err
	}
	moved := *e
	moved.Details = make([]fleet.Detail, len(e.Details))
	for i, d := range e.Details {
		d.Field = place
		moved.Details[i] = d
	}
	return &moved
}
