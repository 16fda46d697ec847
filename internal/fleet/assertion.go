package fleet

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
)

// Assertion says what must be true of the configurations of some devices.
type Assertion struct {
	Name   string `json:"name"`             // the file and line, or what a person called it
	Device string `json:"device,omitempty"` // label or ID; or
	Tag    string `json:"tag,omitempty"`    // every device with it; or
	All    bool   `json:"all,omitempty"`    // every device

	Expect               map[string]json.RawMessage `json:"expect,omitempty"`               // the value at a key
	Absent               []string                   `json:"absent,omitempty"`               // keys at which there is nothing
	Count                map[string]int             `json:"count,omitempty"`                // how many members there are at a key
	Devices              *int                       `json:"devices,omitempty"`              // how many devices it is about
	NoUnregisteredShares bool                       `json:"noUnregisteredShares,omitempty"` // folders are shared with registered devices alone
}

// Equal tells whether two assertions say the same.
func (a Assertion) Equal(b Assertion) bool {
	return a.Name == b.Name && a.Device == b.Device && a.Tag == b.Tag && a.All == b.All &&
		slices.Equal(a.Absent, b.Absent) &&
		maps.EqualFunc(a.Expect, b.Expect, func(x, y json.RawMessage) bool { return bytes.Equal(x, y) }) &&
		maps.Equal(a.Count, b.Count) && (a.Devices == nil) == (b.Devices == nil) &&
		(a.Devices == nil || *a.Devices == *b.Devices) && a.NoUnregisteredShares == b.NoUnregisteredShares
}

// BrokenAssertion is an assertion that is not true of a device.
type BrokenAssertion struct {
	Source   string // that keeps it; "": it came with the request
	Name     string
	Device   DeviceID // "": it is about how many devices there are
	Key      string
	Expected string
	Got      string
}
