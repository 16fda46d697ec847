package mirror

import (
	"time"

	"muster/internal/fleet"
)

const (
	// restartBegins is how long after Muster's write the API may start to be away. The daemon first answers the open
	// polls with two events, the second one after 5 s.
	restartBegins = 15 * time.Second
	// restartWindow is how long after the write the API may still be away. The back-off of a supervisor takes up to 18 s
	// of it.
	restartWindow     = time.Minute
	firstRestartPause = 250 * time.Millisecond
	lastRestartPause  = 2 * time.Second
)

const (
	reasonRestarting = "its API is restarting because Muster changed its gui settings"
	nextRestarting   = "It is followed again as soon as it answers."
)

// expectRestart records that a write is about to restart the API of the device. While the API is away, for at most
// restartWindow, the device counts as online. The caller calls cancel if the daemon rejected the write.
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

// covers reports whether an absence of the API at this moment is expected. restarting says whether the API was found
// to be away already.
func (e expectation) covers(restarting bool) bool {
	within := restartBegins
	if restarting {
		within = restartWindow
	}
	return time.Since(e.at) < within
}

// mayBegin returns for how long the expected restart may still begin. It is 0 or less when no restart can follow.
func (e expectation) mayBegin() time.Duration { return restartBegins - time.Since(e.at) }

// untilRestartEnds returns how long the next poll may last. While the API is shown as restarting, the answer that shows
// that it is back must not take as long as a quiet daemon's answer.
func (w *watcher) untilRestartEnds() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.snapshot.Load().Restarting {
		return pollWait
	}
	return max(time.Second, w.restart.mayBegin())
}

// awaitsRestart reports whether err is the expected effect of a restart. If so, it marks the device as restarting. An
// answer of a different device, or behind a different certificate, is never expected. wait is the pause before the
// next attempt.
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

// inheritRestart copies the expectation from old, the device's former watcher, which was replaced because the record
// got the new API key. s is the new watcher's first snapshot. If the address or port changed, it copies nothing,
// because they lead to a different API.
func (w *watcher) inheritRestart(old *watcher, s *Snapshot) {
	if w.device.APIAddress != old.device.APIAddress || w.device.APIPort != old.device.APIPort {
		return
	}
	old.mu.Lock()
	w.restart = expectation{at: old.restart.at} // otherKey stays false: the record has the new key now.
	old.mu.Unlock()
	if last := old.snapshot.Load(); last.Connection == fleet.Online && w.restart.covers(last.Restarting) {
		s.Connection, s.Restarting, s.Reason, s.Next = fleet.Online, true, reasonRestarting, nextRestarting
	}
}

// answeredAgain records that the API is back. If this contact started before the last write that restarts the API,
// answeredAgain does nothing while that restart may still begin. The caller holds mu.
func (w *watcher) answeredAgain(s *Snapshot) Aspect {
	if !w.contactBegan.After(w.restart.at) && w.restart.mayBegin() > 0 {
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

// restartPause returns the pause before the next attempt to reach an API that is restarting. attempts is how many
// there were.
func restartPause(attempts int) time.Duration {
	return min(firstRestartPause<<min(attempts, 10), lastRestartPause)
}
