package mirror

import (
	"testing"
	"testing/synctest"
	"time"

	"muster/internal/fleet"
)

func TestAnAPIThatRestartsBecauseOfUsIsNotUnreachable(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		f := newFake(1, "a")
		d := w.put(1, f)
		pass(10 * time.Second)
		since := w.snapshot(d).Since
		w.m.watcher(d).expectRestart()
		f.set("status", errCut)
		f.breakConnection()
		synctest.Wait()
		s := w.wantConnection(d, fleet.Online)
		if !s.Restarting || s.Answers() || s.Reason != reasonRestarting || !s.Since.Equal(since) {
			t.Fatalf("got %+v", s)
		}
		pass(18 * time.Second) // the longest back-off of a daemon's supervisor
		if s := w.wantConnection(d, fleet.Online); !s.Restarting {
			t.Fatalf("got %+v", s)
		}
		f.set("status", nil)
		pass(lastRestartPause)
		if s := w.wantConnection(d, fleet.Online); s.Restarting || !s.Answers() || s.Reason != reasonConnected {
			t.Fatalf("two seconds after it is back: %+v", s)
		}
		f.breakConnection() // this one nobody expects
		synctest.Wait()
		w.wantConnection(d, fleet.Unreachable)
	})
}

func TestAnAPIThatDoesNotComeBackIsUnreachable(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		f := newFake(1)
		d := w.put(1, f)
		w.m.watcher(d).expectRestart()
		f.set("status", errCut)
		f.breakConnection()
		pass(restartWindow + lastRestartPause)
		if s := w.wantConnection(d, fleet.Unreachable); s.Restarting {
			t.Fatalf("got %+v", s)
		}
	})
}

func TestARefusedChangeExpectsNoRestart(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		f := newFake(1)
		d := w.put(1, f)
		w.m.watcher(d).expectRestart()()
		f.breakConnection()
		synctest.Wait()
		w.wantConnection(d, fleet.Unreachable)
	})
}

// What is expected is silence, not somebody else.
func TestAnotherDaemonDuringARestartIsSaidAtOnce(t *testing.T) {
	for code, want := range map[fleet.Code]fleet.Connection{
		fleet.CodeWrongDevice: fleet.IdentityMismatch, fleet.CodeWrongPin: fleet.PinMismatch,
	} {
		inWorld(t, nil, func(t *testing.T, w *world) {
			f := newFake(1)
			d := w.put(1, f)
			w.m.watcher(d).expectRestart()
			f.set("status", &fleet.Error{Code: code, Message: "why", Hint: "what to do"})
			f.breakConnection()
			pass(time.Second)
			w.wantConnection(d, want)
		})
	}
}

// A write may come while the API answers again after the one before: that restart is expected, too.
func TestARestartAfterARestartIsExpected(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		f := newFake(1)
		d := w.put(1, f)
		w.m.watcher(d).expectRestart()
		f.breakConnection()
		synctest.Wait()
		gate := make(chan struct{})
		f.mu.Lock()
		f.gate["status"] = gate
		f.mu.Unlock()
		pass(firstRestartPause)
		w.m.watcher(d).expectRestart()
		close(gate)
		synctest.Wait()
		f.mu.Lock()
		delete(f.gate, "status")
		f.mu.Unlock()
		f.breakConnection()
		synctest.Wait()
		if s := w.wantConnection(d, fleet.Online); !s.Restarting {
			t.Fatalf("got %+v", s)
		}
	})
}

// The contact that is under way at a write may outlast the restart, because a poll is sent again over a new connection.
// Nothing begins anew then, and the answers of this contact say that the API is back.
func TestAContactThatOutlastsARestartEndsIt(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		f := newFake(1)
		d := w.put(1, f)
		w.m.watcher(d).expectRestart()
		f.breakConnection()
		synctest.Wait()
		gate := make(chan struct{})
		f.mu.Lock()
		f.gate["status"] = gate
		f.mu.Unlock()
		pass(firstRestartPause)
		w.m.watcher(d).expectRestart() // after the contact began, before the API answers it
		f.mu.Lock()
		delete(f.gate, "status")
		f.mu.Unlock()
		close(gate)
		pass(restartBegins - time.Second)
		if s := w.wantConnection(d, fleet.Online); !s.Restarting {
			t.Fatalf("the restart may still begin, got %+v", s)
		}
		pass(3 * time.Second)
		if s := w.wantConnection(d, fleet.Online); s.Restarting || s.Reason != reasonConnected {
			t.Fatalf("it answers, and no restart can follow, but got %+v", s)
		}
		f.breakConnection() // this one nobody expects
		synctest.Wait()
		w.wantConnection(d, fleet.Unreachable)
	})
}

// Muster gives the record another key when it changed that of the daemon: the new watcher goes on waiting.
func TestAnotherKeyDuringARestartKeepsTheDeviceOnline(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		f := newFake(1)
		d := w.put(1, f)
		w.m.watcher(d).expectRestart()
		f.set("status", errCut)
		again := device(1)
		again.APIKey = fleet.NewSecret("another")
		w.m.Put(again, false)
		synctest.Wait()
		if s := w.wantConnection(d, fleet.Online); !s.Restarting {
			t.Fatalf("got %+v", s)
		}
		again.APIAddress = "elsewhere.example"
		w.m.Put(again, false)
		synctest.Wait()
		w.wantConnection(d, fleet.Unreachable)
	})
}

// A daemon that goes away long after the change does so for another reason.
func TestALossLongAfterAChangeIsNotExpected(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		f := newFake(1)
		d := w.put(1, f)
		w.m.watcher(d).expectRestart()
		pass(restartBegins)
		f.breakConnection()
		synctest.Wait()
		w.wantConnection(d, fleet.Unreachable)
	})
}

// A person who gives the record a wrong key right after a change hears so at once.
func TestAWrongKeyDuringARestartIsSaidAtOnce(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		f := newFake(1)
		d := w.put(1, f)
		w.m.watcher(d).expectRestart()
		f.set("status", &fleet.Error{Code: fleet.CodeKeyRefused, Message: "why", Hint: "what to do"})
		wrong := device(1)
		wrong.APIKey = fleet.NewSecret("wrong")
		w.m.Put(wrong, false)
		synctest.Wait()
		w.wantConnection(d, fleet.KeyRefused)
	})
}

// Between the daemon's new key and the record's, the old one is refused.
func TestAKeyThatMusterChangesIsNotRefused(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		f := newFake(1)
		d := w.put(1, f)
		w.m.watcher(d).expectRestart()
		f.set("status", &fleet.Error{Code: fleet.CodeKeyRefused, Message: "why", Hint: "what to do"})
		f.breakConnection()
		synctest.Wait()
		if s := w.wantConnection(d, fleet.Online); !s.Restarting {
			t.Fatalf("got %+v", s)
		}
	})
}

// A daemon that was lost several times is waited for longer and longer. A restart of its API that was expected, and
// after which it answered, ends that: the next loss is not a minute of silence.
func TestAnExpectedRestartEndsTheLongPauses(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		f := newFake(1)
		d := w.put(1, f)
		for range 7 {
			f.breakConnection()
			synctest.Wait()
			w.wantConnection(d, fleet.Unreachable)
			pass(lastPause + lastPause/2)
			w.wantConnection(d, fleet.Online)
			f.breakConnection()
			synctest.Wait()
			pass(lastPause + lastPause/2)
		}
		w.m.watcher(d).expectRestart()
		f.breakConnection()
		synctest.Wait()
		pass(2 * firstRestartPause)
		w.wantConnection(d, fleet.Online)
		f.breakConnection()
		synctest.Wait()
		w.wantConnection(d, fleet.Unreachable)
		pass(firstPause + firstPause/2)
		w.wantConnection(d, fleet.Online)
	})
}
