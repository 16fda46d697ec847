package httpapi

import (
	"context"

	"muster/internal/fleet"
)

type withoutStreams struct{}

// WithoutStreams marks the requests of a connection that has to end soon, because there are few left.
func WithoutStreams(ctx context.Context) context.Context {
	return context.WithValue(ctx, withoutStreams{}, true)
}

// MayStream refuses an event stream on a connection that has to end soon.
func MayStream(ctx context.Context) error {
	if ctx.Value(withoutStreams{}) == nil {
		return nil
	}
	return &fleet.Error{
		Code: fleet.CodeUnavailable, Message: "too many connections are open for another event stream",
		Hint: "Close some, or raise the limit of open files of the server (`ulimit -n`, LimitNOFILE).",
	}
}
