package mirror

import (
	"testing"
	"testing/synctest"
	"time"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// Somebody changes the configuration and reads it back: the events of that are no reason to read it again. When
// somebody else changes it as well, or nothing is read back, it is read.
func TestWhatIsReadBackIsNotReadTwice(t *testing.T) {
	for name, test := range map[string]struct {
		do   func(t *testing.T, w *world, d fleet.DeviceID, f *fake)
		want int // readings
	}{
		"read back after the event": {func(t *testing.T, w *world, d fleet.DeviceID, f *fake) {
			f.emit(fleet.DaemonEvent{Type: "ConfigSaved"})
			synctest.Wait()
			pass(time.Millisecond)
			if _, _, err := w.m.watcher(d).readConfig(t.Context(), f, false); err != nil {
				t.Fatal(err)
			}
		}, 1},
		"read before the event": {func(t *testing.T, w *world, d fleet.DeviceID, f *fake) {
			if _, _, err := w.m.watcher(d).readConfig(t.Context(), f, false); err != nil {
				t.Fatal(err)
			}
			pass(time.Millisecond)
			f.emit(fleet.DaemonEvent{Type: "ConfigSaved"})
			synctest.Wait()
		}, 2},
		"never read back": {func(_ *testing.T, _ *world, _ fleet.DeviceID, f *fake) {
			f.emit(fleet.DaemonEvent{Type: "ConfigSaved"})
			synctest.Wait()
		}, 1},
		"held for too long": {func(_ *testing.T, _ *world, _ fleet.DeviceID, f *fake) {
			f.emit(fleet.DaemonEvent{Type: "ConfigSaved"})
			pass(longestHold + time.Second)
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, nil, func(t *testing.T, w *world) {
				f := newFake(1, "a")
				d := w.put(1, f)
				f.take()
				release := holdNow(t, w.m.watcher(d))
				test.do(t, w, d, f)
				release()
				release() // twice is fine
				synctest.Wait()
				if got := countOf(f.take(), "config"); got != test.want {
					t.Errorf("the configuration was read %d times, want %d", got, test.want)
				}
			})
		})
	}
}

// A daemon announces every change twice, and the second time has nothing that was not read.
func TestAConfigurationThatWasReadIsNotReadAgainBecauseItIsAnnounced(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		f := newFake(1, "a")
		d := w.put(1, f)
		pass(time.Second)
		saved := func() fleet.DaemonEvent {
			return fleet.DaemonEvent{Type: "ConfigSaved", Config: stconfig.SumOfText(f.document())}
		}
		reads := func(what string, want int, do func()) {
			t.Helper()
			pass(time.Minute)
			f.take()
			do()
			pass(time.Minute)
			if got := countOf(f.take(), "config"); got != want {
				t.Errorf("%s: read %d times, want %d", what, got, want)
			}
		}
		before := saved()
		reads("a change", 1, func() {
			f.change(fakeFolder{ID: "a", Label: "new"})
			f.emit(saved())
		})
		reads("announced again", 0, func() { f.emit(saved()) })
		reads("announced before and after", 0, func() { f.emit(before, saved()) })
		reads("a change that is taken back", 1, func() {
			f.change(fakeFolder{ID: "a", Label: "new"})
			f.emit(saved(), before)
		})
		reads("announced while the configuration is read back", 1, func() {
			f.change(fakeFolder{ID: "a", Label: "ours"})
			release := holdNow(t, w.m.watcher(d))
			if _, _, err := w.m.watcher(d).readConfig(t.Context(), f, false); err != nil {
				t.Error(err)
			}
			pass(time.Millisecond)
			f.emit(saved())
			pass(time.Millisecond)
			release()
		})
		reads("another change while the configuration is read back", 2, func() {
			release := holdNow(t, w.m.watcher(d))
			if _, _, err := w.m.watcher(d).readConfig(t.Context(), f, false); err != nil {
				t.Error(err)
			}
			pass(time.Millisecond)
			f.change(fakeFolder{ID: "a", Label: "theirs"})
			f.emit(saved())
			pass(time.Millisecond)
			release()
		})
		reads("what is in it is not known", 1, func() { f.emit(fleet.DaemonEvent{Type: "ConfigSaved"}) })
		reads("events are missing", 1, func() {
			next := saved()
			next.ID = 900
			f.emit(next)
		})
		if label := w.snapshot(d).Folders[0].Label; label != "theirs" {
			t.Errorf("the folder is called %q", label)
		}
	})
}

func countOf(calls []string, what string) (n int) {
	for _, call := range calls {
		if call == what {
			n++
		}
	}
	return n
}

// holdNow holds a watcher as a session does.
func holdNow(t *testing.T, w *watcher) (release func()) {
	t.Helper()
	w.mu.Lock()
	daemon := w.daemon
	w.mu.Unlock()
	release, err := w.hold(daemon)
	if err != nil {
		t.Fatal(err)
	}
	return release
}
