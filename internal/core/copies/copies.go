// Package copies decides what is proven of the copies of a folder: that one device holds everything that another device
// had scanned by a moment. A daemon's own "up to date" is relative to what it has heard of others, so it proves
// nothing; two daemons that are read in two rounds do. The rule was found by experiment, with what each weaker rule
// gets wrong (each condition of Judge names its case). It says nothing about changes that were not scanned yet, about
// what is ignored, or about bits on a disk.
package copies

import (
	"time"

	"muster/internal/fleet"
)

// Reading is what a daemon said of a folder.
type Reading struct {
	Asked, Answered time.Time // moments at which Muster sent the request and had the answer
	Started         time.Time // start of the daemon
	Encrypted       bool      // The device has the folder encrypted, so that nobody can read its files there.
	Summary         fleet.FolderSummary
	// Heard has the sequence up to which the daemon knows the index of each sharer. A daemon that does not report it
	// (1.19.2) is asked by db/completion of the sharer.
	Heard map[fleet.DeviceID]int64
}

// Side is one of the two daemons of a proof, read in both rounds.
type Side struct {
	Device        fleet.DeviceID
	First, Second Reading
}

// Completion is what a daemon says that a peer lacks of a folder (db/completion).
type Completion struct {
	fleet.Completion
	Asked, Answered time.Time
}

// Grade says how much is known of a copy. A larger one is better.
type Grade int

// Grades.
const (
	Unproven Grade = iota
	// Agrees is a copy of which everything but the counts was proven, because a device has ignore patterns: the copy
	// lacks nothing but perhaps what is ignored.
	Agrees
	Proven
)

// Doubt is why nothing is proven, for a program; "" where it is.
type Doubt string

// Doubts, in the order in which they are looked for.
const (
	NotInTime      Doubt = "notInTime"      // The readings were not made in two rounds one after the other.
	Restarted      Doubt = "restarted"      // A daemon was started, or its database reset, between the rounds.
	NotIdle        Doubt = "notIdle"        // A daemon scans, syncs, or its folder is paused or stopped.
	Lacks          Doubt = "lacks"          // A daemon lacks items, or could not sync some.
	LocalChanges   Doubt = "localChanges"   // A receive-only folder was changed on its device.
	IndexesDiffer  Doubt = "indexesDiffer"  // A daemon has not heard everything that the other has scanned.
	PeerSaysLacks  Doubt = "peerSaysLacks"  // The first daemon says that the second lacks items.
	PeerNotValid   Doubt = "peerNotValid"   // The first daemon does not exchange the folder with the second.
	DiffersFromAll Doubt = "differsFromAll" // A daemon has other items than the newest that it knows of.
)

// Judge decides whether b holds everything that a had scanned when a was asked in the second round. of is what a says
// of b in the second round.
func Judge(a, b Side, of Completion) (Grade, Doubt) {
	for _, check := range []func() Doubt{
		func() Doubt { return inTime(a, b, of) },
		func() Doubt { return either(a, b, sameLife) },
		func() Doubt { return either(a, b, atRest) },
		func() Doubt { return heardAll(a, b) },
		func() Doubt { return heardAll(b, a) },
		func() Doubt { return completes(of) },
	} {
		if doubt := check(); doubt != "" {
			return Unproven, doubt
		}
	}
	if a.Second.Summary.IgnorePatterns || b.Second.Summary.IgnorePatterns {
		return Agrees, ""
	}
	if doubt := either(a, b, hasAllItKnows); doubt != "" {
		return Unproven, doubt
	}
	return Proven, ""
}

func either(a, b Side, check func(Side) Doubt) Doubt {
	if doubt := check(a); doubt != "" {
		return doubt
	}
	return check(b)
}

// inTime reports a round that began before the one before it was over: an index that travels between the two readings
// would not be seen.
func inTime(a, b Side, of Completion) Doubt {
	over := a.First.Answered
	if b.First.Answered.After(over) {
		over = b.First.Answered
	}
	for _, asked := range []time.Time{a.Second.Asked, b.Second.Asked, of.Asked} {
		if asked.Before(over) {
			return NotInTime
		}
	}
	if a.Second.Asked.Before(of.Answered) { // The numbers of the first daemon are read after what it says of the other.
		return NotInTime
	}
	return ""
}

// sameLife reports a daemon that is not the one of the first round any more: after a reset its numbers begin anew, and
// may by chance be those that a peer has heard.
func sameLife(s Side) Doubt {
	if !s.First.Started.Equal(s.Second.Started) || s.Second.Summary.Sequence < s.First.Summary.Sequence {
		return Restarted
	}
	return ""
}

func atRest(s Side) Doubt {
	switch is := s.Second.Summary; {
	case is.State != "idle" || is.Error != "":
		return NotIdle
	case is.NeedFiles+is.NeedDirectories+is.NeedSymlinks+is.NeedDeletes > 0 || is.Failed > 0:
		return Lacks
	case is.LocalChanges > 0:
		return LocalChanges
	}
	return ""
}

// heardAll reports a daemon that does not know the whole index of the other in both rounds: devices that lost each
// other are both idle and lack nothing.
func heardAll(of, by Side) Doubt {
	sequence := of.Second.Summary.Sequence
	if sequence <= 0 || by.First.Heard[of.Device] != sequence || by.Second.Heard[of.Device] != sequence {
		return IndexesDiffer
	}
	return ""
}

// completes reports what only the first daemon knows: an encrypted copy that stays old after a reset, and a deletion
// against a change that two versions of Syncthing settle differently.
func completes(of Completion) Doubt {
	switch {
	case of.RemoteState != "" && of.RemoteState != "valid":
		return PeerNotValid
	case of.NeedItems > 0 || of.NeedDeletes > 0:
		return PeerSaysLacks
	}
	return ""
}

func hasAllItKnows(s Side) Doubt {
	is := s.Second.Summary
	if is.LocalFiles != is.GlobalFiles || is.LocalDirectories != is.GlobalDirectories ||
		is.LocalSymlinks != is.GlobalSymlinks || is.LocalBytes != is.GlobalBytes {
		return DiffersFromAll
	}
	return ""
}
