// Package plan compares what a daemon has with what it should have. A plan is an ordered list of changes, each with
// its class from the guard table. Writes turns a plan into narrow requests. The package opens no connection.
package plan

import (
	"slices"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// Class says whether a change is sent.
type Class string

const (
	Free Class = "free" // sent: no rule of the guard holds it
	// Implied changes are sent. Such a change adds a device because a folder is shared with it, or removes a device
	// because no folder is shared with it any more.
	Implied Class = "implied"
	Skipped Class = "skipped" // left out: the device has no place for it
	Held    Class = "held"    // left out until a person consents
	Refused Class = "refused" // never sent
)

// Plan takes one device from its observed to its desired configuration. It is valid only for the document that it was
// made from.
type Plan struct {
	Device     fleet.DeviceID
	Generation int64    // state of the templates and tags that it was made from
	Observed   string   // digest of the document that it was made from
	Digest     string   // covers everything but Generation: equal digests mean the same plan
	Changes    []Change // ordered as they are sent; skipped ones come last
}

// Change is one difference between the observed and the desired document. From may hold secrets in clear, and To may
// hold Handles: use Shown for people.
type Change struct {
	Key       stconfig.Key
	From, To  stconfig.Value // Absent where the document has nothing at Key
	Templates []int64        // templates that ask for the change, in fold order; empty when the place returns to base
	Class     Class
	Reason    string // why the class is not Free; for a person
	Drift     bool   // The change sets back a value of Muster's that a person changed.
	Returns   bool   // No template asks for the place, so it returns to base. A person may keep what is there instead.
	Access    bool   // The change moves the daemon's API: its key is gui.address, gui.useTLS or gui.apiKey.
	Stopped   bool   // held because repeated writes of the key had no lasting effect; see Stops
	Consented bool   // held, and a person consented
	Dependent bool   // held or refused only because another change is; a person need not answer it
	ToLeftOut bool   // The change sets a value (To) that a report leaves out because of its size.
	OnlyKeep  bool   // held, and the base cannot be written back: a person may keep the value or choose another

	implied    bool           // No template names the device: it is or was there for a shared folder.
	recreates  bool           // A template had removed the member, and no template removes it any more.
	earlier    bool           // The daemon has a value that Muster wrote earlier, and no template names the place.
	introducer string         // see Introducer
	revoked    bool           // see Revoked
	away       string         // Away returns it
	with       string         // key of another change, because of which the daemon makes this one by itself; or ""
	chosen     string         // name of the value that a person chose; see Choosing
	instead    *Change        // the change without that choice
	copies     string         // the question about copies (see CopyDecline.Question), or ""
	note       string         // end of Reason that no digest covers, because it changes as time goes by; or ""
	send       stconfig.Value // To with its secrets in clear, as the first write sends it

	startsPaused bool // A new folder is made paused, before it gets its ignore patterns.
	resumes      bool // The change resumes a folder that was made paused for its ignore patterns.
}

// Sending returns the value that is sent: To with its secrets in clear. A new folder with ignore patterns is sent
// paused.
func (c Change) Sending() stconfig.Value { return c.send }

// Introducer returns the device that, as an introducer, keeps adding the device that templates revoked; "" without
// one.
func (c Change) Introducer() string { return c.introducer }

// Revoked reports whether the change takes away, once more, a device that was revoked.
func (c Change) Revoked() bool { return c.revoked }

// Away returns, for a change that removes a revoked device or a share with one, since when the device is revoked. It
// returns "" for other changes.
func (c Change) Away() string { return c.away }

// Shown returns From and To with secrets masked.
func (c Change) Shown() (from, to stconfig.Value) {
	return stconfig.MaskAt(c.Key, c.From), stconfig.MaskAt(c.Key, c.To)
}

// ShownSize returns about how many bytes the change takes as JSON. Each value is counted only up to most bytes.
func (c Change) ShownSize(most int) int {
	const members = 200 // bytes for the names of all members and for the short members
	return members + len(c.Reason) + c.From.JSONSize(most) + c.To.JSONSize(most)
}

// Reported returns the change for a report. It shares no memory with the documents, because a report may wait long for
// its reader. If room is true, it contains the values; otherwise its reason says where to see them.
func (c Change) Reported(room bool) Change {
	const left = "its values are not shown, because all of them together are too large: the " +
		"plan of the device shows them"
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

// At returns the plan's change of a key, unless that change is skipped.
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

// Sendable reports whether the change is sent: it is free, implied, or held with a person's consent.
func (c Change) Sendable() bool {
	return c.Class == Free || c.Class == Implied || c.Class == Held && c.Consented
}

// Sendable returns those changes that are sent, in the order of sending.
func (p Plan) Sendable() []Change {
	var out []Change
	for _, c := range p.Changes {
		if c.Sendable() {
			out = append(out, c)
		}
	}
	return out
}

// Input is everything that a plan depends on. The same input gives the same plan.
type Input struct {
	Device     fleet.DeviceID
	Generation int64
	Observed   stconfig.Value
	Digest     string // digest of Observed without its `ignores`; if it is "", Make computes it
	Desired    stconfig.Value
	Base       stconfig.Value // the document as it would be without Muster; Absent: as Observed
	// Cleared is Observed without the revoked devices and the shares with them; Absent if Observed has none. These are
	// removed before anything else. A share goes even if its folder is to be removed and the removal waits for an answer.
	Cleared stconfig.Value
	// ByAdmins returns the document that the templates of admins, without any others, make of Base; Absent if they make
	// none. Nil: that document is Base. Make calls ByAdmins at most once, only if it needs to, and returns its error.
	ByAdmins func() (stconfig.Value, error)
	// MadeByAdmins reports whether a template of an admin makes a member, or was the first to make it. Nil: admins made
	// no member.
	MadeByAdmins func(member stconfig.Key) bool
	Why          func(stconfig.Key) Why
	Skipped      []Change // changes that the fold skipped, with Key, Templates and Reason
	Facts        Facts
	Secret       func(name string) (string, bool) // returns the text of one of Muster's own secrets
	SamePhrase   func(text, hash string) bool     // reports whether hash is the daemon's hash of this gui.password
	Consent      func(Change) bool                // reports whether a person consented to a held change
	Chosen       func(Change) (name string)       // names the value that a person chose for a held change; may be nil
	Stopped      func(stconfig.Key) fleet.Stop    // returns the stop of a key that must not be written now
}

// Facts are what the guard knows about the daemon, its machine and the fleet.
type Facts struct {
	APIPort      int    // port of the daemon's API, from the device's record
	APIAddress   string // host name or IP address at which Muster reaches the daemon, or ""
	ByAgent      bool   // the agent on the machine connects Muster with the daemon, and follows a move of its API
	AddressFixed bool   // the daemon reports guiAddressOverridden
	System       fleet.System
	Roots        []string                  // folder roots that hold for the device
	FolderPaths  func() ([]string, error)  // all paths that the device's folders ever had; nil: only present ones count
	Registered   func(fleet.DeviceID) bool // nil: no device is registered
	// OthersVars names the vars that a template of an admin reads and that authors saved last. Such a template counts as
	// an author's.
	OthersVars func(template int64) []string
	// ByAdmin reports whether an admin is responsible for what a template does on the device. If the template applies, an
	// admin saved it last; if it applied earlier, an admin took it away. Nil: no admin is known to be responsible.
	ByAdmin    func(template int64) bool
	AuthorKeys []string                    // keys that admins let authors set, besides those of authorTable
	AddressOf  func(fleet.DeviceID) string // the address of a registered device that `devices()` gives; may be nil
	// Copies returns what is proven of the copies of a folder. Nil: no change is held because of copies.
	Copies func(folder string) fleet.FolderCopies
}

// Why tells where a change comes from; see desired.Why.
type Why struct {
	Templates  []int64
	Authors    []int64
	Before     []int64
	Implied    bool
	Returns    bool
	Recreates  bool
	Drift      bool
	Earlier    bool
	Revoked    bool
	Away       string
	Introducer string
	With       string
}

// MaxReported bounds the bytes of values, as JSON, in one report. A report may wait until there is memory for its
// reader.
const MaxReported = 256 << 10

// ForReport returns the changes for a report. They share no memory with the documents, and each has its values if
// these fit into what is left of room. room is how many bytes of values still fit; ForReport subtracts what it uses.
func ForReport(changes []Change, room *int) []Change {
	out := make([]Change, len(changes))
	for i, c := range changes {
		size := c.From.JSONSize(MaxReported) + c.To.JSONSize(MaxReported)
		fits := size <= *room
		if fits {
			*room -= size
		}
		out[i] = c.Reported(fits)
	}
	return out
}
