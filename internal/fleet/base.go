package fleet

import (
	"bytes"
	"slices"
)

// BaseEntry is what is recorded of one place of one device's configuration because Muster wrote there, or because it
// lies in a member that Muster made: whose the place is, and what it holds without Muster. internal/desired/DESIGN.md
// has the rules. Base, Written, Intended and Earlier may tell secrets: they are sealed at rest and never logged. The
// store keeps the entries of a device as one set that is replaced as a whole.
type BaseEntry struct {
	Key       string
	Kind      BaseKind
	State     BaseState
	Base      []byte  // JSON of what is there without Muster; nil: nothing
	Written   []byte  // JSON of what Muster wrote there last, as read back; nil: nothing
	Intended  []byte  // JSON of what an open intent sends, nil when it removes; only in BaseSending
	Earlier   []byte  // digests of what Muster wrote here, EarlierSize bytes each, oldest first
	Version   int64   // of the configuration that Base and Written are of; 0: not known
	Templates []int64 // that asked for it
	Implied   bool    // a device that is there because a folder is shared with it: no template names it
	ByAdmin   bool    // a member that a template which an admin saved makes, or made once
	Run       string  // of the daemon that shows what was sent and may not have saved it; only in BaseSending
	Sent      []byte  // keyed digest of the text sent, where the daemon keeps something else: a hash of gui.password
}

// EarlierSize is the size of one digest in BaseEntry.Earlier.
const EarlierSize = 16

// BaseKind is what a BaseEntry is about.
type BaseKind string

const (
	BaseLeaf    BaseKind = "leaf"    // a value that Muster wrote
	BaseMade    BaseKind = "made"    // a member of an identified list that Muster made
	BaseRemoved BaseKind = "removed" // a member of an identified list that Muster removed
	BasePerson  BaseKind = "person"  // a place in a member that Muster made, which a person set
	BaseDaemon  BaseKind = "daemon"  // a place in a member that Muster made, which the daemon or an introducer set
)

// BaseState is whose value a place holds, as it was read last.
type BaseState string

const (
	BaseOurs     BaseState = ""         // Muster's
	BaseSending  BaseState = "sending"  // an intent is open: it is not known yet
	BaseTheirs   BaseState = "theirs"   // a person's or the daemon's, written over Muster's
	BaseReturned BaseState = "returned" // what is there without Muster, which put it back
	BaseEarlier  BaseState = "earlier"  // one that Muster wrote earlier, put there again after it had returned
)

// Stands tells whether Muster's value is at the place, or may be.
func (e BaseEntry) Stands() bool {
	switch e.Kind {
	case BasePerson, BaseDaemon:
		return false
	}
	if e.Run != "" {
		return e.isThere()
	}
	return e.State == BaseOurs || e.State == BaseSending
}

// isThere tells whether what was sent, and has arrived, is Muster's.
func (e BaseEntry) isThere() bool {
	switch e.Kind {
	case BaseMade:
		return e.Intended != nil
	case BaseRemoved:
		return e.Intended == nil
	}
	return !bytes.Equal(e.Intended, e.Base)
}

// SameEntries tells whether two sets of entries record the same, in the same order.
func SameEntries(a, b []BaseEntry) bool {
	return slices.EqualFunc(a, b, func(x, y BaseEntry) bool {
		return x.Key == y.Key && x.Kind == y.Kind && x.State == y.State && x.Implied == y.Implied &&
			x.ByAdmin == y.ByAdmin && x.Version == y.Version && x.Run == y.Run &&
			slices.Equal(x.Templates, y.Templates) && bytes.Equal(x.Base, y.Base) && bytes.Equal(x.Written, y.Written) &&
			bytes.Equal(x.Earlier, y.Earlier) && bytes.Equal(x.Sent, y.Sent)
	})
}
