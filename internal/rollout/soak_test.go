package rollout

import (
	"testing"
	"testing/synctest"
	"time"

	"muster/internal/fleet"
)

// Daemons tell their status every minute, which is news, and says nothing about a gate. With many members somebody always
// has news.
func TestStatusesDoNotKeepTheSoakTimeFromEnding(t *testing.T) {
	for name, before := range map[string]func(*daemons){
		"nothing changes for the members": func(d *daemons) {
			for _, s := range d.sites {
				s.has["options.x"] = false
			}
		},
		"something waits on them since before": func(d *daemons) {
			for n := range d.all {
				d.store.retagDevice(n, "own", false)
			}
			d.settled()
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDaemons(t, 30, Options{}, "options.x", "folders.own@own")
				defer d.run()()
				before(d)
				defer d.report()()
				d.store.tagTemplate(1, "all", true)
				d.runner.Wake()
				d.becomes(1, fleet.RolloutSucceeded, 3*time.Minute) // of soaking it takes half of that
			})
		})
	}
}

// What was good is good no more when something else is seen of it: soaking starts anew.
func TestAChangeAtADaemonStartsTheSoakTimeAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDaemons(t, 11, Options{}, "options.x")
		for _, s := range d.sites {
			s.has["options.x"] = false
		}
		defer d.run()()
		d.store.tagTemplate(1, "all", true)
		d.runner.Wake()
		after(20 * time.Second)
		first := d.store.rollouts[0].Members[0].Device
		d.mu.Lock()
		delete(d.sites[first].has, "options.x")
		d.sites[first].idle = true // a person took it away, and nobody has put it back yet
		d.mu.Unlock()
		d.runner.Notice(first)
		after(20 * time.Second)
		if got := d.store.rollouts[0]; got.Wave != 1 || got.Status != fleet.RolloutRunning {
			t.Fatalf("got wave %d, %s, while a plan is not empty", got.Wave, got.Status)
		}
		d.mu.Lock()
		d.sites[first].idle = false
		d.mu.Unlock()
		d.look(first)
		after(20 * time.Second)
		if got := d.store.rollouts[0]; got.Wave != 1 {
			t.Fatalf("got wave %d before the soak time was over", got.Wave)
		}
		d.becomes(1, fleet.RolloutSucceeded, 3*time.Minute)
	})
}
