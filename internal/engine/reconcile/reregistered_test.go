package reconcile_test

import (
	"context"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"muster/internal/fleet"
)

// registerAnew deletes the device and registers it again: what the store had of it is gone.
func (b *bench) registerAnew(tags ...fleet.Tag) {
	b.store.mu.Lock()
	defer b.store.mu.Unlock()
	next := *b.store.registry
	next.Generation++
	next.Devices = maps.Clone(next.Devices)
	device := *next.Devices[b.id]
	device.CreatedAt, device.Tags = time.Now(), tags
	next.Devices[b.id] = &device
	b.store.registry = &next
	delete(b.store.entries, b.id)
	delete(b.store.stops, b.id)
}

// A device that was deleted and registered again before the engine's next pass kept the stops of before.
func TestADeviceThatIsRegisteredAnewHasNoHistory(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t, noNAT)
		b.daemon.before = func(*daemon, string) error { return rejected("no such option") }
		b.start()
		defer b.stop()
		b.later(time.Minute)
		b.wantState(fleet.ConfigFailed, "no such option")
		b.daemon.answersWrites(nil)
		b.registerAnew("all")
		b.engine.RegistryChanged()
		synctest.Wait()
		b.want("options.natEnabled", "false")
		b.wantState(fleet.ConfigInSync, "")
	})
}

// An apply that was under way went on, and gave the new registration the base entries of the old one.
func TestARegistrationAnewEndsAnApplyThatIsUnderWay(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t, noNAT, photos)
		b.daemon.before = func(d *daemon, _ string) error {
			d.before = nil
			b.registerAnew()
			b.store.mu.Lock()
			defer b.store.mu.Unlock()
			b.store.fail = func(call string) error {
				if call == "finish" {
					return fleet.NotFoundf("there is no open intent 1")
				}
				return nil
			}
			return nil
		}
		b.start()
		defer b.stop()
		b.later(10 * time.Minute)
		b.wantWrites(1)
		b.wantState(fleet.ConfigUnmanaged, "")
		if left, _ := b.store.BaseEntries(t.Context(), b.id); len(left) > 0 {
			t.Errorf("the new registration has %d base entries", len(left))
		}
	})
}

// A person's apply of the plan of before is not carried out on the new registration.
func TestAnApplyEndsWithTheRegistrationThatItWasFor(t *testing.T) {
	in(t, func(t *testing.T) {
		b := askedAboutFolder(t)
		defer b.stop()
		digest := b.plan().Digest
		b.store.mu.Lock()
		entries := b.store.entries[b.id]
		b.store.mu.Unlock()
		b.registerAnew("all")
		b.store.entries[b.id] = entries // the plan would be the same
		_, _, err := b.engine.Apply(context.Background(), b.id, digest, consent("folders.made"))
		if fleet.CodeOf(err) != fleet.CodeConflict {
			t.Errorf("got %v", err)
		}
		b.want("folders.made.path", `"/home/one/made"`)
	})
}
