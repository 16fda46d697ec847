package reconcile_test

import (
	"testing"
	"testing/synctest"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// editedUnkept is an edit that the mirror has read and the store does not have yet: it is written behind, and where the
// disk is full it waits.
func (b *bench) editedUnkept(key, json string) {
	b.daemon.edit(key, json)
	b.daemon.mu.Lock()
	defer b.daemon.mu.Unlock()
	b.daemon.known.Digest, b.daemon.known.Unstored = stconfig.Digest(b.daemon.doc), true
}

func (b *bench) goesOnline(online bool) {
	b.daemon.mu.Lock()
	defer b.daemon.mu.Unlock()
	b.daemon.online = online
}

func TestAConfigurationThatIsNotKeptYetIsPlannedFrom(t *testing.T) {
	for name, check := range map[string]func(b *bench){
		"a plan that a person asks for": func(b *bench) {
			b.editedUnkept("options.natEnabled", "true")
			if changes := b.plan().Changes; len(changes) != 1 {
				b.t.Errorf("the plan is %v, want the edit to be set right", changes)
			}
		},
		"a pass": func(b *bench) {
			b.editedUnkept("options.natEnabled", "true")
			b.engine.Online(b.id)
			synctest.Wait()
			b.want("options.natEnabled", "false")
		},
		"a pass after a restart of Muster": func(b *bench) {
			b.stop()
			b.goesOnline(false)
			b.start()
			b.editedUnkept("options.natEnabled", "true")
			b.goesOnline(true)
			b.engine.Online(b.id)
			synctest.Wait()
			b.want("options.natEnabled", "false")
		},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T) {
				b := newBench(t, noNAT)
				b.start()
				defer func() { b.stop() }()
				b.wantState(fleet.ConfigInSync, "")
				check(b)
			})
		})
	}
}

func TestNoPlanIsMadeFromAnOlderConfigurationThanTheOneThatWasRead(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t, noNAT)
		b.start()
		defer b.stop()
		b.editedUnkept("options.natEnabled", "true")
		b.goesOnline(false)
		if p, err := b.engine.Plan(t.Context(), b.id); fleet.CodeOf(err) != fleet.CodeUnavailable {
			t.Errorf("got the plan %v and %v", p.Changes, err)
		}
	})
}
