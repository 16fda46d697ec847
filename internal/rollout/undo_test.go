package rollout

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"muster/internal/fleet"
)

// undone is a fleet of 14 to which a rollout brought a folder, and on which it is undone while the last one is away.
func undone(t *testing.T, before func(*daemons)) (d *daemons, stop func()) {
	t.Helper()
	d = newDaemons(t, 14, Options{Soak: time.Second}, "folders.brought", "folders.own@own", "folders.other@other")
	stop = d.run()
	d.store.tagTemplate(1, "all", true)
	d.runner.Wake()
	d.becomes(1, fleet.RolloutSucceeded, time.Minute)
	if before != nil {
		before(d)
	}
	d.away(13, true)
	if _, err := d.runner.Undo(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	after(30 * time.Second)
	if got := d.having("folders.brought"); got != 1 {
		t.Fatalf("%d devices have the folder still, want the one that is away", got)
	}
	return d, stop
}

// consentedTo fails unless nobody consented to anything on a device but the removal of that folder, if any.
func (d *daemons) consentedTo(n int, want ...string) {
	d.t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if got := d.sites[deviceN(n)].consented; !slices.Equal(got, want) {
		d.t.Errorf("device %d: the undo consented to %v, want %v", n, got, want)
	}
}

// An undo may be open for weeks, because a device is away. What begins to wait meanwhile is nothing that it brought.
func TestAnOpenUndoConsentsToNoLaterRemoval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, stop := undone(t, nil)
		d.store.retagDevice(5, "own", false)
		d.settled()
		stop()
		stop = d.run() // nor after a restart
		defer func() { stop() }()
		d.settled()
		d.consentedTo(5, "folders.brought")
		if got := d.having("folders.own"); got != 14 {
			t.Errorf("%d devices have the other folder, want all", got)
		}

		d.away(13, false)
		after(10 * time.Second)
		d.consentedTo(13, "folders.brought")
		d.store.retagDevice(5, "own", true)
		d.settled()
		d.becomes(1, fleet.RolloutUndone, time.Minute)
	})
}

// Who is away gets other changes, too, before it comes back. What it has to give up then may be the undo's, or that
// change's: a person decides.
func TestAnUndoLeavesADeviceThatAnotherChangeConcernsToAPerson(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, stop := undone(t, nil)
		defer func() { stop() }()
		d.store.retagDevice(13, "own", false)
		d.settled()
		d.away(13, false)
		after(30 * time.Second)
		d.consentedTo(13)
		now, err := d.runner.Rollout(t.Context(), 1)
		if err != nil || now.Status != fleet.RolloutUndoing || !strings.Contains(now.Next, "waits for a person: "+string(deviceN(13))) {
			t.Errorf("got %s, next %q, %v: want it to say who waits", now.Status, now.Next, err)
		}
	})
}

// Between a rollout's success and its undo something may have begun to wait for a person.
func TestAnUndoLeavesAloneWhatWaitedWhenItWasGiven(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, stop := undone(t, func(d *daemons) {
			d.store.retagDevice(5, "own", false)
			d.store.retagDevice(13, "own", false)
			d.settled()
		})
		d.consentedTo(5, "folders.brought")
		stop()
		stop = d.run()
		defer func() { stop() }()
		d.settled()
		d.away(13, false)
		d.becomes(1, fleet.RolloutUndone, time.Minute)
		d.consentedTo(5, "folders.brought")
		d.consentedTo(13, "folders.brought")
	})
}

// Where nothing changed but what a program sees of the fleet, nobody is asked twice either: who is back is back.
func TestAnUndoLooksAfterADeviceOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, stop := undone(t, nil)
		defer func() { stop() }()
		d.mu.Lock()
		d.sites[deviceN(5)].has["folders.another"] = true
		d.mu.Unlock()
		d.settled()
		d.consentedTo(5, "folders.brought")
		d.away(13, false)
		d.becomes(1, fleet.RolloutUndone, time.Minute)
	})
}

// What a rollout that was taken over had reached belongs to the undo, too; what waits there does not.
func TestAnUndoLeavesAloneWhatWaitsWhereAnEarlierRolloutWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDaemons(t, 14, Options{Soak: time.Hour}, "folders.brought", "folders.own@own")
		stop := d.run()
		defer func() { stop() }()
		d.store.tagTemplate(1, "all", true)
		d.runner.Wake()
		after(10 * time.Second)
		first := d.store.rollouts[0].Members[0].Device
		n := slices.Index(d.all, first)
		d.store.retagDevice((n+1)%14, "own", false) // of another member: the rest is another rollout
		d.settled()
		d.store.change(fleet.GenerationChange{DeviceTags: []fleet.DeviceTagChange{{Device: first, Tag: "own"}}})
		d.settled()
		if _, err := d.runner.Undo(context.Background(), 2); err != nil {
			t.Fatal(err)
		}
		after(30 * time.Second)
		d.consentedTo(n, "folders.brought")
	})
}
