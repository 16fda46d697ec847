package mirror

import (
	"time"

	"muster/internal/fleet"
)

const (
	restartBegins     = 15 * time.Second // after what Muster sent: two events, the later after 5 s, end the polls before
	restartWindow     = time.Minute      // for the API to come back; a supervisor's back-off takes up to 18 s of it
	firstRestartPause = 250 * time.Millisecond
	lastRestartPause  = 2 * time.Second
)

const (
	reasonRestarting = "its API is restarting because Muster changed its gui settings"
	nextRestarting   = "It is followed again as soon as it answers."
)

// expectRestart notes that the API of the device is about to restart because of a write. The device counts as online
// while its API is away, for restartWindow at most. cancel takes the expectation back, when the write changed nothing.
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
	at       time.Time // when Muster sent the write that restarts it
	otherKey bool      // the API may have another key already, which the device's record gets in a moment
}

// covers tells whether a daemon that is away now is away as expected.
func (e expectation) covers(restarting bool) bool {
	within := restartBegins
	if restarting {
		within = restartWindow
	}
	return time.Since(e.at) < within
}

// awaitsRestart tells whether the watcher lost its daemon as expected, and notes that its API is restarting. An answer
// of another device, or behind another certificate, is never expected.
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

// inheritRestart goes on waiting for the restart that the device's former watcher waited for. The watcher was replaced
// because the record got the new API key. A device with another address or port has another API: nothing is inherited.
func (w *watcher) inheritRestart(old *watcher, s *Snapshot) {
	if w.device.APIAddress != old.device.APIAddress || w.device.APIPort != old.device.APIPort {
		return
	}
	old.mu.Lock()
	w.restart = expectation{at: old.restart.at} // the record has the key now: it is taken, or wrong
	old.mu.Unlock()
	if last := old.snapshot.Load(); last.Connection == fleet.Online && w.restart.covers(last.Restarting) {
		s.Connection, s.Restarting, s.Reason, s.Next = fleet.Online, true, reasonRestarting, nextRestarting
	}
}

// answeredAgain notes that the API is back, unless it was told to restart once more meanwhile. The caller holds mu.
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

// restartPause is the pause before another attempt to reach an API that is restarting.
func restartPause(attempts int) time.Duration {
	return min(firstRestartPause<<min(attempts, 10), lastRestartPause)
}
