package agent

import (
	"context"
	"time"
)

const (
	clockEvery = 5 * time.Second
	sleptFor   = 20 * time.Second
)

// watchSleep notices that the machine slept: the wall clock went on while this program's did not. A connection of
// before may look alive for long.
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

// slept tells whether the wall clock went on much further than this program's.
func slept(program, wall time.Duration) bool { return wall-program > sleptFor }
