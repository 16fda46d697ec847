package rollout

import (
	"maps"
	"slices"
	"testing"
	"time"

	"muster/internal/fleet"
)

// revoke revokes a device or ends its revocation, in a generation of its own.
func (d *daemons) revoke(id fleet.DeviceID, revoked bool) {
	if d.store.current().IsRevoked(id) == revoked {
		return
	}
	d.store.change(fleet.GenerationChange{})
	now := d.store.current()
	now.Revocations = maps.Clone(now.Revocations)
	if revoked {
		if now.Revocations == nil {
			now.Revocations = map[fleet.DeviceID]fleet.Revocation{}
		}
		now.Revocations[id] = fleet.Revocation{Device: id}
		d.sites[id].mode = fleet.ModeObserve
	} else {
		delete(now.Revocations, id)
		d.sites[id].mode = fleet.ModeOn
	}
	d.pass(id)
	d.runner.AllChanged()
	d.run()
}

// The mode of a revoked member is observe, so it counted as one that waits for a person: no further wave followed, and
// the rollout stood for ever.
func TestARolloutGoesOnWithoutAMemberThatIsRevoked(t *testing.T) {
	d := newDaemons(t, 20, testTimes, option)
	d.store.tagTemplate(1, "all", true)
	d.changed()
	d.after(45 * time.Second)
	if r := d.newest(); r.Wave != 2 {
		t.Fatalf("got wave %d", r.Wave)
	}
	present, later := d.newest().Members[1].Device, d.later()[0]
	for _, id := range []fleet.DeviceID{present, later} {
		d.revoke(id, true)
		r := d.newest()
		m, _ := r.Member(id)
		if m.State != fleet.MemberAbsent || m.Reason != "it is revoked: the rollout goes on without it" {
			t.Errorf("got %s: %s", m.State, m.Reason)
		}
	}
	d.restart() // What left a rollout is kept.
	d.after(5 * time.Minute)
	d.is(1, fleet.RolloutSucceeded)
	if r := d.newest(); r.Reason != "18 devices passed all gates; 2 devices are revoked" {
		t.Errorf("got %q", r.Reason)
	}
	if holds := d.store.admission.Holds(); len(holds) > 0 {
		t.Errorf("held: %v", holds)
	}
	d.revoke(present, false)
	d.revoke(later, false)
	if err := d.arrived(); err != nil {
		t.Errorf("after the revocations: %v", err)
	}
}

// A wave whose only device was revoked proves nothing: it is made anew with another.
func TestAWaveWhoseDevicesAreRevokedIsMadeAnew(t *testing.T) {
	d := rolling(t, 20)
	was := d.first()
	d.revoke(was, true)
	if r := d.newest(); r.Status != fleet.RolloutRunning || r.Wave != 1 || !slices.Equal(r.Waves, []int{1, 2, 16}) ||
		d.first() == was {
		t.Fatalf("got %s in wave %d of %v, first %s", r.Status, r.Wave, r.Waves, d.first())
	}
	d.after(5 * time.Minute)
	d.is(1, fleet.RolloutSucceeded)
}

func TestARolloutOfRevokedDevicesEnds(t *testing.T) {
	d := newDaemons(t, 20, testTimes, option)
	for _, s := range d.sites {
		s.away = true
	}
	d.store.tagTemplate(1, "all", true)
	d.changed()
	d.is(1, fleet.RolloutWaiting)
	for _, id := range d.all {
		d.revoke(id, true)
	}
	d.is(1, fleet.RolloutSucceeded)
}

// The rollout of an undo waited for a device that was not tried any more, because it was revoked.
func TestAnUndoEndsAlthoughADeviceIsRevoked(t *testing.T) {
	d, special := undone20(t, func(s *site) { s.untried = true })
	d.is(2, fleet.RolloutRunning)
	d.revoke(special, true)
	d.is(2, fleet.RolloutSucceeded)
	if r := d.newest(); r.Reason != "19 devices are back; 1 device is revoked" {
		t.Errorf("got %q", r.Reason)
	}
}
