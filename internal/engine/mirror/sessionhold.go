package mirror

import (
	"context"
	"time"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// longestHold is how long a watcher waits for a caller that changes the configuration.
const longestHold = 5 * time.Second

// hold notes that a Session changes the configuration and reads it back. The watcher reads what events announce only
// after the session is closed, and only if the session read nothing newer. Each device has one session at a time. hold
// is an error when the watcher has another connection to the daemon than the session was opened from.
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
			if w.routeChanged && w.visiting != nil {
				w.visiting(errRouteChanged)
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

// isRead tells whether the configuration that the daemon saved was read already: it is the one that was read last, or a
// session read the daemon after since. It waits for the session that holds the watcher, but not for long. Daemons
// announce every change twice, and a session reads back what it changed.
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
