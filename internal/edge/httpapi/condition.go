package httpapi

import (
	"strings"

	"muster/internal/fleet"
)

type comparison bool

const (
	weakly   comparison = false // W/"a" is "a": enough to read
	strongly comparison = true  // W/ never matches: needed to write
)

// anyMatch reports whether a header's entity tags contain etag or "*". The tag of the compressed form counts as well.
func anyMatch(values []string, etag string, how comparison) bool {
	for _, tag := range strings.Split(strings.Join(values, ","), ",") {
		tag = plainETag(strings.TrimSpace(tag))
		if tag == "*" || tag == etag || how == weakly && strings.TrimPrefix(tag, "W/") == etag {
			return true
		}
	}
	return false
}

func (r *request) hasCondition() bool {
	return len(r.Header.Values("If-Match")) > 0 || len(r.Header.Values("If-None-Match")) > 0
}

// meets checks If-Match and If-None-Match of a write against the stored object. shown encodes the object as a reader
// with this role would see it. meets runs inside the write's transaction.
func (r *request) meets(exists bool, shown func() ([]byte, error)) error {
	etag := ""
	if exists {
		body, err := shown()
		if err != nil {
			return err
		}
		etag = etagOf(body)
	}
	if match := r.Header.Values("If-Match"); len(match) > 0 && (!exists || !anyMatch(match, etag, strongly)) {
		if !exists {
			return &fleet.Error{
				Code: fleet.CodePrecondition, See: fleet.Reference{Subject: fleet.SeeAPI},
				Message: "there is nothing to replace: it does not exist, or not any more",
				Hint:    "Leave out If-Match to create it.",
			}
		}
		return &fleet.Error{
			Code: fleet.CodePrecondition, See: fleet.Reference{Subject: fleet.SeeAPI},
			Message: "it was changed since you read it",
			Hint:    "Read it again, carry your change over, and send it with the new ETag in If-Match.",
		}
	}
	if none := r.Header.Values("If-None-Match"); len(none) > 0 && exists && anyMatch(none, etag, weakly) {
		return &fleet.Error{
			Code: fleet.CodePrecondition, See: fleet.Reference{Subject: fleet.SeeAPI},
			Message: "it exists already",
			Hint:    "Leave out If-None-Match to replace it.",
		}
	}
	return nil
}

// condition returns a check of the request's If-Match and If-None-Match, or nil when the request has neither. shown
// returns the form of the object from which the client's ETag was computed; nil means that the object does not exist.
func condition[T any](r *request, shown func(T) any) func(current T) error {
	if !r.hasCondition() {
		return nil
	}
	return func(current T) error {
		body := shown(current)
		return r.meets(body != nil, func() ([]byte, error) { return encode(body) })
	}
}
