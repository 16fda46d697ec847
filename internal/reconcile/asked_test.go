package reconcile_test

import (
	"testing"
	"testing/synctest"
	"time"

	"muster/internal/fleet"
)

// A person put something back right after a write of Muster's, and looked at the plan before the mirror read the
// daemon: the plan showed it, the device was not looked at, and its state said for a minute that all was well.
func TestWhatAReaderSeesFirstIsLookedAt(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t, noNAT)
		behind := b.store.observed[b.id] // what is kept is written behind
		time.Sleep(time.Second)
		b.start()
		defer b.stop()
		b.wantState(fleet.ConfigInSync, "")
		b.store.mu.Lock()
		b.store.observed[b.id] = behind
		b.store.mu.Unlock()
		b.daemon.edit("options.natEnabled", "true")
		if made := b.plan(); len(made.Changes) != 1 {
			t.Errorf("the plan has %d changes", len(made.Changes))
		}
		synctest.Wait()
		if got := b.daemon.at("options.natEnabled"); got != "false" {
			t.Errorf("natEnabled is %s", got)
		}
	})
}
