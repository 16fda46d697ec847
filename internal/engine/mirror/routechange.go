package mirror

import (
	"context"
	"errors"

	"muster/internal/fleet"
)

// errRouteChanged ends a visit because the daemon is to be reached by another route.
var errRouteChanged = errors.New("the daemon is reached by another route now")

// RouteChanged has a watcher find its daemon anew, as after a broken connection, and without a pause. A session that
// writes to the daemon goes on as it began: the route changes after it.
func (m *Mirror) RouteChanged(id fleet.DeviceID) {
	if w := m.watcher(id); w != nil {
		w.changeRoute()
		m.Retry(id)
	}
}

// changeRoute ends the visit under way, or has it end as soon as no session holds the watcher.
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

// beforeOtherRoute waits until no session writes to the daemon, where the route to it is about to change between its
// agent and a direct connection.
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

// agent is the address of the agent by which the daemon is reached; "" where it is reached directly.
func (w *watcher) agent() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.daemon == nil || w.target.Introduced != fleet.ByAgent {
		return ""
	}
	return w.target.Address
}
