package rollout

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"muster/internal/fleet"
)

// goesOn fails unless a rollout is in this wave still, and everybody has a turn.
func (d *daemons) goesOn(id int64, wave int, when string) fleet.Rollout {
	d.t.Helper()
	now, err := d.runner.Rollout(d.t.Context(), id)
	if err != nil {
		d.t.Fatal(err)
	}
	absent := slices.ContainsFunc(now.Members, func(m fleet.RolloutMember) bool { return m.Wave == 0 })
	if now.Status != fleet.RolloutRunning || now.Wave != wave || absent || len(now.Members) != len(d.all) {
		d.t.Fatalf("%s: got %s in wave %d of %v, somebody absent: %t (%s)", when, now.Status, now.Wave, now.Waves, absent, now.Reason)
	}
	return now
}

// says fails unless what stands there of the first rollout tells this, or does not.
func (d *daemons) says(what string, want bool) {
	d.t.Helper()
	now, err := d.runner.Rollout(d.t.Context(), 1)
	if got := strings.Contains(now.Reason, what); err != nil || got != want {
		d.t.Errorf("it says %q (%v): %q there: want %t", now.Reason, err, what, want)
	}
}

// Whoever is not watched because a mode says so cannot answer, and that is nobody's fault.
func TestPausingWatchesHaltsNoRollout(t *testing.T) {
	for name, written := range map[string]bool{"of who was written to": true, "of who was not": false} {
		for who, pick := range map[string]func(d *daemons, first fleet.DeviceID) []fleet.DeviceID{
			"everybody":      func(d *daemons, _ fleet.DeviceID) []fleet.DeviceID { return d.all },
			"only that one":  func(_ *daemons, first fleet.DeviceID) []fleet.DeviceID { return []fleet.DeviceID{first} },
			"and a few more": func(d *daemons, first fleet.DeviceID) []fleet.DeviceID { return append(d.all[:5:5], first) },
		} {
			t.Run(name+", "+who, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					d := newDaemons(t, 20, Options{Soak: 5 * time.Minute}, "options.x")
					defer d.run()()
					for _, s := range d.sites {
						s.idle = !written
					}
					d.store.tagTemplate(1, "all", true)
					d.settled()
					first := d.store.rollouts[0].Members[0].Device
					paused := pick(d, first)

					d.mode(fleet.ModePaused, paused...)
					after(30 * time.Minute)
					now := d.goesOn(1, 1, "while it is paused")
					if !strings.Contains(now.Next, "mode is paused") || now.Members[0].State != fleet.MemberHeld {
						t.Errorf("got next %q, of the member %s (%s)", now.Next, now.Members[0].State, now.Members[0].Reason)
					}

					d.resumes(paused...)
					after(30 * time.Minute)
					if now = d.goesOn(1, 1, "before it is known who can be reached"); strings.Contains(now.Next, "paused") {
						t.Errorf("got next %q when nothing is paused", now.Next)
					}
					for _, s := range d.sites {
						s.idle = false
					}
					d.contacted(paused...)
					d.look(d.all...)
					d.becomes(1, fleet.RolloutSucceeded, 20*time.Minute)
					if x := d.having("options.x"); x != len(d.all) {
						t.Errorf("%d devices have it", x)
					}
				})
			})
		}
	}
}

// Who could not be reached before the pause cannot be reached after it: that halts the rollout as ever.
func TestWhoDoesNotAnswerAfterAPauseHaltsTheRollout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDaemons(t, 20, Options{Soak: 5 * time.Minute}, "options.x")
		defer d.run()()
		d.store.tagTemplate(1, "all", true)
		d.settled()
		first := d.store.rollouts[0].Members[0].Device
		d.mode(fleet.ModePaused, first)
		after(10 * time.Minute)
		d.resumes(first)
		after(time.Second)
		d.away(slices.Index(d.all, first), true)
		d.contacted(first)
		d.becomes(1, fleet.RolloutHalted, 2*time.Minute)
		if h := d.store.rollouts[0].Halt; h.Gate != fleet.GateAPI || h.Device != first {
			t.Errorf("got %+v", h)
		}
	})
}

// A rollout that could not start because of a pause has waves for everybody, not only for the first one contacted.
func TestARolloutWaitsUntilItIsKnownWhoCanBeReachedAfterAPause(t *testing.T) {
	for name, seen := range map[string]bool{"long": true, "so short that nobody saw it": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDaemons(t, 20, Options{Soak: time.Second}, "options.x")
				defer d.run()()
				d.mode(fleet.ModeObserve, d.all...)
				d.store.tagTemplate(1, "all", true)
				d.settled()
				d.mode(fleet.ModePaused, d.all...)
				if seen {
					after(time.Hour)
					d.says("the mode of 20 devices is paused", true)
				}
				d.resumes(d.all...)
				after(2 * restEvery)
				d.says("paused", false)
				for _, id := range d.all[:19] {
					d.contacted(id)
					after(startGrace / 2)
					if got := d.store.rollouts[0]; got.Status != fleet.RolloutWaiting {
						t.Fatalf("got %s while somebody is contacted", got.Status)
					}
				}
				d.becomes(1, fleet.RolloutRunning, 2*startGrace) // nobody waits for the last one for ever
				absent := slices.DeleteFunc(slices.Clone(d.store.rollouts[0].Members), func(m fleet.RolloutMember) bool { return m.Wave > 0 })
				if len(absent) != 1 || absent[0].Device != d.all[19] {
					t.Errorf("%d are absent, want the last one", len(absent))
				}
			})
		})
	}
}

// Devices without an address are found to be away one after the other: among thousands that takes hours.
func TestARolloutDoesNotWaitForEverUntilItIsKnownWhoCanBeReached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDaemons(t, 60, Options{Soak: time.Hour}, "options.x")
		defer d.run()()
		d.mode(fleet.ModeObserve, d.all...)
		d.store.tagTemplate(1, "all", true)
		d.settled()
		d.resumes(d.all...)
		after(time.Hour) // nobody is known to be there
		for n, id := range d.all {
			d.contacted(id)
			const pause = startGrace - 2*restEvery
			after(pause)
			if got := d.store.rollouts[0].Status; got != fleet.RolloutWaiting && time.Duration(n+1)*pause < startMost {
				t.Fatalf("got %s after %d were contacted", got, n+1)
			}
		}
		if got := d.store.rollouts[0].Status; got != fleet.RolloutRunning {
			t.Errorf("got %s after all were contacted", got)
		}
	})
}

// After a pause all wait for the same workers, as at first: while they come back one after the other nobody is late.
func TestPatienceBeginsAnewWhileMembersAreWatchedAgain(t *testing.T) {
	s := begun(t, 20)
	for range 2 {
		s, _ = s.look(seen(s, factGood, nil), testRules, t0)
		s, _ = s.look(seen(s, factGood, nil), testRules, t0.Add(testRules.soak))
	}
	if s.Wave != 3 {
		t.Fatalf("got wave %d", s.Wave)
	}
	now := t0.Add(time.Hour)
	s, _ = s.look(seen(s, factGood, nil), testRules, now)
	facts := seen(s, factHeld, nil)
	for id := range facts {
		facts[id] = fact{kind: factHeld, unwatched: true}
	}
	s, _ = s.look(facts, testRules, now)
	slow := s.Members[0].Device
	facts[slow] = fact{kind: factPending}
	for _, m := range s.Members[1:] {
		facts[m.Device] = fact{kind: factUnseen, unwatched: true}
	}
	for _, m := range s.Members[1:] {
		now = now.Add(testRules.patience)
		facts[m.Device] = fact{kind: factGood}
		if s, _ = s.look(facts, testRules, now); s.Status != fleet.RolloutRunning {
			t.Fatalf("%s while others are watched again: %s", s.Status, s.Reason)
		}
	}
	s, _ = s.look(facts, testRules, now.Add(testRules.patience+time.Second))
	if s.Status != fleet.RolloutHalted || s.Halt.Device != slow {
		t.Errorf("got %s when all others are there", s.Status)
	}
}
