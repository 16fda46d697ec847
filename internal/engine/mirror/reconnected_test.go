package mirror

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"muster/internal/fleet"
)

// redial is another connection to the daemon, by a read between two polls.
func (f *fake) redial() {
	f.mu.Lock()
	f.redialled = true
	f.mu.Unlock()
}

func TestAnotherConnectionToTheSameDaemonCostsOneStatus(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		f := newFake(1, "a")
		d := w.put(1, f)
		pass(statusEvery)
		f.take()
		f.redial()
		f.emit(fleet.DaemonEvent{Type: "ConfigSaved"})
		pass(10 * time.Second)
		wantCalls(t, f.take(), "config", "events since 1 limit 250 wait 50s", "status", "events since 1 limit 250 wait 50s")
		w.wantConnection(d, fleet.Online)
	})
}

func TestAnotherConnectionToADaemonThatWasStartedAgainBeginsAnew(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		f := newFake(1, "a")
		d := w.put(1, f)
		before := w.snapshot(d).Digest
		f.emit(fleet.DaemonEvent{Type: "ConfigSaved"})
		pass(10 * time.Second)
		f.redial()
		f.emit(fleet.DaemonEvent{Type: "StateChanged"})
		synctest.Wait() // the poll has ended, and the next one waits for gatherTime
		f.restart("second")
		f.change()
		pass(time.Second)
		if s := w.wantConnection(d, fleet.Online); s.Status.StartTime != "second" || s.Digest == before {
			t.Errorf("after a second its start is %q", s.Status.StartTime)
		}
	})
}

// The answer about a folder ended each connection, and each new connection began with a request for the same answer:
// the daemon was unreachable nearly all of the time.
func TestADaemonWithAFolderThatCannotBeReadIsFollowed(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		f := newFake(1, "a")
		f.tooLarge = "a"
		d := w.put(1, f)
		pass(10 * time.Second)
		w.wantConnection(d, fleet.Online)
		for range 4 {
			f.take()
			pass(statusEvery)
			s := w.wantConnection(d, fleet.Online)
			if calls := f.take(); slices.Contains(calls, "version") || !slices.Contains(calls, "summary a") {
				t.Errorf("a minute asks %q, want the folder once more and no first contact", calls)
			}
			if len(s.Summaries) > 0 {
				t.Errorf("a folder that cannot be read shows %v", s.Summaries)
			}
		}
	})
}

// A daemon that leads every call over another connection is not asked without end.
func TestADaemonThatKeepsNoConnectionIsLost(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		f := newFake(1)
		f.redialsAlways = true
		d := w.put(1, f)
		synctest.Wait()
		w.wantConnection(d, fleet.Unreachable)
	})
}
