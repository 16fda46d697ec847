package syncthing

import (
	"context"
	"time"
)

// measured reports the duration and the result of each request. It skips requests that the caller ended, because they
// say nothing about the daemon.
func measured(do func(context.Context, *call) ([]byte, error),
	report func(during string, took time.Duration, err error)) func(context.Context, *call) ([]byte, error) {
	if report == nil {
		return do
	}
	return func(ctx context.Context, k *call) ([]byte, error) {
		began := time.Now()
		body, err := do(ctx, k)
		if ctx.Err() == nil {
			report(k.during, time.Since(began), err)
		}
		return body, err
	}
}
