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
	// Past is true of a proof that says what was true at its time and nothing about now, whatever the clock says: it was
	// read back after a start of the server, or the other device's index has changed since.
	Past bool
}

// IsOf reports whether the proof is of a moment or of a later one.
func (h Holding) IsOf(since time.Time) bool {
	return h.Grade != Unproven && !h.Past && !h.Until.Before(since)
}

// Ledger has what is proven of a folder, for each pair of devices: the moment up to which the second holds everything
// that the first had scanned. The zero value is empty. It is not safe for concurrent use.
type Ledger struct {
	held  map[pair]proof
	known map[fleet.DeviceID]life
	began time.Time // beginning of the present round
}

// Begin begins a round. A proof of it takes the place of every earlier one, also of a better one.
func (l *Ledger) Begin(at time.Time) { l.began = at }

type pair struct{ of, on fleet.DeviceID }

// proof is a Holding with the indexes that it compared.
type proof struct {
	Holding
	of, on index
	ripe   bool // Both indexes can be told from every later one, see Extend.
}

// life identifies the numbers of a daemon: they begin anew when its database is reset, and its index may be another
// after a start.
type life struct {
	index
	since time.Time // moment at which this index was read first
	asked time.Time // moment of the last reading
	plain bool      // The folder was not encrypted there.
}

// Note drops what is proven with a device whose daemon was started again or whose sequence fell since it was last read.
func (l *Ledger) Note(device fleet.DeviceID, r Reading) {
	if l.known == nil {
		l.held, l.known = map[pair]proof{}, map[fleet.DeviceID]life{}
	}
	was, known := l.known[device]
	is := life{index: indexOf(r), since: r.Asked, asked: r.Asked, plain: !r.Encrypted}
	if known && was.index == is.index {
		is.since = was.since
	}
	if known && (was.started != is.started || is.sequence < was.sequence) {
		l.void(device)
	}
	l.known[device] = is
}

// NoteStart drops what is proven with a device whose daemon says that it was started at another time, and no more.
func (l *Ledger) NoteStart(device fleet.DeviceID, started time.Time) {
	if is, known := l.known[device]; known && is.started != started.UnixNano() {
		l.void(device)
	}
}

func (l *Ledger) void(device fleet.DeviceID) {
	for p := range l.held {
		if p.of == device || p.on == device {
			delete(l.held, p)
		}
	}
}

// Prove judges two daemons and keeps what is proven, also by chains: what an earlier device was proven to have on a, b
// has too when a was asked after that proof was over and its index is still the one of that proof. It returns the doubt
// where nothing is proven.
func (l *Ledger) Prove(a, b Side, of Completion) Doubt {
	for _, side := range []Side{a, b} {
		l.Note(side.Device, side.First)
		l.Note(side.Device, side.Second)
	}
	grade, doubt := Judge(a, b, of)
	if doubt != "" {
		return doubt
	}
	read := latest(of.Answered, a.Second.Answered, b.Second.Answered)
	asked := a.Second.Asked
	if of.Asked.Before(asked) {
		asked = of.Asked
	}
	from, to := indexOf(a.Second), indexOf(b.Second)
	isRipe := l.isRipe(a.Device, asked)
	isRipeOn := l.isRipe(b.Device, b.Second.Asked)
	direct := Holding{Grade: grade, Until: asked, Read: read}
	l.keep(pair{a.Device, b.Device}, proof{direct, from, to, isRipe && isRipeOn})
	for p, h := range l.held {
		if p.on == a.Device && p.of != b.Device && !h.Past && h.on == from && !h.Read.After(asked) {
			chained := Holding{Grade: min(h.Grade, grade), Until: h.Until, Read: read}
			l.keep(pair{p.of, b.Device}, proof{chained, h.of, to, h.ripe && isRipe && isRipeOn})
		}
	}
	return ""
}

func latest(first time.Time, others ...time.Time) time.Time {
	for _, at := range others {
		if at.After(first) {
			first = at
		}
	}
	return first
}

// keep keeps a proof, unless one of the same round is better: of a higher grade, or of the same grade and later.
func (l *Ledger) keep(p pair, h proof) {
	was, is := l.held[p]
	wasNow, isNow := was.IsOf(l.began), h.IsOf(l.began)
	isBetter := h.Grade > was.Grade || h.Grade == was.Grade && h.Until.After(was.Until)
	if !is || was.Past || isNow && !wasNow || isNow == wasNow && isBetter {
		l.held[p] = h
	}
}

// Held returns what is proven of a device's data on another.
func (l *Ledger) Held(of, on fleet.DeviceID) Holding {
	h := l.held[pair{of, on}]
	h.Past = h.Past || h.on != l.known[on].index
	return h.Holding
}

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
	isNow, otherNow := h.IsOf(since), other.IsOf(since)
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

// Holding is what a device holds of all of others: the least of what it holds of each. A proof of the moment since is
// as good as a later one, and the time up to which all of them go counts.
func (l *Ledger) Holding(on fleet.DeviceID, others []fleet.DeviceID, since time.Time) (least Holding,
	lacks []fleet.DeviceID) {
	first := true
	for _, of := range others {
		if of == on {
			continue
		}
		h := l.Held(of, on)
		if h.Grade == Unproven {
			lacks = append(lacks, of)
		}
		order := h.compare(least, since)
		if first || order < 0 || order == 0 && h.Until.Before(least.Until) {
			least, first = h, false
		}
	}
	return least, lacks
}
