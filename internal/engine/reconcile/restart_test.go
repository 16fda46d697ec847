package reconcile_test

import (
	"testing"
	"testing/synctest"

	"muster/internal/fleet"
)

var audited = tmpl(1, fleet.OpMerge, "options", `{"auditEnabled": true}`)

// restartable is a device whose daemon has the option that needs a restart.
func restartable(t *testing.T, allowed bool) *bench {
	t.Helper()
	b := newBench(t, audited)
	b.daemon.edit("options.auditEnabled", "false")
	b.daemon.mu.Lock()
	b.daemon.restarts = true
	b.daemon.mu.Unlock()
	b.store.mu.Lock()
	b.store.registry.Devices[b.id].Settings.Restart = allowed
	b.store.mu.Unlock()
	if _, err := b.daemon.Config(t.Context(), b.id); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bench) restartCalls() (asked, restarted int) {
	b.daemon.mu.Lock()
	defer b.daemon.mu.Unlock()
	return b.daemon.asked, b.daemon.restarted
}

func TestARestartThatIsNeededIsSaidAndLeftToThePerson(t *testing.T) {
	in(t, func(t *testing.T) {
		b := restartable(t, false)
		b.start()
		defer b.stop()
		b.want("options.auditEnabled", "true")
		b.wantState(fleet.ConfigInSync, "restart required")
		if _, restarted := b.restartCalls(); restarted != 0 {
			t.Error("the daemon was restarted although nobody allowed that")
		}
		b.daemon.mu.Lock()
		b.daemon.restarts = false // a person restarted it
		b.daemon.mu.Unlock()
		b.engine.Online(b.id)
		synctest.Wait()
		b.wantState(fleet.ConfigInSync, "has what its templates ask for")
		if b.state().Next != "" {
			t.Errorf("got %+v", b.state())
		}
	})
}

func TestADaemonIsRestartedOnceWhereThatIsAllowed(t *testing.T) {
	in(t, func(t *testing.T) {
		b := restartable(t, true)
		b.start()
		defer b.stop()
		b.want("options.auditEnabled", "true")
		b.wantState(fleet.ConfigInSync, "told the daemon to start anew")
		for range 3 { // it says so all the same
			b.engine.Online(b.id)
			synctest.Wait()
		}
		if asked, restarted := b.restartCalls(); restarted != 1 || asked < 2 {
			t.Errorf("asked %d times, restarted %d times, want it once", asked, restarted)
		}
	})
}

// Changes that take effect at once cost no further call.
func TestARestartIsNotAskedForWithoutNeed(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t, noNAT)
		b.start()
		defer b.stop()
		b.want("options.natEnabled", "false")
		b.wantState(fleet.ConfigInSync, "")
		if asked, _ := b.restartCalls(); asked != 0 {
			t.Errorf("asked %d times", asked)
		}
	})
}
