package rollout

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"muster/internal/fleet"
	"muster/internal/plan"
)

// mixed is a rollout beyond the blast limit that was taken over by a change which touches some of its members and six
// more, and the number of the device that it had admitted. Device 19 is one of the six; something waits there since before.
func mixed(t *testing.T) (d *daemons, first int, stop func()) {
	t.Helper()
	d = newDaemons(t, 20, Options{Soak: time.Second, BlastLimit: Limit{Devices: 12}}, "options.x", "options.y", "options.z", "folders.own@own")
	for n := range 14 {
		d.store.tagDevice(n, "limited")
	}
	for n := 9; n < 20; n++ {
		d.store.tagDevice(n, "mixed")
	}
	stop = d.run()
	d.settled()
	d.store.tagTemplate(1, "limited", true)
	d.settled()
	d.store.tagTemplate(2, "late", true)
	d.store.tagDevice(19, "late") // after the rollout began, and none of its business
	d.store.retagDevice(19, "own", false)
	d.settled()
	d.store.tagTemplate(3, "mixed", true)
	d.settled()
	if all := d.store.rollouts; len(all) != 2 || all[0].Blast == "" || all[0].Wave != 1 || len(all[0].Members) != 14 ||
		all[1].Blast == "" || all[1].Status != fleet.RolloutRunning || len(all[1].Members) != 20 || d.having("options.y") != 1 {
		t.Fatalf("got %+v", all)
	}
	return d, slices.Index(d.all, d.store.rollouts[0].Members[0].Device), stop
}

// Who had nothing to do with a rollout beyond the blast limit is not held before its turn in the one that takes it over:
// drift is corrected there, and what waited before is known.
func TestTheBlastLimitHoldsNobodyBeforeItsTurn(t *testing.T) {
	for name, restart := range map[string]bool{"at once": false, "after a restart": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, first, stop := mixed(t)
				defer func() { stop() }()
				if restart {
					stop()
					stop = d.run()
					d.settled()
				}
				if d.runner.HoldAll(deviceN(first)) == "" {
					t.Error("who was admitted without consent is held no more")
				}
				now := d.store.rollouts[1]
				for _, m := range now.Members {
					if held := d.runner.HoldAll(m.Device); m.Wave > now.Wave && m.Device != deviceN(first) && held != "" {
						t.Errorf("device %d is held before its turn: %s", slices.Index(d.all, m.Device), held)
					}
				}
				own := d.runner.sameWish(plan.Change{Key: d.key("folders.own")}.Wish())
				if m, _ := now.Member(deviceN(19)); !slices.Equal(m.Held, []string{own}) {
					t.Errorf("it is not known what waited on device 19: %v", m.Held)
				}
				if x, z := d.having("options.x"), d.having("options.z"); x != 0 || z != 0 {
					t.Errorf("%d and %d devices have it without consent", x, z)
				}
				d.answered(2)
				if x, z := d.having("options.x"), d.having("options.z"); x != 14 || z != 11 {
					t.Errorf("%d and %d devices have it after consent, want 14 and 11", x, z)
				}
			})
		})
	}
}

// Taken over once more, by a change of somebody else, it is the same: who was admitted without consent stays held, and
// nobody else.
func TestTheBlastLimitHoldsTheSameWhenTakenOverAgain(t *testing.T) {
	for name, restarts := range map[string][2]bool{"no restart": {}, "a restart before": {true, false}, "a restart after": {false, true}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, first, stop := mixed(t)
				defer func() { stop() }()
				admitted := []fleet.DeviceID{deviceN(first), d.store.rollouts[1].Members[0].Device}
				for i, restart := range restarts {
					if restart {
						stop()
						stop = d.run()
						d.settled()
					}
					if i == 0 {
						d.store.tagDevice(first, "late")
						d.settled()
					}
				}
				if all := d.store.rollouts; len(all) != 3 || all[2].Status != fleet.RolloutRunning {
					t.Fatalf("got %+v", all)
				}
				now := d.store.rollouts[2]
				for _, m := range now.Members {
					want := m.Wave <= now.Wave || slices.Contains(admitted, m.Device)
					if got := d.runner.HoldAll(m.Device) != ""; got != want {
						t.Errorf("device %d of wave %d: held %t, want %t", slices.Index(d.all, m.Device), m.Wave, got, want)
					}
				}
				if x, z := d.having("options.x"), d.having("options.z"); x != 0 || z != 0 {
					t.Errorf("%d and %d devices have it without consent", x, z)
				}
				d.answered(3)
				if x, z := d.having("options.x"), d.having("options.z"); x != 14 || z != 11 {
					t.Errorf("%d and %d devices have it after consent, want 14 and 11", x, z)
				}
			})
		})
	}
}
