package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"muster/internal/engine/reconcile"
	"muster/internal/fleet"
)

// ports is where a daemon's API answers. Its record follows what is adopted.
type ports struct {
	b       *bench
	opens   map[int]time.Time // zero: it always answered
	closes  map[int]time.Time // zero: never
	adopted []int
}

func (p *ports) answers(port int) bool {
	opens, known := p.opens[port]
	closes := p.closes[port]
	return known && !time.Now().Before(opens) && (closes.IsZero() || time.Now().Before(closes))
}

func (p *ports) TryAccess(_ context.Context, _ fleet.DeviceID, access fleet.Access) error {
	if !p.answers(access.Port) {
		return unreachable()
	}
	return nil
}

func (p *ports) AdoptAccess(_ context.Context, id fleet.DeviceID, before, after fleet.Access) error {
	p.b.store.mu.Lock()
	defer p.b.store.mu.Unlock()
	registry, device := *p.b.store.registry, *p.b.store.registry.Devices[id]
	if device.Access() != before {
		return &fleet.Error{Code: fleet.CodeConflict, Message: "another by now"}
	}
	device.APIPort = after.Port
	registry.Devices = map[fleet.DeviceID]*fleet.Registered{id: &device}
	p.b.store.registry = &registry
	p.adopted = append(p.adopted, after.Port)
	p.b.daemon.mu.Lock()
	defer p.b.daemon.mu.Unlock()
	p.b.daemon.online = p.answers(after.Port)
	return nil
}

// recorded is the port in the device's record.
func (b *bench) recorded() int {
	b.store.mu.Lock()
	defer b.store.mu.Unlock()
	return b.store.registry.Devices[b.id].APIPort
}

const oldPort, newPort = 8384, 9999

// moving is a device of which a template moves the API to another port. After the write the old port answers for a
// while still, and the new one after a while.
func moving(t *testing.T, oldFor, newAfter time.Duration) (*bench, *ports) {
	b := newBench(t, tmpl(1, fleet.OpSet, "gui.address", `"127.0.0.1:9999"`))
	p := &ports{b: b, opens: map[int]time.Time{oldPort: {}}, closes: map[int]time.Time{}}
	b.access = p
	b.daemon.before = func(d *daemon, _ string) error {
		d.before = nil
		p.closes[oldPort], p.opens[newPort] = time.Now().Add(oldFor), time.Now().Add(newAfter)
		time.AfterFunc(oldFor, func() {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.online = b.recorded() == newPort
		})
		return nil
	}
	return b, p
}

func (b *bench) move() error {
	_, _, err := b.engine.Apply(b.t.Context(), b.id, b.plan().Digest, consent("gui.address"))
	return err
}

// It was refused, with a text that led to a device that nobody could reach.
func TestThePortOfTheAPIMovesWithConsent(t *testing.T) {
	for name, oldFor := range map[string]time.Duration{"at once": 0, "after it answered for a while": 3 * time.Second} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T) {
				b, p := moving(t, oldFor, 5*time.Second)
				b.start()
				defer b.stop()
				b.wantState(fleet.ConfigHeld, "gui.address")
				b.wantWrites(0)
				if err := b.move(); err != nil {
					t.Fatal(err)
				}
				if got := fmt.Sprint(p.adopted); got != "[9999]" {
					t.Errorf("adopted %s", got)
				}
				b.wantState(fleet.ConfigInSync, "")
				b.wantWrites(1)
			})
		})
	}
}

// The apply failed with "whether the change arrived is not known", although what was read back showed that it had.
func TestAMoveOfTheAPIWithoutAnAnswerIsReadBack(t *testing.T) {
	for name, status := range map[string]error{"lost": nil, "5xx": fleet.ErrNotSaved} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T) {
				b, p := moving(t, 0, 5*time.Second)
				moves := b.daemon.before
				b.daemon.before = func(d *daemon, call string) error {
					d.calls = append(d.calls, call)
					d.editLocked("gui.address", `"127.0.0.1:9999"`)
					return errors.Join(moves(d, call), &fleet.Error{Code: fleet.CodeUnavailable, Message: "no answer", Err: status})
				}
				b.start()
				defer b.stop()
				b.wantState(fleet.ConfigHeld, "gui.address")
				if err := b.move(); (err == nil) != (status == nil) {
					t.Errorf("got %v", err)
				}
				if got := fmt.Sprint(p.adopted); got != "[9999]" {
					t.Errorf("adopted %s", got)
				}
			})
		})
	}
}

func TestAPortThatDoesNotComeUpIsLookedForUntilItDoes(t *testing.T) {
	in(t, func(t *testing.T) {
		b, p := moving(t, 0, 10*time.Minute)
		b.start()
		defer b.stop()
		if err := b.move(); fleet.CodeOf(err) != fleet.CodeUnavailable {
			t.Errorf("apply: %v", err)
		}
		for _, part := range []string{"access lost", "http://127.0.0.1:9999", "http://127.0.0.1:8384"} {
			b.wantState(fleet.ConfigFailed, part)
		}
		if len(p.adopted) > 0 || b.recorded() != oldPort {
			t.Errorf("adopted %v", p.adopted)
		}
		time.Sleep(11 * time.Minute)
		synctest.Wait()
		b.engine.Online(b.id)
		synctest.Wait()
		if b.recorded() != newPort {
			t.Errorf("the record has %d", b.recorded())
		}
		b.wantState(fleet.ConfigInSync, "")
		b.wantWrites(1)
	})
}

func TestAnAPIThatStaysAtItsOldPortIsReachedThere(t *testing.T) {
	in(t, func(t *testing.T) {
		b, p := moving(t, 24*time.Hour, 24*time.Hour)
		b.start()
		defer b.stop()
		began := time.Now()
		if err := b.move(); err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(began); waited < 30*time.Second {
			t.Errorf("it was given %v to move", waited)
		}
		if len(p.adopted) > 0 || b.recorded() != oldPort {
			t.Errorf("adopted %v", p.adopted)
		}
		b.wantState(fleet.ConfigInSync, "")
	})
}

// Muster is killed after the daemon took the new port and before it knew: the record still has the old one, which
// answers for a while.
func TestANewPortSurvivesACrash(t *testing.T) {
	in(t, func(t *testing.T) {
		b, p := moving(t, 3*time.Second, 5*time.Second)
		b.step = func(name string) {
			if name == reconcile.StepAfterWrite+"1" {
				killed()
			}
		}
		b.start()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, _, err := b.engine.Apply(ctx, b.id, b.plan().Digest, consent("gui.address")); err == nil {
			t.Error("the apply answered although it was killed")
		}
		b.stop()
		b.step = nil
		b.start()
		defer func() { b.stop() }()
		time.Sleep(time.Minute)
		synctest.Wait()
		b.engine.Online(b.id)
		synctest.Wait()
		if got := fmt.Sprint(p.adopted); got != "[9999]" {
			t.Errorf("adopted %s", got)
		}
		b.wantState(fleet.ConfigInSync, "")
		b.wantWrites(1)
	})
}
