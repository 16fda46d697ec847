package agent

import (
	"context"
	"time"
)

const (
	clockEvery = 5 * time.Second
	sleptFor   = 20 * time.Second
)

// watchSleep detects that the machine slept, because the wall clock advanced much further than the monotonic clock,
// and puts a token into a.woke. A connection from before the sleep may look alive for long although it is dead.
func (a *Agent) watchSleep(ctx context.Context) {
	ticker := time.NewTicker(clockEvery)
	defer ticker.Stop()
	before := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := time.Now()
		if slept(now.Sub(before), now.Round(0).Sub(before.Round(0))) {
			select {
			case a.woke <- struct{}{}:
			default:
			}
		}
		before = now
	}
}

// slept reports whether the wall clock advanced much further than the monotonic clock.
func slept(program, wall time.Duration) bool { return wall-program > sleptFor }
