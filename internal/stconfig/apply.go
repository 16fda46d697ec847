package stconfig

import "muster/internal/fleet"

// Skip is a change that was left out because the device has nothing that it could change.
type Skip struct {
	Key    Key
	Reason string // for a person
}

// Apply gives the document as op makes it with value at key. own is the device whose document it is. What cannot be
// done on this device is skipped and said; what can be done on none is an error. The document is shared, not copied.
func Apply(doc Value, op fleet.Op, key Key, value Value, own fleet.DeviceID) (Value, []Skip, error) {
	panic("being written")
}
