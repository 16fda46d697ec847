package reconcile_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"muster/internal/fleet"
)

// A person put something back right after a write of Muster's, and looked at the plan before the mirror read the
// daemon: the plan showed it, no pass was made, and its state said for a minute that all was well.
func TestWhatAReaderSeesFirstMakesAPass(t *testing.T) {
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

// The connection broke while ignore patterns were read: the device was in sync without them for a quarter of an hour,
// also when a person looked at the plan, which showed that they were to be sent.
func TestIgnorePatternsThatWereNotReadAreReadAgain(t *testing.T) {
	for name, passes := range map[string]func(b *bench){
		"soon":               func(*bench) { time.Sleep(time.Minute) },
		"by a person's look": func(b *bench) { b.plan() },
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T) {
				b := newBench(t, tmpl(1, fleet.OpSet, "ignores.photos-x4kd", `["*.tmp"]`))
				b.daemon.noIgnores = true
				b.start()
				defer b.stop()
				b.wantState(fleet.ConfigInSync, "could not be read")
				b.daemon.mu.Lock()
				b.daemon.noIgnores = false
				b.daemon.mu.Unlock()
				passes(b)
				synctest.Wait()
				if got := fmt.Sprint(b.daemon.ignores["photos-x4kd"]); got != "[*.tmp]" {
					t.Errorf("ignore patterns %s", got)
				}
				b.wantState(fleet.ConfigInSync, "has what its templates ask for")
			})
		})
	}
}
