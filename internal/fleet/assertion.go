package fleet

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Assertion is a statement about the configurations of some devices that changes must keep true.
type Assertion struct {
	Name   string `json:"name"`             // file and line, or a name that a person gave
	Device string `json:"device,omitempty"` // label or ID; exactly one of Device, Tag and All is set
	Tag    string `json:"tag,omitempty"`    // all devices with this tag
	All    bool   `json:"all,omitempty"`    // all devices

	Expect map[string]json.RawMessage `json:"expect,omitempty"` // expected values, by key
	Absent []string                   `json:"absent,omitempty"` // keys that must have no value
	Count  map[string]int             `json:"count,omitempty"`  // expected number of members, by key
	// expected number of devices that the assertion applies to
	Devices *int `json:"devices,omitempty"`
	// no folder may be shared with an unregistered device
	NoUnregisteredShares bool `json:"noUnregisteredShares,omitempty"`
}

// Equal reports whether two assertions are equal.
func (a Assertion) Equal(b Assertion) bool {
	return a.Name == b.Name && a.Device == b.Device && a.Tag == b.Tag && a.All == b.All &&
		slices.Equal(a.Absent, b.Absent) &&
		maps.EqualFunc(a.Expect, b.Expect, func(x, y json.RawMessage) bool { return bytes.Equal(x, y) }) &&
		maps.Equal(a.Count, b.Count) && (a.Devices == nil) == (b.Devices == nil) &&
		(a.Devices == nil || *a.Devices == *b.Devices) && a.NoUnregisteredShares == b.NoUnregisteredShares
}

// BrokenAssertion is an assertion that is not true of a device.
type BrokenAssertion struct {
	Source   string // source that the assertion belongs to; "": it came with the request
	Name     string
	Device   DeviceID // "": the assertion is about the number of devices
	Key      string
	Expected string
	Got      string
}

// Text says what was found on a device. label is the device's label, or "".
func (b BrokenAssertion) Text(label string) string {
	of := cmp.Or(label, string(b.Device))
	if of != "" {
		of += ": "
	}
	if b.Key != "" {
		of += b.Key + ": "
	}
	return fmt.Sprintf("%s: %sexpected %s, got %s", b.Name, of, b.Expected, b.Got)
}
