package rollout

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"muster/internal/fleet"
)

// applies has something else come of every apply from now on; nil: what is asked for.
func (d *daemons) applies(apply func() error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.apply, d.tries = apply, 0
}

func (d *daemons) tried() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.tries
}

// consents answers for whatever waits on a device.
func (d *daemons) consents(id int64, n int) {
	d.t.Helper()
	made, err := d.Plan(d.t.Context(), deviceN(n))
	if err != nil {
		d.t.Fatal(err)
	}
	answer := Answer{Digest: made.Digest}
	for _, c := range made.Changes {
		answer.Consent = append(answer.Consent, c.Key.String())
	}
	if _, err := d.runner.Consent(d.t.Context(), id, answer); err != nil {
		d.t.Fatal(err)
	}
}

const refusal = "the daemon answered 500"

func refuse() error { return &fleet.Error{Code: fleet.CodeUnavailable, Message: refusal} }

// A consent that cannot be applied is no longer a person's matter: it is tried again more and more seldom, and halts the
// rollout like a free change that does not arrive.
func TestAConsentThatCannotBeAppliedHaltsTheRollout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, first, stop := limited(t)
		defer func() { stop() }()
		d.applies(refuse)
		d.consents(1, first)
		after(10 * time.Second)
		if got := d.tried(); got < 2 || got > 5 {
			t.Errorf("tried %d times in ten seconds", got)
		}
		now, err := d.runner.Rollout(t.Context(), 1)
		if err != nil || strings.Contains(now.Next, "person") || !strings.Contains(now.Members[0].Reason, refusal) {
			t.Errorf("got next %q, of the member %q, %v", now.Next, now.Members[0].Reason, err)
		}
		d.becomes(1, fleet.RolloutHalted, 2*time.Minute)
		if h := d.store.rollouts[0].Halt; h.Gate != fleet.GatePlan || h.Device != deviceN(first) || !strings.Contains(h.Saw, refusal) {
			t.Errorf("got %+v", h)
		}
	})
}

// What went wrong may pass: nobody has to answer twice.
func TestAConsentThatCouldNotBeAppliedFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, first, stop := limited(t)
		defer func() { stop() }()
		d.applies(refuse)
		d.consents(1, first)
		after(20 * time.Second)
		d.applies(nil)
		d.becomes(1, fleet.RolloutSucceeded, 5*time.Minute)
		if x, y := d.having("options.x"), d.having("options.y"); x != 20 || y != 20 {
			t.Errorf("%d and %d devices have it after consent, want all", x, y)
		}
	})
}

// Nothing halts an undo. It may go on for weeks, so it must not be a burden.
func TestAnUndoThatCannotBeAppliedIsTriedMoreAndMoreSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, stop := undone(t, nil)
		defer func() { stop() }()
		d.applies(refuse)
		d.away(13, false)
		after(time.Hour)
		if got := d.tried(); got < 30 || got > 80 {
			t.Errorf("the device was tried %d times in an hour", got)
		}
		d.applies(nil)
		d.becomes(1, fleet.RolloutUndone, 2*time.Minute)
	})
}

// A change that needs another one waits on although it is consented to, until a person answers to the other, too.
func TestAConsentThatHasToWaitIsGivenMoreAndMoreSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, first, stop := limited(t)
		defer func() { stop() }()
		d.applies(func() error { return nil })
		d.consents(1, first)
		after(time.Hour)
		now, err := d.runner.Rollout(t.Context(), 1)
		if got := d.tried(); err != nil || now.Status != fleet.RolloutRunning || got < 30 || got > 80 {
			t.Errorf("%s, given %d times in an hour, %v", now.Status, got, err)
		}
	})
}

// Where Muster only observes, a consent waits until it may write. That is nothing to try.
func TestAConsentWaitsForTheMode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, first, stop := limited(t)
		defer func() { stop() }()
		d.mode(fleet.ModeObserve, deviceN(first))
		d.applies(refuse)
		d.consents(1, first)
		after(time.Hour)
		now, err := d.runner.Rollout(t.Context(), 1)
		if err != nil || now.Status != fleet.RolloutRunning || now.Members[0].State != fleet.MemberHeld ||
			!strings.Contains(now.Members[0].Reason, "mode") || d.tried() != 0 {
			t.Errorf("got %s (%s), tried %d times: %v", now.Status, now.Members[0].Reason, d.tried(), err)
		}
		d.applies(nil)
		d.mode(fleet.ModeOn, deviceN(first))
		d.becomes(1, fleet.RolloutSucceeded, 5*time.Minute)
	})
}
