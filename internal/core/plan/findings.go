package plan

import (
	"fmt"
	"slices"
	"strings"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// Findings are the results of one pass over a device. Reconcile reports them, and health derives the device's state
// from them.
type Findings struct {
	Result Result
	Reason string // sentence for a person; set only when Result is Unbelievable, Unplannable, AccessLost or KeyRefused
	Next   string // next step for the person; set with the same results as Reason

	// Plan to Failure are set where Result is Planned or Applying.
	Plan      Plan // the newest plan
	Templates int  // number of templates that apply to the device
	Online    bool
	Mode      fleet.Mode
	Revoked   *fleet.Revocation // nil: the device is not revoked
	Failure   string            // why the last attempt to send changes failed; "" when it did not

	Mistakes  []Mistake
	Conflicts []string     // contradictions between templates, for a person
	Stopped   []fleet.Stop // stops of keys in the plan that are not written now
	Faults    []fleet.Stop // folders in error since Muster wrote to them, without folders that Plan changes
	// BroughtBack are about revoked devices that came back within the last hour, also where Result is Applying or
	// Unplannable.
	BroughtBack []fleet.Stop
	Unsaved     *fleet.Stop // set when the daemon answered the last write with 5xx
	Restart     Restart

	CannotSave bool // The daemon gave the answer in Unsaved several times in a row.
}

// Result tells how far a pass came.
type Result uint8

const (
	Planned      Result = iota // A plan was made, and its sendable changes were sent.
	Applying                   // The sendable changes of the plan are being sent.
	Gone                       // The device is not registered any more.
	Paused                     // The device's mode is paused, so it is not watched.
	NeverRead                  // The daemon's configuration was never read.
	NoTemplates                // No template applies, and nothing that Muster wrote is left on the device.
	Unbelievable               // No plan can be made from the configuration that was read.
	Unplannable                // A template fails, or asks for what is not possible.
	TooOld                     // The daemon has no /rest/config, and changes wait to be sent.
	AccessLost                 // The daemon answers neither at its old nor at its new address and API key.
	KeyRefused                 // The daemon refuses the API key while an intent waits to be verified.
	Unverified                 // An intent waits to be verified, and the daemon does not answer.
)

// Mistake is something in a template that is most probably a mistake.
type Mistake struct {
	Template int64
	Key      stconfig.Key
	Text     string // sentence for a person; it names template and key
}

// Restart reports whether the daemon must restart before changes that were written take effect, and who restarts it.
type Restart uint8

const (
	RestartNotNeeded Restart = iota
	RestartByPerson          // The device's settings do not let Muster restart the daemon.
	RestartTold              // Muster told the daemon to restart.
	RestartDue               // Muster is about to restart the daemon.
)

// HowToResume is the next step for a person if the device's mode keeps Muster from writing.
const HowToResume = "`muster status` lists the stops in force, with the command that ends each."

// WhenSent tells a person when the unsent changes will be sent.
func (f Findings) WhenSent() string {
	switch {
	case f.Failure != "":
		return "It is tried again shortly. When it goes on failing, look at the daemon's own GUI and log."
	case f.Revoked != nil:
		return "Nothing is written, because the device is revoked. " + f.Revoked.HowToEnd()
	case f.Mode != fleet.ModeOn:
		return "Nothing is written, because Muster is stopped (observe) for this device. " + HowToResume
	case f.Online:
		return "It is tried again shortly."
	}
	return "It is sent as soon as the daemon can be reached."
}

// Names lists the keys of changes for a person.
func Names(changes []Change) string {
	const enough = 3
	names := make([]string, 0, enough)
	for _, c := range changes {
		if len(names) == enough {
			return fmt.Sprintf("%s and %d more", strings.Join(names, ", "), len(changes)-enough)
		}
		names = append(names, c.Key.String())
	}
	return strings.Join(names, ", ")
}

// needRestart are the options that take effect only after a restart of the daemon: the first two in version 2.1, the
// last in 1.19.
var needRestart = []string{"options.auditenabled", "options.auditfile", "options.databasetuning"}

// NeedsRestart reports whether a write at a key may take effect only after a restart of the daemon.
func NeedsRestart(key stconfig.Key) bool {
	name := strings.ToLower(key.String())
	return name == "options" || slices.Contains(needRestart, name)
}

// maxWaiting bounds how many waiting changes of a device are remembered between two passes.
const maxWaiting = 1000

// Pass returns what rollouts need to know of this plan until the next pass. observed is the digest of the document
// that the plan was made from. key makes the digests of the waiting changes unguessable.
func (p Plan) Pass(generation int64, observed string, key []byte) fleet.Pass {
	pass := fleet.Pass{Generation: generation, Observed: observed}
	for _, c := range p.Changes {
		switch {
		case c.Sendable() && pass.Unsent == "":
			pass.Unsent = c.Key.String()
		case c.Class != Skipped && !c.Sendable() && len(pass.Waiting) < maxWaiting:
			pass.Waiting = append(pass.Waiting, fleet.WaitingChange{Wish: c.Wish().Keyed(key), Key: c.Key.String(),
				Reason: fleet.Bounded(c.Reason), Stopped: c.Stopped})
		}
	}
	return pass
}
