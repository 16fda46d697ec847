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
}

// State says how well a copy is known.
type State string

// States of a copy.
const (
	Proven   State = "proven"   // It holds everything that each other device that was asked had scanned.
	Agrees   State = "agrees"   // The same holds, but for what is ignored.
	Behind   State = "behind"   // That was proven earlier, and not now.
	Unproven State = "unproven" // Nothing is proven.
)

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

// outdated returns the report of an earlier round after an event told of a change: nothing of it is proven now.
func (r Report) outdated() Report {
	r.Copies = slices.Clone(r.Copies)
	for i := range r.Copies {
		if c := &r.Copies[i]; c.State.isCurrent() {
			c.State, c.Reason = Behind, "something changed since, and the daemons are asked again in a while"
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
		out.Copies = append(out.Copies, r.copyOn(id, read))
	}
	return out
}

// copyOn says what is proven of one device. read are the devices with data of their own that were read.
func (r *round) copyOn(id fleet.DeviceID, read []fleet.DeviceID) Copy {
	side := r.sides[id]
	c := Copy{Device: id, Encrypted: side.encrypted}
	var held copies.Holding
	held, c.Lacks = r.ledger.Holding(id, read)
	switch isNow := !held.Until.Before(r.began); {
	case held.Grade == copies.Proven && isNow:
		c.State, c.Until = Proven, held.Until
		return c
	case held.Grade == copies.Agrees && isNow:
		c.State, c.Until, c.Reason = Agrees, held.Until, "ignore patterns leave out what cannot be compared"
		return c
	case held.Grade != copies.Unproven:
		c.State, c.Until = Behind, held.Until
	default:
		c.State = Unproven
	}
	if side.reason == "" {
		c.Doubt = side.doubt
	}
	c.Reason = cmp.Or(side.reason, doubts[c.Doubt], "a device between this one and the others could not be asked")
	return c
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
