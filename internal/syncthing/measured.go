package syncthing

import (
	"context"
	"time"
)

// measured reports how long requests take and what came of them. Those that were ended by the caller say nothing
// about the daemon.
func measured(do func(context.Context, call) ([]byte, error),
	report func(during string, took time.Duration, err error)) func(context.Context, call) ([]byte, error) {
	if report == nil {
		return do
	}
	return func(ctx context.Context, k call) ([]byte, error) {
		began := time.Now()
		body, err := do(ctx, k)
		if ctx.Err() == nil {
			report(k.during, time.Since(began), err)
		}
		return body, err
	}
}
