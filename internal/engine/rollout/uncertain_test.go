package rollout

import (
	"errors"
	"testing"
	"time"

	"muster/internal/fleet"
)

var errLost = errors.New("the answer to the COMMIT was lost")

// agrees fails unless the Runner drives what the store has.
func (d *daemons) agrees() {
	for _, r := range d.store.rollouts {
		l := d.runner.live[r.ID]
		switch {
		case l == nil && !r.Status.Over():
			d.t.Fatalf("rollout %d is %s, and the Runner does not know it", r.ID, r.Status)
		case l != nil && (l.Status != r.Status || l.Wave != r.Wave):
			d.t.Fatalf("the Runner has rollout %d %s in wave %d, the store %s in wave %d", r.ID, l.Status, l.Wave,
				r.Status, r.Wave)
		}
	}
}

// A rollout that was kept although the answer was lost was driven by nobody: its devices stayed held.
func TestARolloutBeginsWhenTheAnswerToItsSettlementIsLost(t *testing.T) {
	d := newDaemons(t, 20, testTimes, option)
	d.store.lost = errLost
	d.store.tagTemplate(1, "all", true)
	d.changed()
	d.after(5 * time.Minute)
	d.agrees()
	if err := d.arrived(); err != nil || len(d.store.rollouts) != 1 {
		t.Errorf("%v, %d rollouts", err, len(d.store.rollouts))
	}
}

// A gate that failed right after a wave whose answer was lost halted the rollout in the wave before.
func TestAHaltAfterALostAnswerKeepsTheWaveThatWasAdmitted(t *testing.T) {
	d := rolling(t, 20)
	d.clock = d.clock.Add(testTimes.SoakTime)
	d.store.lost = errLost
	d.runner.step(t.Context())
	d.set(d.first(), func(s *site) { s.errors = map[string]string{"x": "no space"} })
	d.after(time.Minute)
	d.agrees()
	r := d.store.rollouts[0]
	if r.Status != fleet.RolloutHalted || r.Wave != 2 {
		t.Errorf("got %s in wave %d, want it halted in wave 2", r.Status, r.Wave)
	}
	for _, m := range r.Members {
		if _, held := d.store.admission.Hold(m.Device); held == r.Admitted(m) {
			t.Errorf("%s is in wave %d of %d; held %v", m.Device.Short(), m.Wave, r.Wave, held)
		}
	}
}

// The rollout that was undone went on to be driven, and halted.
func TestAnUndoWithALostAnswerIsDone(t *testing.T) {
	d := rolling(t, 20)
	d.store.lost = errLost
	if _, err := d.undo(t.Context(), 1); !errors.Is(err, errLost) {
		t.Fatalf("got %v, want the error of the store", err)
	}
	d.set(d.store.rollouts[0].Members[0].Device, func(s *site) { s.errors = map[string]string{"x": "no space"} })
	d.after(time.Minute)
	d.agrees()
	d.is(1, fleet.RolloutUndone)
	d.is(2, fleet.RolloutSucceeded)
	_, err := d.undo(t.Context(), 1)
	wantCode(t, err, fleet.CodeConflict)
}

// What a person asks for after a write that failed is answered by what was kept.
func TestAPersonAfterALostAnswerSeesWhatWasKept(t *testing.T) {
	d := rolling(t, 20)
	d.store.lost = errLost
	if _, err := d.runner.Halt(t.Context(), 1); !errors.Is(err, errLost) {
		t.Fatalf("got %v, want the error of the store", err)
	}
	r, err := d.runner.Resume(t.Context(), 1)
	if err != nil || r.Status != fleet.RolloutRunning || d.store.rollouts[0].Status != fleet.RolloutRunning {
		t.Errorf("got %s in the store %s, %v: want the halted one resumed", r.Status, d.store.rollouts[0].Status, err)
	}
}

// The Runner asked a store that could not be written without a pause, with a whole core.
func TestAStoreThatCannotBeWrittenIsAskedAgainAfterAPause(t *testing.T) {
	d := rolling(t, 20)
	d.clock = d.clock.Add(testTimes.SoakTime)
	d.store.broken = errors.New("disk full")
	next := d.runner.step(t.Context())
	if d.store.refused != 1 || !next.Equal(d.clock.Add(saveAgain)) {
		t.Errorf("it was asked %d times, and is asked again after %v", d.store.refused, next.Sub(d.clock))
	}
	d.store.broken = nil
	d.after(5 * time.Minute)
	d.agrees()
	d.is(1, fleet.RolloutSucceeded)
}
