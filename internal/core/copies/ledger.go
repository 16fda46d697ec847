package copies

import (
	"cmp"
	"time"

	"muster/internal/fleet"
)

// Holding is what is proven of one device's data on another.
type Holding struct {
	Grade Grade
	Until time.Time // The other device holds everything that the device had scanned by then.
	Read  time.Time // moment at which the last answer of the proof was there
}

// Ledger has what is proven of a folder, for each pair of devices: the moment up to which the second holds everything
// that the first had scanned. The zero value is empty. It is not safe for concurrent use.
type Ledger struct {
	held  map[pair]Holding
	known map[fleet.DeviceID]life
}

type pair struct{ of, on fleet.DeviceID }

// life identifies the numbers of a daemon: they begin anew when its database is reset, and its index may be another
// after a start.
type life struct {
	started  time.Time
	sequence int64
}

// Note drops what is proven with a device whose daemon was started again or whose sequence fell since it was last read.
func (l *Ledger) Note(device fleet.DeviceID, r Reading) {
	if l.known == nil {
		l.held, l.known = map[pair]Holding{}, map[fleet.DeviceID]life{}
	}
	was, known := l.known[device]
	if known && (!was.started.Equal(r.Started) || r.Summary.Sequence < was.sequence) {
		for p := range l.held {
			if p.of == device || p.on == device {
				delete(l.held, p)
			}
		}
	}
	l.known[device] = life{r.Started, r.Summary.Sequence}
}

// Prove judges two daemons and keeps what is proven, also by chains: what an earlier device was proven to have on a, b
// has too when a was asked after that proof was over. It returns the doubt where nothing is proven.
func (l *Ledger) Prove(a, b Side, of Completion) Doubt {
	for _, side := range []Side{a, b} {
		l.Note(side.Device, side.First)
		l.Note(side.Device, side.Second)
	}
	grade, doubt := Judge(a, b, of)
	if doubt != "" {
		return doubt
	}
	read := of.Answered
	for _, at := range []time.Time{a.Second.Answered, b.Second.Answered} {
		if at.After(read) {
			read = at
		}
	}
	asked := a.Second.Asked
	if of.Asked.Before(asked) {
		asked = of.Asked
	}
	l.keep(pair{a.Device, b.Device}, Holding{grade, asked, read})
	for p, h := range l.held {
		if p.on == a.Device && p.of != b.Device && !h.Read.After(asked) {
			l.keep(pair{p.of, b.Device}, Holding{min(h.Grade, grade), h.Until, read})
		}
	}
	return ""
}

// keep keeps the better of two proofs: the higher grade, and of the same grade the later one.
func (l *Ledger) keep(p pair, h Holding) {
	was, is := l.held[p]
	if !is || h.Grade > was.Grade || h.Grade == was.Grade && h.Until.After(was.Until) {
		l.held[p] = h
	}
}

// Held returns what is proven of a device's data on another.
func (l *Ledger) Held(of, on fleet.DeviceID) Holding { return l.held[pair{of, on}] }

// Elsewhere is the best that is proven of a device's data on one of others, and those of them of which just that is
// proven. A proof of the moment since is as good as a later one.
func (l *Ledger) Elsewhere(of fleet.DeviceID, others []fleet.DeviceID, since time.Time) (best Holding,
	on []fleet.DeviceID) {
	for _, other := range others {
		h := l.Held(of, other)
		if other == of || h.Grade == Unproven {
			continue
		}
		order := h.compare(best, since)
		if order > 0 {
			best, on = h, nil
		}
		if order >= 0 {
			on = append(on, other)
		}
	}
	return best, on
}

// compare orders two proofs of the same data: first those of the moment since or later, by grade, then earlier ones by
// time.
func (h Holding) compare(other Holding, since time.Time) int {
	isNow, otherNow := !h.Until.Before(since), !other.Until.Before(since)
	switch {
	case isNow && !otherNow:
		return 1
	case !isNow && otherNow:
		return -1
	case isNow:
		return cmp.Compare(h.Grade, other.Grade)
	}
	return cmp.Or(h.Until.Compare(other.Until), cmp.Compare(h.Grade, other.Grade))
}

// Holding is what a device holds of all of others: the least of what it holds of each.
func (l *Ledger) Holding(on fleet.DeviceID, others []fleet.DeviceID) (least Holding, lacks []fleet.DeviceID) {
	first := true
	for _, of := range others {
		if of == on {
			continue
		}
		h := l.Held(of, on)
		if h.Grade == Unproven {
			lacks = append(lacks, of)
		}
		if first || h.Grade < least.Grade || h.Grade == least.Grade && h.Until.Before(least.Until) {
			least, first = h, false
		}
	}
	return least, lacks
}
