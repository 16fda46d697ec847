// Package plan compares what a daemon has with what it should have: an ordered list of changes, each with its class
// from the guard table, and the narrow writes that bring the daemon there. It opens no connection.
package plan

import (
	"crypto/sha256"
	"fmt"
	"slices"

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

// Plan takes one device from its observed to its desired configuration. It holds only for the document it was made
// from.
type Plan struct {
	Device     fleet.DeviceID
	Generation int64    // of the templates and tags it was made from
	Observed   string   // digest of the document it was made from
	Digest     string   // of all but Generation: two equal digests are the same plan, whatever else the fleet changed
	Changes    []Change // in the order in which they are sent; what is skipped comes last
}

// Change is one difference. From may hold secrets in clear, To Handles: show them with Shown.
type Change struct {
	Key       stconfig.Key
	From, To  stconfig.Value // Absent: not there
	Templates []int64        // that asked for it, in the order of the fold; none when it returns to base
	Class     Class
	Reason    string // why it is not simply done; for a person
	Drift     bool   // corrects what a person wrote over Muster's value
	Returns   bool   // no template asks any more, or what Muster removed comes back: a person may keep what is there
	Access    bool   // moves the daemon's API: gui.address, gui.useTLS, gui.apiKey
	Stopped   bool   // held because writing it again and again is of no use
	Consented bool   // held, and a person said yes
	Dependent bool   // held or refused only together with another change: it goes out with that one, without an answer
	ToLeftOut bool   // To exists, and is left out of a report
	OnlyKeep  bool   // held, and what was there cannot be written back: a person may keep what is there, or set another

	implied    bool
	recreates  bool
	earlier    bool   // the daemon has a value that Muster wrote earlier, and no template names the place
	introducer string // the device that adds again what templates have revoked
	with       string
	send       stconfig.Value // To with its secrets, and as it is sent first

	startsPaused bool // a new folder that waits for its ignore patterns
	resumes      bool // such a folder starts
}

// Sending is To with the secrets that it names. A new folder that waits for its ignore patterns is sent paused.
func (c Change) Sending() stconfig.Value { return c.send }

// Introducer is the device that adds again what templates have revoked; "" when none does.
func (c Change) Introducer() string { return c.introducer }

// Shown is From and To as a person may see them.
func (c Change) Shown() (from, to stconfig.Value) {
	return stconfig.MaskAt(c.Key, c.From), stconfig.MaskAt(c.Key, c.To)
}

// Reported is the change for an answer that waits: it holds no part of the documents that it comes from, and its
// values only where there is room for them.
func (c Change) Reported(room bool) Change {
	const left = "its values are not shown, because all of them together are too large: `muster apply DEVICE`, " +
		"or GET devices/{deviceID}/plan, shows the plan"
	c.send = stconfig.Value{}
	if room {
		c.From, c.To = c.From.Detached(), c.To.Detached()
		return c
	}
	c.ToLeftOut = c.To.Exists()
	c.From, c.To = stconfig.Value{}, stconfig.Value{}
	if c.Reason != "" {
		c.Reason += "; "
	}
	c.Reason += left
	return c
}

// At is the change at a key, if the plan has one that is not skipped.
func (p Plan) At(key string) (Change, bool) {
	parsed, err := stconfig.ParseKey(key)
	if err != nil {
		return Change{}, false
	}
	i := slices.IndexFunc(p.Changes, func(c Change) bool { return c.Class != Skipped && c.Key.Equal(parsed) })
	if i < 0 {
		return Change{}, false
	}
	return p.Changes[i], true
}

// Digest tells one change of a key from another, without showing it.
func (c Change) Digest() string { return ValueDigest(c.From) + ValueDigest(c.Sending()) }

// ValueDigest tells one value from another, without showing it.
func ValueDigest(v stconfig.Value) string {
	if !v.Exists() {
		return "absent"
	}
	sum := sha256.New()
	stconfig.Normalise(v).WriteJSON(sum)
	return string(sum.Sum(nil))
}

// Wish tells what a change asks for at which place, without keeping it: two of one device are equal when the changes
// ask for the same, whatever keeps them back.
type Wish [sha256.Size]byte

// Wish of the change.
func (c Change) Wish() Wish {
	h := sha256.New()
	fmt.Fprintf(h, "%s ", c.Key)
	if to := c.Sending(); to.Exists() {
		stconfig.Normalise(to).WriteJSON(h)
	}
	return Wish(h.Sum(nil))
}

// Sendable tells whether the change goes out.
func (c Change) Sendable() bool {
	return c.Class == Free || c.Class == Implied || c.Class == Held && c.Consented
}

// Sendable are the changes that go out, in order.
func (p Plan) Sendable() []Change {
	var out []Change
	for _, c := range p.Changes {
		if c.Sendable() {
			out = append(out, c)
		}
	}
	return out
}

// Input is everything that a plan depends on. Same input, same plan.
type Input struct {
	Device     fleet.DeviceID
	Generation int64
	Observed   stconfig.Value
	Digest     string // of Observed, without its `ignores`; "" when it is not at hand
	Desired    stconfig.Value
	Base       stconfig.Value // what the fold started from; Absent: Observed
	// what the templates that admins saved ask for, without the others; nil: nothing but Base
	ByAdmins func() stconfig.Value
	// whether a template that an admin saved makes a member, or made it; nil: none
	MadeByAdmins func(member stconfig.Key) bool
	Why          func(stconfig.Key) Why
	Skipped      []Change // Key, Templates and Reason of what the fold left out
	Facts        Facts
	Secret       func(name string) (string, bool)   // the text of a secret of Muster's own
	SamePhrase   func(text, hash string) bool       // whether the daemon made this hash of that gui.password
	Consent      func(Change) bool                  // whether a person said yes to a held change
	Stopped      func(stconfig.Key) (reason string) // why a key is not to be written now; "" when it may be
}

// Facts are what the guard knows about the daemon, its machine and the rest of the fleet.
type Facts struct {
	APIPort      int    // in Muster's record
	APIAddress   string // host name or IP that Muster uses; "" when it knows none
	ByAgent      bool   // Muster reaches the daemon by the agent on its machine, which follows where the API listens
	AddressFixed bool   // the daemon reports guiAddressOverridden
	System       fleet.System
	Roots        []string                  // folder roots of the device
	FolderPaths  func() ([]string, error)  // where its folders were ever seen; nil: only where they are
	Registered   func(fleet.DeviceID) bool // nil: no device is
	// OthersVars names the vars that make a template count as no admin's; none where its own text does. nil: none.
	OthersVars func(template int64) []string
}

// Why says where a change comes from; see desired.Why.
type Why struct {
	Templates  []int64
	Authors    []int64
	Implied    bool
	Returns    bool
	Recreates  bool
	Drift      bool
	Earlier    bool
	Introducer string
	With       string
}
