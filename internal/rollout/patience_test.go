package rollout

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"muster/internal/fleet"
)

// In a large fleet it takes longer than the patience for one device until Muster gets round to all of them.
func TestALargeFleetIsNotLate(t *testing.T) {
	for name, prepare := range map[string]func(d *daemons){
		"nothing changes, and nobody has news": func(d *daemons) {
			for _, s := range d.sites {
				s.has["options.x"] = false
			}
		},
		"one after the other is written to": func(d *daemons) {
			d.pace = 50 * time.Millisecond
		},
		"and all of them had something that waits": func(d *daemons) {
			d.pace = 50 * time.Millisecond
			for _, s := range d.sites {
				s.has["folders.old"] = true
			}
			d.look(d.all...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDaemons(t, 500, Options{Soak: time.Second, Patience: 4 * time.Second}, "options.x")
				defer d.run()()
				prepare(d)
				d.store.tagTemplate(1, "all", true)
				d.runner.Wake()
				d.becomes(1, fleet.RolloutSucceeded, 5*time.Minute)
				if got := d.having("options.x"); got != len(d.all) {
					t.Errorf("%d devices have it", got)
				}
			})
		})
	}
}

// Who stays behind when all others are there is late, however many they are.
func TestALateMemberOfALargeFleetHaltsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDaemons(t, 100, Options{Soak: time.Second, Patience: 4 * time.Second}, "options.x")
		d.pace = 100 * time.Millisecond
		late := slices.Max(d.all) // in the last wave
		d.sites[late].idle = true
		defer d.run()()
		d.store.tagTemplate(1, "all", true)
		d.runner.Wake()
		d.becomes(1, fleet.RolloutHalted, 2*time.Minute)
		if h := d.store.rollouts[0].Halt; h.Gate != fleet.GatePlan || h.Device != late || d.having("options.x") != len(d.all)-1 {
			t.Errorf("got %+v, %d devices have it", h, d.having("options.x"))
		}
	})
}
