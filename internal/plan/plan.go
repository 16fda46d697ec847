// Package plan compares what a daemon has with what it should have: an ordered list of changes, each with its class
// from the guard table, and the narrow writes that bring the daemon there. It talks to nobody.
package plan

import (
	"muster/internal/fleet"
	"muster/internal/stconfig"
)

// Class says what is done about a change.
type Class string

const (
	Free    Class = "free"    // sent
	Implied Class = "implied" // sent: a device that a shared folder brings along, or no longer needs
	Skipped Class = "skipped" // left out: the device cannot take it
	Held    Class = "held"    // left out until a person consents
	Refused Class = "refused" // never sent
)

// Plan takes one device from its observed to its desired configuration. It holds only for the document it was made from.
type Plan struct {
	Device     fleet.DeviceID
	Generation int64  // of the templates and tags it was made from
	Observed   string // digest of the document it was made from
	Digest     string // of all of it: two equal digests are the same plan
	Changes    []Change
}

// Change is one difference. Secrets in From and To are in clear or Handles: show it with Shown.
type Change struct {
	Key       stconfig.Key
	From, To  stconfig.Value // Absent: not there
	Templates []int64        // that asked for it, in the order of the fold; none when it returns to base
	Class     Class
	Reason    string // why it is not simply done; for a person
	Drift     bool   // corrects what somebody wrote over Muster's value
	Returns   bool   // no template asks any more: what stood there before Muster comes back
	Access    bool   // moves the daemon's API: gui.address, gui.useTLS, gui.apiKey
	Consented bool   // held, and a person said yes
}

// Input is everything that a plan depends on. Same input, same plan.
type Input struct {
	Device     fleet.DeviceID
	Generation int64
	Observed   stconfig.Value
	Desired    stconfig.Value
	Why        func(stconfig.Key) Why
	Skipped    []Change // Key, Templates and Reason of what the fold left out
	Facts      Facts
	Secret     func(name string) (string, bool) // text of a secret of Muster's own
	SamePhrase func(text, hash string) bool     // whether the daemon made hash of that gui.password
	Consent    []string                         // keys of held changes that a person said yes to
	Stopped    map[string]string                // keys that are not to be written now, with the reason
	HoldAll    string                           // reason to hold whatever is free; "" for none
}

// Facts are what the guard knows about reaching the daemon.
type Facts struct {
	APIPort      int    // in Muster's record
	APIAddress   string // host name or IP that Muster uses; "" when it knows none
	AddressFixed bool   // the daemon reports guiAddressOverridden
}

// Why says where a change comes from; see desired.Why.
type Why struct {
	Templates []int64
	Implied   bool
	Returns   bool
	Recreates bool
	Drift     bool
	With      string
}
