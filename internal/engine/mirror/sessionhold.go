package mirror

import (
	"context"
	"time"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// longestHold is the longest time that a watcher waits for the end of a session that changes the configuration.
const longestHold = 5 * time.Second

// hold marks the watcher as held by a Session, which changes the configuration and reads it back. While it is held,
// the watcher postpones the readings that events announce; it skips them if the session has read a newer
// configuration. hold returns an error if the watcher has another Daemon than d by now.
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

// isRead reports whether the configuration that the daemon announced as saved was read already: its text was read
// last, or the session that was open started to read the configuration after the time `since`. isRead first waits, at
// most longestHold, for the end of an open session. This saves readings, because daemons announce every change twice,
// and a session reads back what it changed.
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
