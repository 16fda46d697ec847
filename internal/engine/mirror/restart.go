package mirror

import (
	"time"

	"muster/internal/fleet"
)

const (
	// restartBegins is how long after Muster's write the API may go away. The daemon first answers the open polls with
	// two events, the second one after 5 s.
	restartBegins = 15 * time.Second
	// restartWindow is how long the API may stay away. The back-off of a supervisor takes up to 18 s of it.
	restartWindow     = time.Minute
	firstRestartPause = 250 * time.Millisecond
	lastRestartPause  = 2 * time.Second
)

const (
	reasonRestarting = "its API is restarting because Muster changed its gui settings"
	nextRestarting   = "It is followed again as soon as it answers."
)

// expectRestart records that a write is about to restart the API of the device. The device counts as online while its
// API is away, for restartWindow at most. The caller calls cancel when the daemon rejected the write.
func (w *watcher) expectRestart() (cancel func()) {
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.restart
	w.restart = expectation{at: now, otherKey: true}
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.restart.at.Equal(now) {
			w.restart = before
		}
	}
}

// expectation says that an API is about to restart. The zero value expects nothing.
type expectation struct {
	at       time.Time // the time of the write that restarts the API
	otherKey bool      // the API may have a new key that is not in the device's record yet
}

// covers reports whether the present absence of the API is within the expected time. restarting says that the API has
// already been found to be away.
func (e expectation) covers(restarting bool) bool {
	within := restartBegins
	if restarting {
		within = restartWindow
	}
	return time.Since(e.at) < within
}

// awaitsRestart reports whether the error is the expected effect of a restart, and then marks the device as
// restarting. An answer of a different device, or behind a different certificate, is never expected. wait is the pause
// before the next attempt.
func (w *watcher) awaitsRestart(err error, wait time.Duration) (expected bool) {
	state, _, _ := explain(err)
	w.update(func(s *Snapshot) Aspect {
		silent := state == fleet.Unreachable || state == fleet.KeyRefused && w.restart.otherKey
		expected = silent && s.Connection == fleet.Online && w.restart.covers(s.Restarting)
		if !expected || s.Restarting {
			return 0
		}
		s.Restarting, s.NextTry = true, time.Now().Add(wait)
		s.Reason, s.Next = reasonRestarting, nextRestarting
		return ConnectionChanged
	})
	return expected
}

// inheritRestart takes over the expectation of the device's former watcher, which was replaced because the record got
// the new API key. It takes over nothing when the address or port changed, because that leads to a different API.
func (w *watcher) inheritRestart(old *watcher, s *Snapshot) {
	if w.device.APIAddress != old.device.APIAddress || w.device.APIPort != old.device.APIPort {
		return
	}
	old.mu.Lock()
	w.restart = expectation{at: old.restart.at} // otherKey is false: the record has the new key, so a refusal is real.
	old.mu.Unlock()
	if last := old.snapshot.Load(); last.Connection == fleet.Online && w.restart.covers(last.Restarting) {
		s.Connection, s.Restarting, s.Reason, s.Next = fleet.Online, true, reasonRestarting, nextRestarting
	}
}

// answeredAgain records that the API is back. It does nothing when this contact began before the last write that
// restarts the API, because the restart may still be ahead. The caller holds mu.
func (w *watcher) answeredAgain(s *Snapshot) Aspect {
	if !w.contactBegan.After(w.restart.at) {
		return 0
	}
	w.restart = expectation{}
	if !s.Restarting {
		return 0
	}
	s.Restarting, s.NextTry = false, time.Time{}
	s.Reason, s.Next = reasonConnected, nextConnected
	return ConnectionChanged
}

// restartPause returns the pause before the next attempt to reach an API that is restarting.
func restartPause(attempts int) time.Duration {
	return min(firstRestartPause<<min(attempts, 10), lastRestartPause)
}
