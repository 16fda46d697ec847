package rollout

import (
	"slices"
	"testing"
	"time"

	"muster/internal/fleet"
)

// delete deletes devices.
func (d *daemons) delete(ids ...fleet.DeviceID) {
	for _, id := range ids {
		d.store.deleteDevice(id)
		d.all = slices.DeleteFunc(slices.Clone(d.all), func(other fleet.DeviceID) bool { return other == id })
	}
	for _, id := range ids {
		d.runner.DevicePut(id)
	}
	d.run()
}

// registerAgain deletes a device and registers it again, before the Runner learns of either.
func (d *daemons) registerAgain(id fleet.DeviceID) {
	d.clock = d.clock.Add(time.Millisecond)
	d.store.deleteDevice(id)
	d.store.register(id, d.clock)
	d.sites[id].has, d.sites[id].base = map[string]string{"folders.own": "own"}, map[string]string{}
	d.runner.DevicePut(id)
	d.pass(id)
	d.run()
}

// later are the devices that the newest rollout has not admitted.
func (d *daemons) later() (later []fleet.DeviceID) {
	r := d.newest()
	for _, m := range r.Members {
		if !r.Admitted(m) {
			later = append(later, m.Device)
		}
	}
	return later
}

// A rollout whose devices were all deleted stayed `waiting`.
func TestARolloutEndsWhenNoDeviceOfItIsLeft(t *testing.T) {
	for name, stop := range map[string]func(*daemons){
		"waiting": func(*daemons) {},
		"paused":  func(d *daemons) { _, _ = d.runner.Pause(t.Context(), 1) },
		"halted":  func(d *daemons) { _, _ = d.runner.Halt(t.Context(), 1) },
	} {
		t.Run(name, func(t *testing.T) {
			d := newDaemons(t, 20, testTimes, option)
			for _, s := range d.sites {
				s.away = true
			}
			d.store.tagTemplate(1, "all", true)
			d.changed()
			d.is(1, fleet.RolloutWaiting)
			stop(d)
			d.delete(d.all...)
			d.is(1, fleet.RolloutSucceeded)
			if r := d.newest(); r.Reason != "none of its devices is registered any more" || r.EndedAt.IsZero() {
				t.Errorf("got %q", r.Reason)
			}
		})
	}
}

func TestARolloutEndsWhenTheDevicesThatItWaitsForAreDeleted(t *testing.T) {
	d := rolling(t, 20)
	d.after(45 * time.Second)
	later := d.later()
	if r := d.newest(); r.Wave != 2 || len(later) != 17 {
		t.Fatalf("got wave %d, %d later", r.Wave, len(later))
	}
	d.delete(later...)
	if r := d.newest(); !slices.Equal(r.Waves, []int{1, 2}) {
		t.Errorf("got waves %v", r.Waves)
	}
	d.after(time.Minute)
	d.is(1, fleet.RolloutSucceeded)
	if r := d.newest(); r.Reason != "3 devices passed all gates" {
		t.Errorf("got %q", r.Reason)
	}
}

// A wave whose devices were deleted proves nothing: the devices of the next one do not follow all at once.
func TestAWaveWhoseDevicesWereDeletedIsMadeAnew(t *testing.T) {
	d := rolling(t, 20)
	d.delete(d.first())
	if r := d.newest(); r.Status != fleet.RolloutRunning || r.Wave != 1 || !slices.Equal(r.Waves, []int{1, 2, 16}) ||
		d.having("options.x", "1") != 2 {
		t.Fatalf("got %s in wave %d of %v, %d have it", r.Status, r.Wave, r.Waves, d.having("options.x", "1"))
	}
	d.after(5 * time.Minute)
	d.is(1, fleet.RolloutSucceeded)
}

// The restart finds what was deleted right before a crash.
func TestARestartFindsThatDevicesWereDeleted(t *testing.T) {
	d := newDaemons(t, 20, testTimes, option)
	for _, s := range d.sites {
		s.away = true
	}
	d.store.tagTemplate(1, "all", true)
	d.changed()
	for _, id := range d.all {
		d.store.deleteDevice(id)
	}
	d.all = nil
	d.restart()
	d.is(1, fleet.RolloutSucceeded)
}

// A device that was deleted and registered again stayed a member: its trouble halted a rollout that it has no part in.
func TestADeviceThatIsRegisteredAgainHaltsNothing(t *testing.T) {
	d := rolling(t, 20)
	d.after(45 * time.Second)
	again := d.newest().Members[1].Device
	d.registerAgain(again)
	d.set(again, func(s *site) { s.errors = map[string]string{"x": "no space"} })
	d.after(5 * time.Minute)
	r := d.newest()
	if r.Status != fleet.RolloutSucceeded || r.Reason != "19 devices passed all gates" {
		t.Errorf("got %s: %s", r.Status, r.Reason)
	}
	if _, is := r.Member(again); is {
		t.Error("it is still a member")
	}
}

// It was held at a generation of the device that was deleted, and its own tags did not count.
func TestADeviceThatIsRegisteredAgainIsNotHeld(t *testing.T) {
	d := newDaemons(t, 20, testTimes, option)
	for _, s := range d.sites {
		s.stuck = true
	}
	d.store.tagTemplate(1, "all", true)
	d.changed()
	again := d.first()
	d.sites[again].away = true
	d.registerAgain(again)
	if hold, held := d.store.admission.Hold(again); held {
		t.Errorf("it is held: %+v", hold)
	}
	if _, is := d.store.rollouts[0].Member(again); is {
		t.Error("it is still a member")
	}
}
