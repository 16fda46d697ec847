package template

import (
	"cmp"
	"slices"

	"muster/internal/fleet"
)

// Facts are what a template sees of one device.
type Facts struct {
	DeviceID   fleet.DeviceID `json:"deviceID"`
	Label      string         `json:"label"`
	Tags       []fleet.Tag    `json:"tags"` // sorted
	APIAddress string         `json:"apiAddress"`
	APIPort    int            `json:"apiPort"`
	OS         string         `json:"os"`      // as the daemon names it: "linux"; "" before first contact
	Arch       string         `json:"arch"`    // "amd64"
	Version    string         `json:"version"` // "v2.1.3"
}

// Fleet is the facts of all devices. It is immutable and meant to be made once per change: the values that programs
// see are converted once and shared by every evaluation.
type Fleet struct {
	devices []Facts // by device ID
}

// NewFleet takes the facts of all devices in any order.
func NewFleet(devices []Facts) *Fleet {
	f := &Fleet{devices: slices.Clone(devices)}
	slices.SortFunc(f.devices, func(a, b Facts) int { return cmp.Compare(a.DeviceID, b.DeviceID) })
	return f
}

// Devices are the facts, sorted by device ID; read only.
func (f *Fleet) Devices() []Facts {
	if f == nil {
		return nil
	}
	return f.devices
}
