package reconcile_test

import (
	"testing"

	"muster/internal/engine/reconcile"
	"muster/internal/fleet"
)

func (b *bench) switchTo(mode fleet.Mode) {
	b.store.mu.Lock()
	defer b.store.mu.Unlock()
	changed := *b.store.registry
	changed.Mode = mode
	b.store.registry = &changed
}

// Whoever stops Muster stops it in the middle of an apply, too: the writes that are left are not sent.
func TestAStopEndsAnApplyThatIsUnderWay(t *testing.T) {
	for step, want := range map[string]int{
		reconcile.StepAfterIntent: 0, reconcile.StepAfterRead: 0, reconcile.StepAfterWrite + "1": 1,
	} {
		t.Run(step, func(t *testing.T) {
			in(t, func(t *testing.T) {
				b := newBench(t, noNAT, photos)
				b.step = func(name string) {
					if name == step {
						b.switchTo(fleet.ModeObserve)
					}
				}
				b.start()
				defer b.stop()
				b.wantWrites(want)
				b.wantState(fleet.ConfigPending, "Nothing is written")
				for _, outcome := range b.store.outcomes() {
					if outcome == fleet.OutcomeOpen {
						t.Error("an intent is still open")
					}
				}
				b.step = nil
				b.switchTo(fleet.ModeOn)
				b.engine.RegistryChanged()
				b.seen()
				b.want("options.natEnabled", "false")
				b.want("folders.photos.path", `"/srv/p"`)
				b.wantState(fleet.ConfigInSync, "")
			})
		})
	}
}

// Who is told that their consent cannot be acted on now need not fear that it is acted on later.
func TestAConsentThatIsRefusedIsNotRemembered(t *testing.T) {
	for name, silence := range map[string]func(*bench, bool){
		"stopped": func(b *bench, silent bool) {
			b.switchTo(map[bool]fleet.Mode{true: fleet.ModeObserve, false: fleet.ModeOn}[silent])
		},
		"offline": func(b *bench, silent bool) {
			b.daemon.mu.Lock()
			defer b.daemon.mu.Unlock()
			b.daemon.online = !silent
		},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T) {
				b := newBench(t, tmpl(2, fleet.OpSet, "folders.photos-x4kd.path", `"/srv/other"`))
				b.start()
				defer b.stop()
				silence(b, true)
				_, _, err := b.engine.Apply(t.Context(), b.id, b.plan().Digest, consent("folders.photos-x4kd.path"))
				if fleet.CodeOf(err) != fleet.CodeConflict {
					t.Errorf("got %v, want a conflict", err)
				}
				silence(b, false)
				b.engine.RegistryChanged()
				b.seen()
				b.want("folders.photos-x4kd.path", `"/srv/photos"`)
				b.wantState(fleet.ConfigHeld, "")
				b.wantWrites(0)
			})
		})
	}
}
