package fleet

import (
	"errors"
	"time"
)

// Stop is the reason why Muster temporarily does not write a key of a device although templates ask for it.
type Stop struct {
	Key       string
	Kind      StopKind
	Reason    string // sentence for people
	Observed  string // digest of the document to which the daemon gave this answer; "" when it does not matter
	Templates string // digest of the device's templates; the stop ends when they change
	Since     time.Time
	// StopUnsaved counts equal answers in a row, up to five, and StopBroughtBack returns within an hour, up to three.
	Answers int
}

// StopKind says why a key is stopped.
type StopKind string

const (
	StopRejected  StopKind = "rejected"  // the daemon answered 4xx
	StopUnmoved   StopKind = "unmoved"   // the daemon accepts it and shows another value
	StopContended StopKind = "contended" // a person keeps changing it back
	StopUnstable  StopKind = "unstable"  // the templates' own result alternates

	// These kinds do not prevent a key from being written, so Muster goes on with it.
	StopFolder      StopKind = "folder"      // a folder is in error since Muster changed it
	StopBroughtBack StopKind = "broughtBack" // a revoked device came back, and is removed each time
	StopUnsaved     StopKind = "unsaved"     // the daemon answered 5xx: what it shows may not be on its disk
)

// StopsKey reports whether a stop of this kind prevents a key from being written.
func (k StopKind) StopsKey() bool {
	return k != StopFolder && k != StopUnsaved && k != StopBroughtBack
}

// ErrNotSaved is the cause of the error when a daemon answered a write with 5xx.
var ErrNotSaved = errors.New("the daemon answered a write with 5xx")
