package prover

import (
	"cmp"
	"slices"
	"time"

	"muster/internal/core/copies"
	"muster/internal/fleet"
)

// Report is what is proven of the copies of a folder.
type Report struct {
	ReadAt time.Time // beginning of the round
	Copies []Copy    // copies in the order in which the devices were given

	// Islands are the groups of online devices between which no connection is known, largest first; nil when there is only
	// one. Cuts are pairs of devices in different groups that share the folder and are not connected, at most maxCuts.
	Islands [][]fleet.DeviceID
	Cuts    [][2]fleet.DeviceID

	signs []sign // signs of the devices at the beginning of the round
}

// Copy is the copy of a folder on one device.
type Copy struct {
	Device    fleet.DeviceID
	Encrypted bool
	State     State
	Until     time.Time        // It holds what the other devices had scanned by then; zero: nothing is proven.
	Lacks     []fleet.DeviceID // devices that were read, and whose data is not proven to be here
	Doubt     copies.Doubt     // cause for which the round did not prove it; "": it did, or the daemon could not be asked
	Reason    string           // text for a person that says why it is not proven now; "" where it is
	Elsewhere Elsewhere

	last copies.Last
}

// Elsewhere is what is proven of the data of one device on the others, which would be left without it.
type Elsewhere struct {
	State State
	Until time.Time        // The other devices hold what it had scanned by then; zero: nothing is proven.
	On    []fleet.DeviceID // devices of which that is proven
	// Kept are the devices of which it is proven that they had, when they were read last, all that the device has. Some
	// may be away since.
	Kept   []fleet.DeviceID
	Claims *int64 // bytes that the best other device lacks by the daemon's word, no proof; nil: not asked
	Reason string // text for a person that says why it is not proven now; "" where it is
}

// State says how well a copy is known.
type State string

// States of a copy.
const (
	Proven   State = "proven"   // It holds everything that each other device that was asked had scanned.
	Agrees   State = "agrees"   // The same holds, but for what is ignored.
	Behind   State = "behind"   // That was proven earlier, and not now.
	Unproven State = "unproven" // Nothing is proven.
	NotAsked State = "notAsked" // Only of data elsewhere: the daemons were not asked.
	NoData   State = "none"     // Only of data elsewhere: the device has none, as its copy is empty or encrypted.
)

func (r Report) devices() []fleet.DeviceID {
	devices := make([]fleet.DeviceID, len(r.Copies))
	for i, c := range r.Copies {
		devices[i] = c.Device
	}
	return devices
}

// Proven counts the copies that are proven and not encrypted.
func (r Report) Proven() (n int) {
	for _, c := range r.Copies {
		if c.State == Proven && !c.Encrypted {
			n++
		}
	}
	return n
}

// isOf reports whether the report is about just these devices.
func (r Report) isOf(devices []fleet.DeviceID) bool {
	return slices.EqualFunc(r.Copies, devices, func(c Copy, id fleet.DeviceID) bool { return c.Device == id })
}

// isComplete reports whether everything was proven.
func (r Report) isComplete() bool {
	return !slices.ContainsFunc(r.Copies, func(c Copy) bool { return !c.State.isCurrent() })
}

func (s State) isCurrent() bool { return s == Proven || s == Agrees }

// noWay is why nothing is proven where no chain of proofs leads to the device.
const noWay = "no proof leads here from all the others: " +
	"they are not connected, or a device between them could not be asked"

const changedSince = "something changed since, and the daemons are asked again in a while"

// outdated returns the report of an earlier round after an event told of a change: nothing of it is proven now.
func (r Report) outdated() Report {
	r.Copies = slices.Clone(r.Copies)
	for i := range r.Copies {
		if c := &r.Copies[i]; c.State.isCurrent() {
			c.State, c.Reason = Behind, changedSince
		}
		if e := &r.Copies[i].Elsewhere; e.State.isCurrent() {
			e.State, e.Reason = Behind, changedSince
		}
	}
	return r
}

// report says what is proven of each device.
func (r *round) report(devices []fleet.DeviceID) Report {
	var read []fleet.DeviceID // devices with data of their own, of which something is known
	for _, id := range devices {
		if side := r.sides[id]; !side.encrypted && !side.last.Answered.IsZero() {
			read = append(read, id)
		}
	}
	out := Report{ReadAt: r.began}
	for _, id := range devices {
		c := r.copyOn(id, read)
		c.Elsewhere, c.last = r.elsewhere(id, devices), r.ledger.Last(id)
		out.Copies = append(out.Copies, c)
	}
	out.Islands, out.Cuts = r.islands(devices)
	return out
}

// elsewhere says what is proven of the data of one device on the others.
func (r *round) elsewhere(id fleet.DeviceID, devices []fleet.DeviceID) Elsewhere {
	side := r.sides[id]
	if side.isEmpty() || side.encrypted && r.isReadPlain(devices) {
		return Elsewhere{State: NoData}
	}
	best, on := r.ledger.Elsewhere(id, devices, r.began)
	e := Elsewhere{State: stateOf(best, r.began), Until: best.Until, On: on, Claims: side.claims}
	for _, other := range devices {
		if other != id && r.ledger.HoldsLatest(id, other) > copies.Unproven {
			e.Kept = append(e.Kept, other)
		}
	}
	if !e.State.isCurrent() {
		e.Reason = side.why(best, r.began)
	}
	return e
}

// isEmpty reports whether the device has nothing of the folder. Before its first scan a daemon does not know what it
// has.
func (s *side) isEmpty() bool {
	is := s.last.Summary
	isKnown := !s.last.Answered.IsZero() && (s.reason == "" || s.isAlone)
	return isKnown && is.State == "idle" && !is.Unscanned() && !is.InError() &&
		is.Sequence == 0 && is.LocalFiles+is.LocalDirectories+is.LocalSymlinks == 0
}

// isReadPlain reports whether a device was read that has the folder and not encrypted. Without one, an encrypted copy
// may be the only copy.
func (r *round) isReadPlain(devices []fleet.DeviceID) bool {
	return slices.ContainsFunc(devices, func(id fleet.DeviceID) bool {
		side := r.sides[id]
		return !side.encrypted && side.reason == "" && !side.last.Answered.IsZero()
	})
}

// stateOf says what a proof is worth in a round that began at a moment.
func stateOf(h copies.Holding, began time.Time) State {
	switch isNow := h.IsOf(began); {
	case h.Grade == copies.Unproven:
		return Unproven
	case isNow && h.Grade == copies.Proven:
		return Proven
	case isNow:
		return Agrees
	}
	return Behind
}

// why says for a person why something of the device is not proven now.
func (s *side) why(held copies.Holding, began time.Time) string {
	text := cmp.Or(s.reason, doubts[s.doubt])
	if text == "" && held.Past && !held.Until.Before(began) {
		return "something changed while the daemons were asked"
	}
	return cmp.Or(text, noWay)
}

// copyOn says what is proven of one device. read are the devices with data of their own that were read.
func (r *round) copyOn(id fleet.DeviceID, read []fleet.DeviceID) Copy {
	side := r.sides[id]
	held, lacks := r.ledger.Holding(id, r.comparedWith(id, read), r.began)
	c := Copy{Device: id, Encrypted: side.encrypted, State: stateOf(held, r.began), Until: held.Until, Lacks: lacks}
	switch c.State {
	case Proven:
		return c
	case Agrees:
		c.Reason = "ignore patterns leave out what cannot be compared"
		return c
	}
	if side.reason == "" {
		c.Doubt = side.doubt
	}
	c.Reason = side.why(held, r.began)
	return c
}

// comparedWith returns the devices whose data has to be on a device: those that were read. Where no other one was, it
// is those whose data is known to have been there.
func (r *round) comparedWith(id fleet.DeviceID, read []fleet.DeviceID) (others []fleet.DeviceID) {
	if slices.ContainsFunc(read, func(other fleet.DeviceID) bool { return other != id }) {
		return read
	}
	for other := range r.sides {
		if other != id && r.ledger.Held(other, id).Grade != copies.Unproven {
			others = append(others, other)
		}
	}
	return others
}

// doubts are why nothing is proven, for a person.
var doubts = map[copies.Doubt]string{
	copies.NotInTime:      "the daemons answered too late",
	copies.Restarted:      "a daemon was started, or its database made anew, meanwhile",
	copies.NotIdle:        "a daemon scans, syncs or has stopped the folder",
	copies.Lacks:          "a daemon lacks items, or could not sync some",
	copies.LocalChanges:   "items of a receive-only folder were changed on their device",
	copies.IndexesDiffer:  "two daemons have not heard everything of each other",
	copies.PeerSaysLacks:  "another daemon says that it lacks items",
	copies.PeerNotValid:   "another daemon does not exchange the folder with it",
	copies.DiffersFromAll: "it has other items than the newest that it knows of",
}
