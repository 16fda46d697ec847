package reconcile_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"muster/internal/engine/reconcile"
	"muster/internal/fleet"
)

// A device that was finished once gets over its next trouble as well as over the first.
func TestWhatFailsOnASettledDeviceIsTriedAgain(t *testing.T) {
	for name, trouble := range map[string]func(b *bench, on bool){
		"the daemon answers 500": func(b *bench, on bool) {
			b.daemon.mu.Lock()
			defer b.daemon.mu.Unlock()
			b.daemon.before = nil
			if on {
				b.daemon.before = func(*daemon, string) error { return unreachable() }
			}
		},
		"the intent is not recorded": func(b *bench, on bool) {
			b.store.mu.Lock()
			defer b.store.mu.Unlock()
			b.store.fail = nil
			if on {
				b.store.fail = func(string) error { return context.DeadlineExceeded }
			}
		},
		"the worker is gone": func(b *bench, on bool) {
			b.evals.fails(nil)
			if on {
				b.evals.fails(unreachable())
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T) {
				b := newBench(t, noNAT)
				b.start()
				defer b.stop()
				b.wantState(fleet.ConfigInSync, "")
				trouble(b, true)
				b.changed(noNAT, tmpl(2, fleet.OpSet, "options.maxSendKbps", "500"))
				time.Sleep(10 * time.Minute)
				synctest.Wait()
				b.want("options.maxSendKbps", "0")
				trouble(b, false)
				time.Sleep(2 * time.Minute)
				synctest.Wait()
				b.want("options.maxSendKbps", "500")
				b.wantState(fleet.ConfigInSync, "")
			})
		})
	}
}

// A person's apply that is refused takes the turn of a change that waited for its pass.
func TestARefusedApplyDoesNotSwallowAChange(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t, noNAT)
		b.start()
		defer b.stop()
		b.register(noNAT, tmpl(2, fleet.OpSet, "options.maxSendKbps", "500"))
		if _, _, err := b.engine.Apply(t.Context(), b.id, "of yesterday", nil); fleet.CodeOf(err) != fleet.CodeConflict {
			t.Errorf("got %v, want a conflict", err)
		}
		synctest.Wait()
		b.want("options.maxSendKbps", "500")
	})
}

// A consent is for the apply that it was given with: not for a later moment, when the person does not expect it.
func TestAConsentEndsWithAnApplyThatFails(t *testing.T) {
	in(t, func(t *testing.T) {
		const key = "folders.photos-x4kd.path"
		b := newBench(t, tmpl(2, fleet.OpSet, key, `"/srv/other"`))
		b.start()
		defer b.stop()
		digest := b.plan().Digest
		b.store.mu.Lock()
		b.store.fail = func(string) error { return context.DeadlineExceeded }
		b.store.mu.Unlock()
		if _, _, err := b.engine.Apply(t.Context(), b.id, digest, consent(key)); err == nil {
			t.Fatal("the apply went well")
		}
		b.store.mu.Lock()
		b.store.fail = nil
		b.store.mu.Unlock()
		time.Sleep(8 * time.Hour)
		b.seen()
		b.want(key, `"/srv/photos"`)
		b.wantState(fleet.ConfigHeld, key)
		b.wantWrites(0)
	})
}

// A stop in the middle of an apply ends its consent too.
func TestAConsentEndsWithAnApplyThatIsStopped(t *testing.T) {
	in(t, func(t *testing.T) {
		const key = "folders.photos-x4kd.path"
		b := newBench(t, tmpl(2, fleet.OpSet, key, `"/srv/other"`))
		b.start()
		defer b.stop()
		b.step = func(string) { b.switchTo(fleet.ModeObserve) }
		if _, _, err := b.engine.Apply(t.Context(), b.id, b.plan().Digest, consent(key)); err != nil {
			t.Fatal(err)
		}
		b.step = nil
		b.switchTo(fleet.ModeOn)
		b.engine.RegistryChanged()
		b.seen()
		b.want(key, `"/srv/photos"`)
		b.wantState(fleet.ConfigHeld, key)
		b.wantWrites(0)
	})
}

// A secret that is put during a pass concerns the next pass.
func TestASecretThatChangesDuringAPassIsNotLost(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t, encrypted("pw"))
		changed := false
		b.step = func(step string) {
			if step == reconcile.StepBeforeOutcome && !changed { // nothing is planned after this
				changed = true
				b.secrets["pw"] = "battery staple"
				b.engine.SecretsChanged()
			}
		}
		b.start()
		defer b.stop()
		b.want(encryptedAt, `"correct horse"`)
		b.wantState(fleet.ConfigHeld, encryptedAt) // it is planned with the new one
	})
}

// Deleting a device stops everything about it at once: also the writes of an apply that are left.
func TestADeleteEndsAnApplyThatIsUnderWay(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t, noNAT, photos)
		b.daemon.before = func(*daemon, string) error {
			b.store.mu.Lock()
			defer b.store.mu.Unlock()
			without := *b.store.registry
			without.Devices = map[fleet.DeviceID]*fleet.Registered{}
			b.store.registry = &without
			return nil
		}
		b.start()
		defer b.stop()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		b.wantWrites(1)
	})
}
