package rollout

import (
	"time"

	"muster/internal/fleet"
)

// tally counts how the admitted members of a rollout stand. An observation costs the same for ten members as for ten
// thousand. It is lost with the process, and made anew from how the devices stand.
type tally struct {
	facts  map[fleet.DeviceID]fact
	counts [factKinds]int
	most   int // members that were good at the same time, in this wave

	expected int // admitted members; those without a fact were not judged yet

	goodSince  time.Time // since when all are good; zero: they are not
	progressAt time.Time // when a member last became good, began to be applied, or was watched again
}

func newTally(expected int, now time.Time) tally {
	t := tally{facts: map[fleet.DeviceID]fact{}, expected: expected, progressAt: now}
	t.noteGood(now) // a person may have resumed the rollout in spite of every admitted member
	return t
}

// watched tells whether more can be known of the member than that it is a member.
func (f fact) watched() bool { return f.kind != factPaused && f.kind != factUnwatched }

// observe notes how a member stands.
func (t *tally) observe(id fleet.DeviceID, f fact, now time.Time) {
	was, known := t.facts[id]
	clockRan := t.clockRuns()
	if known {
		t.counts[was.kind]--
	}
	began := f.begun && !was.begun
	watchedAgain := known && !was.watched() && f.watched()
	f.begun = f.begun || was.begun
	t.facts[id] = f
	t.counts[f.kind]++
	good := t.counts[factGood]
	if watchedAgain || good > t.most { // after a pause all have to be judged anew, however many were good before
		t.most, t.progressAt = good, now
	}
	if began || !clockRan && t.clockRuns() {
		t.progressAt = now
	}
	t.noteGood(now)
}

// forget drops a member that is not admitted any more.
func (t *tally) forget(id fleet.DeviceID) {
	if f, known := t.facts[id]; known {
		t.counts[f.kind]--
		delete(t.facts, id)
	}
}

func (t *tally) noteGood(now time.Time) {
	switch allGood := t.counts[factGood] == t.expected; {
	case !allGood:
		t.goodSince = time.Time{}
	case t.goodSince.IsZero():
		t.goodSince = now
	}
}

// clockRuns tells whether some member is late when there is no progress for long. What waits for a person, is paused
// or is not watched never is.
func (t *tally) clockRuns() bool { return t.counts[factPending]+t.counts[factAway] > 0 }

// expect sets how many members are admitted.
func (t *tally) expect(n int, now time.Time) {
	t.expected = n
	t.noteGood(now)
}

// restart begins a new wave, or goes on after a pause or a halt.
func (t *tally) restart(now time.Time) {
	t.most, t.goodSince, t.progressAt = t.counts[factGood], time.Time{}, now
	t.noteGood(now)
}

// first is the first member in the order of admission that stands like this.
func (t *tally) first(members []fleet.RolloutMember, kind factKind) (fleet.DeviceID, fact, bool) {
	if t.counts[kind] == 0 {
		return "", fact{}, false
	}
	for _, m := range members {
		if f, known := t.facts[m.Device]; known && f.kind == kind {
			return m.Device, f, true
		}
	}
	return "", fact{}, false
}
