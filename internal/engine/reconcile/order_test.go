package reconcile_test

import (
	"strings"
	"testing"
	"time"

	"muster/internal/fleet"
)

// started says since when the daemon of a bench runs.
func (b *bench) started(at string) {
	b.daemon.mu.Lock()
	defer b.daemon.mu.Unlock()
	b.daemon.known.Started = at
}

func TestADaemonThatDoesNotComeBackFailsTheRestart(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t)
		b.start()
		defer b.stop()
		b.started("2026-01-01T00:00:00Z")
		began := time.Now()
		_, err := b.engine.CarryOut(t.Context(), b.id, fleet.OrderSpec{Type: fleet.OrderRestart})
		if fleet.CodeOf(err) != fleet.CodeUnavailable || !strings.Contains(err.Error(), "not come back within 2m0s") {
			t.Errorf("got %v", err)
		}
		if took := time.Since(began); took != 2*time.Minute {
			t.Errorf("it took %s", took)
		}
		if _, restarted := b.restartCalls(); restarted != 1 {
			t.Errorf("the daemon was told to restart %d times", restarted)
		}
	})
}

func TestARestartIsDoneWhenTheDaemonIsBack(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t)
		b.start()
		defer b.stop()
		b.started("2026-01-01T00:00:00Z")
		time.AfterFunc(30*time.Second, func() { b.started("2026-01-01T00:01:00Z") })
		result, err := b.engine.CarryOut(t.Context(), b.id, fleet.OrderSpec{Type: fleet.OrderRestart})
		if err != nil || !strings.Contains(result, "back") {
			t.Errorf("got %q, %v", result, err)
		}
	})
}

// A stop counts at once, also between the opening of the connection and the call.
func TestNoDaemonIsToldAnythingAfterAStop(t *testing.T) {
	carryOut := func(spec fleet.OrderSpec) func(*bench) error {
		return func(b *bench) error {
			_, err := b.engine.CarryOut(b.t.Context(), b.id, spec)
			return err
		}
	}
	for name, act := range map[string]func(*bench) error{
		"restart": carryOut(fleet.OrderSpec{Type: fleet.OrderRestart}),
		"rescan":  carryOut(fleet.OrderSpec{Type: fleet.OrderRescan}),
		"pause":   carryOut(fleet.OrderSpec{Type: fleet.OrderPause}),
		"upgrade": carryOut(fleet.OrderSpec{Type: fleet.OrderUpgrade}),
		"dismiss": func(b *bench) error {
			return b.engine.Dismiss(b.t.Context(), fleet.Pending{Device: b.id, From: fleet.DeviceID(friend)})
		},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T) {
				b := newBench(t)
				b.daemon.release = fleet.Release{Running: "v2.1.3", Newest: "v2.1.4", Newer: true}
				b.start()
				defer b.stop()
				b.started("2026-01-01T00:00:00Z")
				b.daemon.opened = func() { b.switchTo(fleet.ModeObserve) }
				if err := act(b); fleet.CodeOf(err) != fleet.CodeConflict || !strings.Contains(err.Error(), "stopped meanwhile") {
					t.Errorf("got %v, want a conflict", err)
				}
				b.wantWrites(0)
				if _, restarted := b.restartCalls(); restarted > 0 || len(b.daemon.dismissed) > 0 {
					t.Errorf("restarted %d times, dismissed %v", restarted, b.daemon.dismissed)
				}
			})
		})
	}
}

// Folders are named one by one where one of them is paused. A stop counts between two of them.
func TestAStopEndsARescanBetweenTwoFolders(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t)
		for _, id := range []string{"one", "two", "three"} {
			b.daemon.edit("folders."+id, `{"id": "`+id+`", "path": "/srv/`+id+`"}`)
		}
		b.daemon.edit("folders.one.paused", "true")
		if _, err := b.daemon.Config(t.Context(), b.id); err != nil {
			t.Fatal(err)
		}
		b.start()
		defer b.stop()
		b.daemon.answersWrites(func(*daemon, string) error {
			b.switchTo(fleet.ModeObserve)
			return nil
		})
		_, err := b.engine.CarryOut(t.Context(), b.id, fleet.OrderSpec{Type: fleet.OrderRescan})
		if fleet.CodeOf(err) != fleet.CodeConflict {
			t.Errorf("got %v, want a conflict", err)
		}
		b.wantWrites(1)
	})
}

// A person adds a folder at the daemon and has it scanned before the mirror has read it.
func TestARescanFindsAFolderThatWasAddedAMomentAgo(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t)
		if _, err := b.daemon.Config(t.Context(), b.id); err != nil {
			t.Fatal(err)
		}
		b.start()
		defer b.stop()
		b.daemon.edit("folders.new", `{"id": "new", "path": "/srv/new"}`)
		order := fleet.OrderSpec{Type: fleet.OrderRescan, Folder: "new"}
		if _, err := b.engine.CarryOut(t.Context(), b.id, order); err != nil {
			t.Error(err)
		}
		b.wantWrites(1)
	})
}
