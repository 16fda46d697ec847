package mirror

import (
	"testing"
	"testing/synctest"
	"time"

	"muster/internal/fleet"
)

func (f *fake) crowd(crowded bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.crowded = crowded
}

// More daemons than connections: those beyond were never heard of again.
func TestADaemonBeyondTheBudgetIsVisitedEveryMinute(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		f := newFake(1, "a")
		f.crowd(true)
		device := w.put(1, f)
		if s := w.wantConnection(device, fleet.Online); !s.Visited || w.m.Visited() != 1 {
			t.Fatalf("visited %v, %d in all", s.Visited, w.m.Visited())
		}
		f.change(fakeFolder{ID: "a", Size: 7}, fakeFolder{ID: "b"})
		f.emit(fleet.DaemonEvent{Type: "ConfigSaved"})
		pass(10*time.Minute + time.Second)
		at := f.times("status")
		for i := 1; i < len(at); i++ {
			if gap := at[i].Sub(at[i-1]); gap > time.Minute {
				t.Errorf("%v between two visits", gap)
			}
		}
		if len(at) < 11 || len(at) != len(f.times("visit")) {
			t.Errorf("%d readings of the status in %d visits in ten minutes", len(at), len(f.times("visit")))
		}
		if s := w.snapshot(device); len(s.Folders) != 2 || s.Connection != fleet.Online {
			t.Errorf("after the change %d folders, %s", len(s.Folders), s.Connection)
		}
	})
}

func TestADaemonIsFollowedAgainWhenThereIsRoom(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		f := newFake(1, "a")
		f.crowd(true)
		device := w.put(1, f)
		f.crowd(false)
		pass(visitEvery + time.Second)
		if s := w.wantConnection(device, fleet.Online); s.Visited || w.m.Visited() != 0 {
			t.Fatalf("visited %v, %d in all", s.Visited, w.m.Visited())
		}
		f.change(fakeFolder{ID: "a"}, fakeFolder{ID: "b"})
		f.emit(fleet.DaemonEvent{Type: "ConfigSaved"})
		pass(2 * time.Second)
		if s := w.snapshot(device); len(s.Folders) != 2 {
			t.Error("the change was not seen at once")
		}
	})
}

func TestAVisitedDaemonThatRestartedIsReadAnew(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		f := newFake(1, "a")
		f.crowd(true)
		w.put(1, f)
		f.restart("second")
		pass(2 * visitEvery)
		if n := len(f.times("version")); n != 2 {
			t.Errorf("the version was read %d times", n)
		}
	})
}

func TestAVisitedDaemonThatIsGoneIsUnreachable(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		f := newFake(1, "a")
		f.crowd(true)
		device := w.put(1, f)
		f.set("status", errCut)
		pass(visitEvery + time.Second)
		if s := w.wantConnection(device, fleet.Unreachable); s.Visited || w.m.Visited() != 0 {
			t.Errorf("visited %v, %d in all", s.Visited, w.m.Visited())
		}
		synctest.Wait()
	})
}
