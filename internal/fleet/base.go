package fleet

import (
	"bytes"
	"slices"
)

// BaseEntry records the ownership of one place of a device's configuration: who owns it, and what it holds without
// Muster. There is one for each place that Muster wrote, and for each value that somebody else set inside a member
// that Muster made. core/desired/DESIGN.md has the rules. Base, Written, Intended and Earlier may reveal secrets: they
// are sealed at rest and never logged. The store replaces the entries of a device as one set.
type BaseEntry struct {
	Key       string
	Kind      BaseKind
	State     BaseState
	Base      []byte  // JSON of the value that the place would have without Muster; nil: absent
	Written   []byte  // JSON of the value that Muster wrote last, as read back; nil: absent
	Intended  []byte  // JSON of the value that is being sent; nil: a removal; only in BaseSending
	Earlier   []byte  // digests of values that Muster wrote here, EarlierSize bytes each, oldest first
	Version   int64   // configuration version of Base and Written; 0: unknown
	Templates []int64 // templates that asked for the value
	Implied   bool    // a device that exists only because a folder is shared with it
	Revoked   bool    // a device that a template's `remove` took away with a person's consent, and still does
	Away      bool    // a device that was taken away because it is revoked everywhere, and still is
	ByAdmin   bool    // a member that a template of an admin makes, or first made
	Run       string  // run of the daemon that shows the sent value but may not have saved it; only in BaseSending
	Sent      []byte  // keyed digest of a sent gui.password; the daemon shows only a hash of it
}

// EarlierSize is the size of one digest in BaseEntry.Earlier.
const EarlierSize = 16

// BaseKind is the kind of place that a BaseEntry is about.
type BaseKind string

const (
	BaseLeaf    BaseKind = "leaf"    // a value that Muster wrote
	BaseMade    BaseKind = "made"    // a member of an identified list that Muster made
	BaseRemoved BaseKind = "removed" // a member of an identified list that Muster removed
	BasePerson  BaseKind = "person"  // a place in a member that Muster made, which a person set
	BaseDaemon  BaseKind = "daemon"  // a place in a member that Muster made, which the daemon or an introducer set
)

// BaseState says whose value a place had when it was last read.
type BaseState string

const (
	BaseOurs     BaseState = ""         // Muster's own value
	BaseSending  BaseState = "sending"  // unknown: a write was started and not read back
	BaseTheirs   BaseState = "theirs"   // a value that a person or the daemon set instead of Muster's
	BaseReturned BaseState = "returned" // the base, which Muster put back
	// a value that Muster wrote earlier, and that somebody restored after Muster had put the base back
	BaseEarlier BaseState = "earlier"
)

// MayBeOurs reports whether the place has, or may have, Muster's value.
func (e BaseEntry) MayBeOurs() bool {
	switch e.Kind {
	case BasePerson, BaseDaemon:
		return false
	}
	if e.Run != "" {
		return e.isThere()
	}
	return e.State == BaseOurs || e.State == BaseSending
}

// isThere reports whether the place has Muster's value, provided that the change in Intended has arrived.
func (e BaseEntry) isThere() bool {
	switch e.Kind {
	case BaseMade:
		return e.Intended != nil
	case BaseRemoved:
		return e.Intended == nil
	}
	return !bytes.Equal(e.Intended, e.Base)
}

// SameEntries reports whether two lists have equal entries in the same order.
func SameEntries(a, b []BaseEntry) bool {
	return slices.EqualFunc(a, b, func(x, y BaseEntry) bool {
		return x.Key == y.Key && x.Kind == y.Kind && x.State == y.State && x.Implied == y.Implied &&
			x.ByAdmin == y.ByAdmin && x.Revoked == y.Revoked && x.Away == y.Away && x.Version == y.Version && x.Run == y.Run &&
			slices.Equal(x.Templates, y.Templates) && bytes.Equal(x.Base, y.Base) && bytes.Equal(x.Written, y.Written) &&
			bytes.Equal(x.Earlier, y.Earlier) && bytes.Equal(x.Sent, y.Sent)
	})
}
