package mirror

import (
	"context"
	"time"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// longestHold is how long a watcher waits for a session that changes the configuration.
const longestHold = 5 * time.Second

// hold marks the watcher as held by a Session that changes the configuration and reads it back. While it is held, the
// watcher postpones the readings that events announce, and skips them when the session has read a newer configuration.
// hold returns an error when the watcher has reconnected since the session was opened.
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

// Held reports whether a Session of a device is open.
func (m *Mirror) Held(id fleet.DeviceID) bool {
	w := m.watcher(id)
	if w == nil {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.held != nil
}

// isRead reports whether the configuration that the daemon saved was already read: its text was read last, or a
// session read the daemon after since. It waits for an open session, for longestHold at most. It saves readings,
// because daemons announce every change twice, and a session reads back what it changed.
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
