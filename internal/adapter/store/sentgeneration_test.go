package store

import (
	"testing"

	"muster/internal/fleet"
)

func (m *meddled) wantTouched(what string, generation int64, want bool) {
	m.t.Helper()
	if got := must(m.Touched(m.t.Context(), deviceN(1).ID, generation))(m.t); got != want {
		m.t.Errorf("%s: the device is touched for generation %d: %t, want %t", what, generation, got, want)
	}
}

// begin begins an intent of the first device.
func (m *meddled) begin(generation int64) (id int64) {
	m.t.Helper()
	return must(m.BeginIntent(m.t.Context(), fleet.Intent{Device: deviceN(1).ID, Generation: generation,
		Writes: []byte("writes")}, nil))(m.t)
}

func (m *meddled) finish(id int64, outcome fleet.Outcome) {
	m.t.Helper()
	if err := m.FinishIntent(m.t.Context(), id, fleet.Ending{Outcome: outcome}); err != nil {
		m.t.Fatal(err)
	}
}

// Somebody who deleted the records of what was sent to a device had a gate of a rollout overlook that device.
func TestDeletedRecordsOfWhatWasSentHaveNoGateOverlookADevice(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		for what, forge := range map[string]func(m *meddled){
			"the intents are deleted": func(m *meddled) { m.exec(`DELETE FROM intents`) },
			"the generation is older": func(m *meddled) { m.exec(`UPDATE sent_generations SET generation = 1, earlier = 1`) },
			"the rows are deleted, and the server starts": func(m *meddled) {
				m.exec(`DELETE FROM sent_generations`)
				m.restart(m.options)
				m.wantMode("the rows are deleted", fleet.ModeOn)
				m.wantNamed("the rows are deleted", "sent_generations")
			},
		} {
			m := newMeddledCopy(t, options)
			m.finish(m.begin(5), fleet.OutcomeApplied)
			m.wantTouched("at first", 5, true)
			m.wantTouched("at first", 6, false)
			m.wantIntact()
			forge(m)
			m.wantTouched(what, 5, true)
		}
	})
}

// A write that was given up before it was sent leaves what the writes before it had done.
func TestWhatWasNotSentTouchesNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		m := newMeddled(t, options)
		m.finish(m.begin(5), fleet.OutcomeApplied)
		m.finish(m.begin(7), fleet.OutcomeAbandoned)
		m.wantTouched("one was not sent", 7, false)
		m.wantTouched("one was not sent", 5, true)
		m.finish(m.begin(5), fleet.OutcomeAbandoned)
		m.wantTouched("a later one of the same generation was not sent", 5, true)
		m.finish(m.begin(4), fleet.OutcomeRejected)
		m.wantTouched("one of an older generation was sent", 5, true)
		m.begin(8)
		m.wantTouched("one may have been sent", 8, true)
		m.wantIntact()
	})
}
