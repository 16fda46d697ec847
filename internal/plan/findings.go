package plan

import (
	"fmt"
	"strings"

	"muster/internal/fleet"
	"muster/internal/stconfig"
)

// Findings are what one pass over a device found out about its configuration. Reconcile reports them; health decides
// from them how the device stands.
type Findings struct {
	Result Result
	Reason string // of Unbelievable, Unplannable, AccessLost and KeyRefused: for a person
	Next   string // likewise: what the person can do

	// Of Planned and Applying:
	Plan      Plan // the newest one
	Templates int  // that apply to the device
	Online    bool
	Mode      fleet.Mode
	Failure   string // why the last attempt to send failed; "" when none did

	Doubts    []Doubt
	Conflicts []string     // one template overrules another, for a person
	Stopped   []fleet.Stop // of the keys in the plan that are not written now
	Faults    []fleet.Stop // folders in error since Muster wrote to them, and which the plan does not mend
	Unsaved   *fleet.Stop  // the daemon answered the last write with 5xx; nil: it did not
	Restart   Restart

	CannotSave bool // the daemon gave the answer of Unsaved again and again
}

// Result is how far a pass came.
type Result uint8

const (
	Planned      Result = iota // a plan was made, and what may be sent was sent
	Applying                   // the plan is being sent
	Gone                       // the device is registered no more
	Paused                     // the mode is paused: the device is not watched
	NeverRead                  // the daemon's configuration was never read
	NoTemplates                // no template applies, and nothing of Muster's is left on the device
	Unbelievable               // the configuration that was read cannot be planned from
	Unplannable                // a template fails, or makes something that cannot be
	TooOld                     // the daemon has no /rest/config, and something is to be sent
	AccessLost                 // the daemon answers neither with its old access nor with its new one
	KeyRefused                 // the daemon refuses the API key while an intent waits to be verified
	Unverified                 // an intent waits to be verified, and the daemon does not answer
)

// Doubt is something in a template that may be a mistake.
type Doubt struct {
	Template int64
	Key      stconfig.Key
	Text     string // for a person; it names template and key
}

// Restart tells whether the daemon has to start anew for what was written, and who does that.
type Restart uint8

const (
	RestartNotNeeded Restart = iota
	RestartByPerson          // the device's settings do not let Muster restart the daemon
	RestartTold              // Muster told the daemon to restart
	RestartDue               // Muster is about to
)

// HowToResume is the next step where a mode keeps Muster from writing.
const HowToResume = "`muster status` lists the stops in force, with the command that ends each."

// WhenSent tells a person when the changes go out that may be sent and are not sent yet.
func (f Findings) WhenSent() string {
	switch {
	case f.Failure != "":
		return "It is tried again shortly. When it goes on failing, look at the daemon's own GUI and log."
	case f.Mode != fleet.ModeOn:
		return "Nothing is written, because Muster is stopped (observe) for this device. " + HowToResume
	case f.Online:
		return "It is tried again shortly."
	}
	return "It is sent as soon as the daemon can be reached."
}

// Names names the keys of some changes, for a person.
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
