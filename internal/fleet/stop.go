package fleet

import (
	"errors"
	"time"
)

// Stop is why Muster does not write a key of a device for now, although templates ask for it.
type Stop struct {
	Key       string
	Kind      StopKind
	Reason    string // for a person
	Observed  string // digest of the document over which the daemon said so; "" when that does not matter
	Templates string // digest of the templates that applied: when they change, the stop is over
	Since     time.Time
	Answers   int // of StopUnsaved: how often in a row, up to five
}

// StopKind says who is at fault.
type StopKind string

const (
	StopRejected  StopKind = "rejected"  // the daemon answered 4xx
	StopUnmoved   StopKind = "unmoved"   // the daemon takes it and shows another value
	StopContended StopKind = "contended" // a person keeps setting it back
	StopUnstable  StopKind = "unstable"  // our own result alternates

	// These keep no key from being written: a write is what ends them.
	StopFolder  StopKind = "folder"  // a folder is in error since Muster changed it
	StopUnsaved StopKind = "unsaved" // the daemon answered 5xx: what it shows may not be on its disk
)

// StopsKey tells whether a stop of this kind keeps a key from being written.
func (k StopKind) StopsKey() bool {
	return k != StopFolder && k != StopUnsaved
}

// ErrNotSaved is in the error about a write that a daemon answered with 5xx.
var ErrNotSaved = errors.New("the daemon answered a write with 5xx")
