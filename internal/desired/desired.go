// Package desired makes one device's desired configuration: what was there before Muster (the base), with the device's
// templates folded over it in order, and who asked for what. It decides nothing about safety and sends nothing: that is
// the business of plan and reconcile.
package desired

import (
	"muster/internal/fleet"
	"muster/internal/stconfig"
)

// Input is everything that the desired configuration depends on. Same input, same result.
type Input struct {
	Device     fleet.DeviceID
	Observed   stconfig.Value    // as the daemon has it; `ignores` holds the patterns of those folders that were read
	Entries    []fleet.BaseEntry // what Muster wrote on this device
	Templates  []fleet.Template  // that apply to the device, in the order of the fold
	Registered map[fleet.DeviceID]string
	Evaluate   func(t fleet.Template, config stconfig.Value) (Fragment, error)
	Secret     func(name string) bool // tells whether a secret of that name is there; nil: all are
}

// Fragment is what a template's program makes for this device.
type Fragment struct {
	Value       stconfig.Value
	ReadsConfig bool // the value depends on `config`: it must stay the same over its own result
}

// Result is the desired configuration and how it came about.
type Result struct {
	Desired stconfig.Value    // secrets of Muster's own are Handles still
	Base    stconfig.Value    // what the fold started from
	Entries []fleet.BaseEntry // as this observation leaves them: what a person wrote over is theirs now
	Skipped []Skipped
	Ignores []string // folders whose ignore patterns are asked for or were written, sorted
	Implied map[fleet.DeviceID]bool

	observed stconfig.Value
	asked    []asked
}

// Skipped is a change that a template asks for and this device cannot take.
type Skipped struct {
	Template int64
	Key      stconfig.Key
	Reason   string // for a person
}

// Why says where a difference between the observed and the desired configuration comes from.
type Why struct {
	Templates []int64 // that asked for it, in the order of the fold; none: it returns to base
	Implied   bool    // a device that a shared folder brings along, or no longer needs
	Returns   bool    // no template asks: what stood there before Muster comes back
	Recreates bool    // a member that Muster removed comes back
	Drift     bool    // what Muster wrote was written over, and is asked for still
	With      string  // key of the change that brings this one along; "" when it stands alone
}
