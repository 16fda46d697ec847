package mirror

import (
	"testing"
	"testing/synctest"
	"time"

	"muster/internal/fleet"
)

const agentAt = "192.0.2.7:50000"

func byAgent(fleet.Device) (Found, error) {
	return Found{By: fleet.FoundByAgent, Introduced: fleet.ByAgent, Agent: agentAt}, nil
}

func targetsOf(w *world) []Target { return look(w, func() []Target { return w.targets }) }

// The way changes at once, and the device is online all the time. Everything is read once more, as after a broken
// connection: what happened in between is in no event.
func TestADeviceIsReachedInAnotherWayAtOnce(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		f := newFake(1, "a")
		d := w.put(1, f)
		f.take()
		w.set(func() { w.changes = map[fleet.DeviceID]Aspect{} })
		w.resolveWith(byAgent)
		w.m.RouteChanged(d)
		synctest.Wait()
		s := w.m.Snapshot(d)
		if s.Connection != fleet.Online || s.FoundBy != fleet.FoundByAgent || s.Address != agentAt || s.Host() != "" {
			t.Errorf("got %+v", s)
		}
		targets := targetsOf(w)
		if last := targets[len(targets)-1]; len(targets) != 2 || last.Introduced != fleet.ByAgent || last.Address != agentAt {
			t.Errorf("got %d targets, the last %+v", len(targets), last)
		}
		if got := countOf(f.take(), "config"); got != 1 {
			t.Errorf("the configuration was read %d times", got)
		}
		if look(w, func() Aspect { return w.changes[d] })&fleet.ConnectionChanged == 0 {
			t.Error("it is not told that the way is another one")
		}
		if f.overlapped() {
			t.Error("both ways were used at the same time")
		}
	})
}

// Two ways at the same time could be two writers.
func TestTheWayChangesAfterTheSession(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		f := newFake(1, "a")
		d := w.put(1, f)
		session, err := w.m.Session(t.Context(), d)
		if err != nil {
			t.Fatal(err)
		}
		w.resolveWith(byAgent)
		w.m.RouteChanged(d)
		synctest.Wait()
		if len(targetsOf(w)) != 1 || w.m.Snapshot(d).FoundBy == fleet.FoundByAgent {
			t.Error("the way changed while a session could write")
		}
		f.breakConnection() // and not by itself either
		pass(5 * time.Second)
		if len(targetsOf(w)) != 1 {
			t.Error("the way changed while a session could write")
		}
		session.Close()
		synctest.Wait()
		if w.m.Snapshot(d).FoundBy != fleet.FoundByAgent {
			t.Error("the way did not change after the session")
		}
	})
}

// A session belongs to one connection.
func TestASessionThatWasOverhauledIsRefused(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		d := w.put(1, newFake(1, "a"))
		if _, err := w.m.watcher(d).hold(newFake(2)); fleet.CodeOf(err) != fleet.CodeUnavailable {
			t.Errorf("got %v", err)
		}
	})
}
