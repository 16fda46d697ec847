package rollout

import (
	"time"

	"muster/internal/fleet"
)

// progress counts how the admitted members of a rollout stand. An observation costs the same for ten members as for
// ten thousand. progress is lost with the process, and made anew from how the devices stand then.
type progress struct {
	facts  map[fleet.DeviceID]fact
	counts [factKinds]int
	most   int // the largest number of members that were good at the same time in this wave

	expected int // number of admitted members; members without a fact were not judged yet

	goodSince  time.Time // time since which all admitted members are good; zero: they are not
	progressAt time.Time // time at which a member last became good, began to be applied, or was watched again
}

func newProgress(expected int, now time.Time) progress {
	p := progress{facts: map[fleet.DeviceID]fact{}, expected: expected, progressAt: now}
	p.noteGood(now) // A person may have resumed the rollout in spite of every admitted member, so that none is expected.
	return p
}

// watched reports whether the member's device is watched, so that more is known of it than its mode.
func (f fact) watched() bool { return f.kind != factPaused && f.kind != factUnwatched }

// observe notes how a member stands.
func (p *progress) observe(id fleet.DeviceID, f fact, now time.Time) {
	was, known := p.facts[id]
	clockRan := p.clockRuns()
	if known {
		p.counts[was.kind]--
	}
	began := f.begun && !was.begun
	watchedAgain := known && !was.watched() && f.watched()
	f.begun = f.begun || was.begun
	p.facts[id] = f
	p.counts[f.kind]++
	good := p.counts[factGood]
	if watchedAgain || good > p.most { // after a pause all members are judged anew, however many were good
		p.most, p.progressAt = good, now
	}
	if began || !clockRan && p.clockRuns() {
		p.progressAt = now
	}
	p.noteGood(now)
}

// forget forgets a member that is not admitted any more.
func (p *progress) forget(id fleet.DeviceID) {
	if f, known := p.facts[id]; known {
		p.counts[f.kind]--
		delete(p.facts, id)
	}
}

func (p *progress) noteGood(now time.Time) {
	switch allGood := p.counts[factGood] == p.expected; {
	case !allGood:
		p.goodSince = time.Time{}
	case p.goodSince.IsZero():
		p.goodSince = now
	}
}

// clockRuns reports whether the progress deadline counts now: some member is still being worked on or does not
// answer. A rollout whose other members wait for a person, are paused or are not watched is never late.
func (p *progress) clockRuns() bool { return p.counts[factPending]+p.counts[factAway] > 0 }

// expect sets how many members are admitted.
func (p *progress) expect(n int, now time.Time) {
	p.expected = n
	p.noteGood(now)
}

// restart begins the measuring of progress anew, for a new wave or for a rollout that goes on after a pause or halt.
func (p *progress) restart(now time.Time) {
	p.most, p.goodSince, p.progressAt = p.counts[factGood], time.Time{}, now
	p.noteGood(now)
}

// first returns the first member, in the order of admission, whose fact is of this kind.
func (p *progress) first(members []fleet.RolloutMember, kind factKind) (fleet.DeviceID, fact, bool) {
	if p.counts[kind] == 0 {
		return "", fact{}, false
	}
	for _, m := range members {
		if f, known := p.facts[m.Device]; known && f.kind == kind {
			return m.Device, f, true
		}
	}
	return "", fact{}, false
}
