package mirror

import (
	"context"
	"time"

	"muster/internal/fleet"
	"muster/internal/stconfig"
)

// longestHold is how long a watcher waits for a caller that changes the configuration.
const longestHold = 5 * time.Second

// hold says that a caller changes the configuration and reads it back through a Session. What events announce
// meanwhile is read only when that is over, and only if what was read back is older. One at a time for each device. It
// is an error where another connection than the caller's leads to the daemon by now.
func (w *watcher) hold(d Daemon) (release func(), err error) {
	held := make(chan struct{})
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.daemon != d {
		return nil, &fleet.Error{Code: fleet.CodeUnavailable, Message: "the daemon is contacted in another way now",
			Hint: "Muster tries again by itself."}
	}
	w.held = held
	return func() {
		w.mu.Lock()
		if w.held == held {
			w.held = nil
			close(held)
			if w.moved && w.visiting != nil {
				w.visiting(errMoved)
			}
		}
		w.mu.Unlock()
	}, nil
}

// Held tells whether a Session of a device changes the configuration.
func (m *Mirror) Held(id fleet.DeviceID) bool {
	w := m.watcher(id)
	if w == nil {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.held != nil
}

// isRead waits until no session holds the watcher, for a while, and tells whether the configuration that was saved is
// the one that was read last, or whether it was read after since. Daemons announce every change twice, and what Muster
// changes it has read back.
func (w *watcher) isRead(ctx context.Context, saved stconfig.TextSum, since time.Time) bool {
	w.mu.Lock()
	held := w.held
	w.mu.Unlock()
	if held != nil {
		untilReleased(ctx, held)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return saved != stconfig.TextSum{} && saved == w.configSum || held != nil && w.configBegan.After(since)
}

func untilReleased(ctx context.Context, held <-chan struct{}) {
	limit := time.NewTimer(longestHold)
	defer limit.Stop()
	select {
	case <-held:
	case <-limit.C:
	case <-ctx.Done():
	}
}
