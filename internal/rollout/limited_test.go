package rollout

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"muster/internal/fleet"
)

// limited is a fleet of 20 with a rollout that the blast limit holds in its first wave, and the number of the device in it.
func limited(t *testing.T) (d *daemons, first int, stop func()) {
	t.Helper()
	d = newDaemons(t, 20, Options{Soak: time.Second, BlastLimit: Limit{Devices: 12}}, "options.x", "options.y", "options.z")
	stop = d.run()
	d.store.change(fleet.GenerationChange{TemplateTags: []fleet.TemplateTagChange{
		{Template: 1, Tag: "all", Carried: true}, {Template: 2, Tag: "all", Carried: true}}})
	d.settled()
	r := d.store.rollouts[0]
	if r.Blast == "" || r.Wave != 1 || d.having("options.x")+d.having("options.y") != 0 {
		t.Fatalf("got %+v: want the first wave held", r)
	}
	return d, slices.Index(d.all, r.Members[0].Device), stop
}

// answered consents to whatever waits in a rollout, until it succeeds.
func (d *daemons) answered(id int64) {
	d.t.Helper()
	for range 30 {
		d.look(d.all...)
		after(10 * time.Second)
		now, err := d.runner.Rollout(d.t.Context(), id)
		if err != nil {
			d.t.Fatal(err)
		}
		if now.Status == fleet.RolloutSucceeded {
			return
		}
		for _, m := range now.Members {
			made, err := d.Plan(d.t.Context(), m.Device)
			if err != nil || m.State != fleet.MemberHeld {
				continue
			}
			var keys []string
			for _, c := range made.Changes {
				keys = append(keys, c.Key.String())
			}
			if _, err := d.runner.Consent(d.t.Context(), id, Answer{Digest: made.Digest, Consent: keys}); err != nil {
				d.t.Fatal(err)
			}
			break
		}
	}
	d.t.Fatalf("rollout %d did not succeed", id)
}

// Whoever was admitted and waits for consent goes on waiting when another change supersedes the rollout.
func TestTheBlastLimitHoldsBeyondTheRolloutThatItMade(t *testing.T) {
	for name, supersede := range map[string]func(d *daemons, first int){
		"by a tag on another member": func(d *daemons, first int) { d.store.tagDevice((first+1)%20, "one") },
		"by a tag on the first one":  func(d *daemons, first int) { d.store.tagDevice(first, "one") },
		"by a change for everybody":  func(d *daemons, _ int) { d.store.tagTemplate(3, "all", true) },
		"twice": func(d *daemons, first int) {
			d.store.tagDevice((first+1)%20, "one")
			d.settled()
			d.store.tagDevice((first+2)%20, "one")
		},
	} {
		for _, restart := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					d, first, stop := limited(t)
					defer func() { stop() }()
					d.store.tagTemplate(3, "one", true)
					if restart {
						stop()
						stop = d.run()
					}
					supersede(d, first)
					d.settled()
					if restart {
						stop()
						stop = d.run()
					}
					d.settled()
					d.settled()
					if x, y := d.having("options.x"), d.having("options.y"); x+y != 0 {
						t.Fatalf("%d and %d devices have it without consent", x, y)
					}
					newest := int64(len(d.store.rollouts))
					if r := d.store.rollouts[newest-1]; r.Blast == "" || len(r.Members) != 20 {
						t.Fatalf("got %+v: want a rollout of everybody, held too", r)
					}
					d.answered(newest)
					if x, y := d.having("options.x"), d.having("options.y"); x != 20 || y != 20 {
						t.Errorf("%d and %d devices have it after consent, want all", x, y)
					}
				})
			})
		}
	}
}

// A consent to one of two changes is none to the other.
func TestTheBlastLimitHoldsWhatIsLeftOfAMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, first, stop := limited(t)
		defer func() { stop() }()
		made, err := d.Plan(t.Context(), deviceN(first))
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Apply(t.Context(), deviceN(first), made.Digest, []string{"options.x"}, nil); err != nil {
			t.Fatal(err)
		}
		d.store.tagTemplate(3, "one", true)
		d.store.tagDevice((first+1)%20, "one")
		d.settled()
		d.settled()
		if x, y := d.having("options.x"), d.having("options.y"); x != 1 || y != 0 {
			t.Errorf("%d devices have the one, %d the other; want 1 and 0", x, y)
		}
	})
}

// What everybody waited for is taken back: nobody waits for anything.
func TestAChangeBeyondTheBlastLimitThatIsTakenBackLeavesNoRollout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, _, stop := limited(t)
		defer func() { stop() }()
		d.store.change(fleet.GenerationChange{TemplateTags: []fleet.TemplateTagChange{{Template: 1, Tag: "all"}, {Template: 2, Tag: "all"}}})
		d.settled()
		if got := d.store.rollouts; len(got) != 1 || got[0].Status != fleet.RolloutSuperseded || len(d.store.holds) != 0 {
			t.Errorf("got %+v", got)
		}
	})
}

// An undo takes back what was not consented to: nobody gets it in between.
func TestTheBlastLimitHoldsUntilAnUndoIsSettled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, first, stop := limited(t)
		defer func() { stop() }()
		held := ""
		d.runner.o.Changed = func(r fleet.Rollout) {
			if r.Status == fleet.RolloutUndoing {
				held = d.runner.HoldAll(deviceN(first))
				d.look(deviceN(first))
			}
		}
		if _, err := d.runner.Undo(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		after(time.Second)
		if x := d.having("options.x"); held == "" || x != 0 || d.runner.HoldAll(deviceN(first)) != "" {
			t.Errorf("held %q until the undo is settled, %q after; %d devices have it", held, d.runner.HoldAll(deviceN(first)), x)
		}
	})
}
