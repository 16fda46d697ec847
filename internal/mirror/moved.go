package mirror

import (
	"context"
	"errors"

	"muster/internal/fleet"
)

// errMoved ends a visit because the daemon is to be reached in another way.
var errMoved = errors.New("the daemon is reached in another way now")

// Moved has a watcher find its daemon anew, as after a broken connection, and without a pause. A session that writes to
// the daemon goes on as it began: the way changes after it.
func (m *Mirror) Moved(id fleet.DeviceID) {
	if w := m.watcher(id); w != nil {
		w.move()
		m.Retry(id)
	}
}

func (w *watcher) move() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.visiting == nil {
		return
	}
	if w.held != nil {
		w.moved = true
		return
	}
	w.visiting(errMoved)
}

func (w *watcher) beginVisit(cancel context.CancelCauseFunc) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.visiting, w.moved = cancel, false
}

func (w *watcher) endVisit() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.visiting = nil
}

// beforeOtherWay waits until no session writes to the daemon, where the daemon was reached in another way until now.
func (w *watcher) beforeOtherWay(ctx context.Context, found Found) error {
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

// agent is from where the agent connected by which the daemon is reached; "" where it is reached directly.
func (w *watcher) agent() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.daemon == nil || w.target.Introduced != fleet.ByAgent {
		return ""
	}
	return w.target.Address
}
