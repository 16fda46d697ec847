package rollout

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"muster/internal/fleet"
)

// undone20 is a fleet of 20 devices after the undo of the removal of a folder, of which one device is prepared.
func undone20(t *testing.T, prepare func(*site)) (d *daemons, special fleet.DeviceID) {
	t.Helper()
	d = newDaemons(t, 20, testTimes, generatedTemplates...)
	d.store.tagTemplate(1, "all", true)
	d.changed()
	d.consent()
	d.after(5 * time.Minute)
	d.is(1, fleet.RolloutSucceeded)
	special = d.all[4]
	d.set(special, prepare)
	if _, err := d.undo(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	d.changed()
	return d, special
}

// The undo's rollout stayed `running` until the person answered.
func TestAnUndoEndsAlthoughADeviceWaitsForAPerson(t *testing.T) {
	for name, prepare := range map[string]func(*site){
		"observed": func(s *site) { s.mode = fleet.ModeObserve },
		"paused":   func(s *site) { s.mode = fleet.ModePaused },
	} {
		t.Run(name, func(t *testing.T) {
			d, special := undone20(t, prepare)
			d.is(2, fleet.RolloutSucceeded)
			r := d.newest()
			if r.Reason != "19 devices are back" || !strings.Contains(r.Next, string(special)) ||
				!strings.Contains(r.Next, "waits for a person") || r.EndedAt.IsZero() {
				t.Errorf("got %q, next %q", r.Reason, r.Next)
			}
			if m, _ := r.Member(special); m.State != fleet.MemberAdmitted {
				t.Errorf("its device is shown as %s", m.State)
			}
			d.set(special, func(s *site) { s.mode = fleet.ModeOn })
			d.after(time.Minute)
			if err := d.arrived(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAnUndoEndsAlthoughADeviceIsAway(t *testing.T) {
	d, special := undone20(t, func(s *site) { s.away = true })
	d.is(2, fleet.RolloutSucceeded)
	if r := d.newest(); r.Reason != "19 devices are back" || !strings.Contains(r.Next, "1 device is away") {
		t.Errorf("got %q, next %q", r.Reason, r.Next)
	}
	d.set(special, func(s *site) { s.away = false })
	if err := d.arrived(); err != nil {
		t.Error(err)
	}
}

// The undo's rollout stayed `running`, and did not say which device failed.
func TestAnUndoHaltsAtAFailedGate(t *testing.T) {
	fails := func(s *site) { s.fails = "line 3" }
	halted := func(t *testing.T) (*daemons, fleet.DeviceID) {
		t.Helper()
		d, special := undone20(t, fails)
		r := d.newest()
		if r.Status != fleet.RolloutHalted || r.Halt.Device != special || r.Halt.Gate != fleet.GatePlan ||
			!strings.Contains(r.Reason, "line 3") || !strings.Contains(r.Next, "muster rollout resume 2") {
			t.Fatalf("got %s: %s (%s)", r.Status, r.Reason, r.Next)
		}
		if n := d.having("folders.own", "own"); n != 19 {
			t.Errorf("%d devices are back, want the other 19", n)
		}
		return d, special
	}
	t.Run("until the device is back", func(t *testing.T) {
		d, special := halted(t)
		d.set(special, func(s *site) { s.fails = "" })
		d.after(time.Minute)
		d.is(2, fleet.RolloutSucceeded)
		if r := d.newest(); r.Reason != "20 devices are back" || r.Halt != nil {
			t.Errorf("got %q, %+v", r.Reason, r.Halt)
		}
	})
	t.Run("until a person resumes it", func(t *testing.T) {
		d, _ := halted(t)
		if _, err := d.runner.Resume(t.Context(), 2); err != nil {
			t.Fatal(err)
		}
		d.after(time.Minute)
		d.is(2, fleet.RolloutSucceeded)
		if r := d.newest(); r.Reason != "19 devices are back; it was resumed in spite of 1 device" {
			t.Errorf("got %q", r.Reason)
		}
	})
}

func TestAnUndoHaltsWhenADeviceMakesNoProgress(t *testing.T) {
	d, special := undone20(t, func(s *site) { s.stuck = true })
	d.is(2, fleet.RolloutRunning)
	d.after(testTimes.ProgressDeadline)
	r := d.newest()
	if r.Status != fleet.RolloutHalted || r.Halt.Device != special || !strings.Contains(r.Reason, "no progress") {
		t.Fatalf("got %s: %s", r.Status, r.Reason)
	}
	d.set(special, func(s *site) { s.stuck = false })
	d.after(time.Minute)
	d.is(2, fleet.RolloutSucceeded)
}

// A halted undo has admitted all its devices: nothing of it is left that a later change could keep waiting.
func TestAHaltedUndoKeepsNoLaterChangeWaiting(t *testing.T) {
	d, special := undone20(t, func(s *site) { s.fails = "line 3" })
	d.is(2, fleet.RolloutHalted)
	d.sites[special].fails = ""
	d.store.tagTemplate(3, "all", true)
	d.changed()
	d.is(2, fleet.RolloutSuperseded)
	d.is(3, fleet.RolloutRunning)
	d.after(5 * time.Minute)
	d.consent() // what the undo consented to is asked for anew
	d.after(time.Minute)
	d.is(3, fleet.RolloutSucceeded)
	if err := d.arrived(); err != nil {
		t.Error(err)
	}
}

// lostStore is a store that cannot be read after an undo.
type lostStore struct {
	*memoryStore
	lost bool
}

func (s *lostStore) Rollout(ctx context.Context, id int64) (fleet.Rollout, error) {
	if s.lost {
		return fleet.Rollout{}, errors.New("the connection is lost")
	}
	return s.memoryStore.Rollout(ctx, id)
}

// The rollout was read again after the commit, and an error of that read was the answer of an undo that was done.
func TestAnUndoReadsNothingAfterItsCommit(t *testing.T) {
	d := newDaemons(t, 20, testTimes, generatedTemplates...)
	d.store.tagTemplate(1, "all", true)
	d.changed()
	d.consent()
	d.after(5 * time.Minute)
	d.is(1, fleet.RolloutSucceeded)
	store := &lostStore{memoryStore: d.store}
	d.runner.o.Store, d.runner.o.Step = store, func(name string) { store.lost = store.lost || name == StepAfterUndo }
	undone, err := d.undo(t.Context(), 1)
	if err != nil || undone.Status != fleet.RolloutUndone || undone.UndoneBy == 0 || len(undone.Members) != 20 {
		t.Fatalf("got %+v, %v", undone, err)
	}
	store.lost = false
	if read, err := d.runner.Rollout(t.Context(), 1); err != nil || !reflect.DeepEqual(read, undone) {
		t.Errorf("answered\n%+v, and it is\n%+v, %v", undone, read, err)
	}
}
