package mirror

import (
	"context"
	"errors"

	"muster/internal/fleet"
)

// errRouteChanged ends a visit because the daemon must be reached by a different route: by its agent instead of
// directly, or the reverse.
var errRouteChanged = errors.New("the daemon is reached by another route now")

// RouteChanged makes a watcher connect to its daemon anew without a pause. While a session is open, it waits for the
// end of the session.
func (m *Mirror) RouteChanged(id fleet.DeviceID) {
	if w := m.watcher(id); w != nil {
		w.changeRoute()
		m.Retry(id)
	}
}

// changeRoute ends the present visit, at once or as soon as no session holds the watcher.
func (w *watcher) changeRoute() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.visiting == nil {
		return
	}
	if w.held != nil {
		w.routeChanged = true
		return
	}
	w.visiting(errRouteChanged)
}

func (w *watcher) beginVisit(cancel context.CancelCauseFunc) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.visiting, w.routeChanged = cancel, false
}

func (w *watcher) endVisit() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.visiting = nil
}

// beforeOtherRoute waits for the end of an open session if found leads to the daemon by another route (agent or
// direct) than the present one.
func (w *watcher) beforeOtherRoute(ctx context.Context, found Found) error {
	w.mu.Lock()
	held, byAgent, isOther := w.held, found.Agent != "", false
	if w.daemon != nil {
		isOther = byAgent != (w.target.Introduced == fleet.ByAgent)
	}
	w.mu.Unlock()
	if held == nil || !isOther {
		return nil
	}
	select {
	case <-held:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// agent returns the address of the agent by which the daemon is reached; "" if it is reached directly.
func (w *watcher) agent() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.daemon == nil || w.target.Introduced != fleet.ByAgent {
		return ""
	}
	return w.target.Address
}
