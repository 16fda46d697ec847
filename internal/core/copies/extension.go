package copies

import (
	"time"

	"muster/internal/fleet"
)

// index identifies what a daemon knows of its own files of a folder: two readings with the same index were made of the
// same items. The number and the start alone do not suffice. A folder that is removed and added again while the daemon
// runs is numbered anew, and ends with the same number when it has as many items; what was changed meanwhile would stay
// hidden where a peer does not take it. The state of a new folder began later, and so it tells the two apart.
type index struct {
	started  int64 // Unix nanoseconds by the daemon's clock
	changed  int64 // beginning of the folder's state, the same; 0: the daemon does not tell
	sequence int64
}

func indexOf(r Reading) index {
	is := index{started: r.Started.UnixNano(), sequence: r.Summary.Sequence}
	if at := r.Summary.StateChanged; !at.IsZero() {
		is.changed = at.UnixNano()
	}
	return is
}

// RipeAfter is how long an index must be known before it can be told from every later one: the times of a daemon have
// full seconds, so a folder that is added anew within the second in which its state began has the same time.
const RipeAfter = 2 * time.Second

func (l *Ledger) isRipe(device fleet.DeviceID, asked time.Time) bool {
	is := l.known[device]
	return is.changed != 0 && is.sequence > 0 && asked.Sub(is.since) >= RipeAfter
}

// Extend carries proofs on to these readings, without asking what a device lacks: where neither device's index has
// changed since they were compared, the second still holds everything of the first.
func (l *Ledger) Extend(readings map[fleet.DeviceID]Reading) {
	for device, r := range readings {
		l.Note(device, r)
	}
	for p, was := range l.held {
		of, isRead := readings[p.of]
		on, isReadToo := readings[p.on]
		if !isRead || !isReadToo || was.Past || !was.ripe || was.of != indexOf(of) || was.on != indexOf(on) {
			continue
		}
		if !carriesOn(was.Grade, Side{Second: of}, Side{Second: on}) {
			continue
		}
		was.Until, was.Read = of.Asked, latest(of.Answered, on.Answered)
		l.held[p] = was
	}
}

// carriesOn reports whether both devices are still as a proof of this grade demands.
func carriesOn(grade Grade, a, b Side) bool {
	if either(a, b, atRest) != "" {
		return false
	}
	if grade == Agrees {
		return true
	}
	isIgnoring := a.Second.Summary.IgnorePatterns || b.Second.Summary.IgnorePatterns
	return !isIgnoring && either(a, b, hasAllItKnows) == ""
}

// HoldsLatest returns the grade of the proof that the second device, when it was read last, had everything that the
// first has now. That may have been long ago: it says what would survive, and not that the second device still has it.
func (l *Ledger) HoldsLatest(of, on fleet.DeviceID) Grade {
	h := l.held[pair{of, on}]
	if !h.ripe && !h.IsOf(l.began) || h.of != l.known[of].index {
		return Unproven
	}
	if l.IsRead(on) && h.on != l.known[on].index { // It may have deleted something since.
		return Unproven
	}
	return h.Grade
}

// IsRead reports whether a device was read since the start of the server.
func (l *Ledger) IsRead(device fleet.DeviceID) bool { return l.known[device].changed != 0 }

// Last is what is known of the last reading of a device, which may have been before a start of the server.
type Last struct {
	Asked    time.Time // zero: it was never read
	Sequence int64
	IsPlain  bool // The device did not have the folder encrypted.
	IsRead   bool // It was read since the start of the server.
}

// Last returns what is known of the last reading of a device.
func (l *Ledger) Last(device fleet.DeviceID) Last {
	is := l.known[device]
	return Last{Asked: is.asked, Sequence: is.sequence, IsPlain: is.plain, IsRead: l.IsRead(device)}
}

// Covers reports whether everything that these steps could prove is proven of the moment since or of a later one.
func (l *Ledger) Covers(steps []Step, since time.Time) bool {
	reach := map[fleet.DeviceID]map[fleet.DeviceID]bool{} // The devices whose data a chain of steps leads to a device.
	for _, step := range steps {
		if reach[step.To] == nil {
			reach[step.To] = map[fleet.DeviceID]bool{}
		}
		reach[step.To][step.Of] = true
		for of := range reach[step.Of] {
			reach[step.To][of] = true
		}
		delete(reach[step.To], step.To)
	}
	for on, all := range reach {
		for of := range all {
			if !l.Held(of, on).IsOf(since) {
				return false
			}
		}
	}
	return len(steps) > 0
}
