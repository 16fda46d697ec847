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
		_, err := b.engine.Act(t.Context(), b.id, fleet.ActionOrder{Action: fleet.ActionRestart})
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
		result, err := b.engine.Act(t.Context(), b.id, fleet.ActionOrder{Action: fleet.ActionRestart})
		if err != nil || !strings.Contains(result, "back") {
			t.Errorf("got %q, %v", result, err)
		}
	})
}
