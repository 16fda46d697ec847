package fleet

import "time"

// Stop is why Muster does not write a key of a device for now, although templates ask for it.
type Stop struct {
	Key       string
	Kind      StopKind
	Reason    string // for a person
	Observed  string // digest of the document over which the daemon said so; "" when that does not matter
	Templates string // digest of the templates that applied: when they change, the stop is over
	Since     time.Time
}

// StopKind says who is at fault.
type StopKind string

const (
	StopRejected  StopKind = "rejected"  // the daemon answered 4xx
	StopUnmoved   StopKind = "unmoved"   // the daemon takes it and shows another value
	StopContended StopKind = "contended" // a person keeps setting it back
	StopUnstable  StopKind = "unstable"  // our own result alternates
	StopFolder    StopKind = "folder"    // a folder is in error since Muster changed it; no key is stopped
)
