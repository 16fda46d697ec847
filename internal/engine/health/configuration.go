package health

import (
	"fmt"
	"slices"
	"strings"

	"muster/internal/core/plan"
	"muster/internal/fleet"
)

const noTemplates = "no template applies to this device, and nothing is left to return to what it was"

// severity orders the states of a configuration: of several the worst wins.
var severity = map[fleet.Configuration]int{
	fleet.ConfigUnmanaged: 1, fleet.ConfigInSync: 2, fleet.ConfigUnknown: 3, fleet.ConfigPending: 4,
	fleet.ConfigApplying: 5, fleet.ConfigHeld: 6, fleet.ConfigFailed: 7, fleet.ConfigContended: 8,
	fleet.ConfigUnstable: 9,
}

var notPlanned = fleet.State{
	Configuration: fleet.ConfigUnknown, Reason: "the device was not looked at yet", Next: "It is looked at shortly.",
}

// Configuration returns the state of a device's configuration that follows from the findings of a pass. It sets
// Configuration, Reason, Next and BroughtBack of the state; the other fields come from the connection.
func Configuration(id fleet.DeviceID, f plan.Findings) fleet.State {
	state := func(c fleet.Configuration, reason, next string) fleet.State {
		return fleet.State{Configuration: c, Reason: fleet.Bounded(reason), Next: fleet.Bounded(next),
			BroughtBack: broughtBack(f.BroughtBack)}
	}
	switch f.Result {
	case plan.Applying:
		return state(fleet.ConfigApplying, plan.Names(f.Plan.Sendable())+" is being sent", "")
	case plan.Paused:
		return state(fleet.ConfigUnknown, "the device is not watched (mode paused)",
			"Set its mode, its tags' or the fleet's to on or observe.")
	case plan.NeverRead:
		return state(fleet.ConfigUnknown, "the daemon's configuration was never read",
			"It is read as soon as the daemon answers.")
	case plan.NoTemplates:
		return state(fleet.ConfigUnmanaged, noTemplates, "")
	case plan.Unbelievable:
		return state(fleet.ConfigUnknown, f.Reason, "Nothing is planned from it. Look at the daemon.")
	case plan.Unplannable:
		return state(fleet.ConfigFailed, f.Reason, orElse(f.Next,
			"Correct the template, or take its tag off the device. Until then nothing is written "+
				"but the removal of revoked devices."))
	case plan.TooOld:
		return state(fleet.ConfigFailed, "the daemon is too old to manage: it has no /rest/config",
			"Upgrade Syncthing to 1.12 or later.")
	case plan.AccessLost:
		return state(fleet.ConfigFailed, f.Reason, f.Next)
	case plan.KeyRefused:
		return state(fleet.ConfigFailed, f.Reason,
			"Read the key at the daemon (Actions > Settings > GUI) and put it into the device's record.")
	case plan.Unverified:
		return state(fleet.ConfigPending, "whether the last change reached the daemon is not known yet",
			"It is verified as soon as the daemon answers.")
	case plan.Planned, plan.Gone:
	}
	s := planned(id, f)
	s.Reason, s.Next, s.BroughtBack = fleet.Bounded(s.Reason), fleet.Bounded(s.Next), broughtBack(f.BroughtBack)
	return s
}

func orElse(text, without string) string {
	if text == "" {
		return without
	}
	return text
}

// planned returns the state that follows from the device's newest plan.
func planned(id fleet.DeviceID, f plan.Findings) fleet.State {
	worst := atRest(f)
	for _, s := range []fleet.State{toSend(f), waitsForConsent(id, f.Plan), stopped(f), faulty(f), notSaved(f)} {
		if severity[s.Configuration] > severity[worst.Configuration] {
			worst = s
		}
	}
	return worst
}

// atRest returns the state of a device when nothing is wrong and nothing is to be done.
func atRest(f plan.Findings) fleet.State {
	s := fleet.State{Configuration: fleet.ConfigInSync, Reason: "the daemon has what its templates ask for"}
	switch {
	case f.Templates == 0 && len(f.Plan.Changes) == 0:
		s = fleet.State{Configuration: fleet.ConfigUnmanaged, Reason: noTemplates}
	case !f.Online:
		s = fleet.State{Configuration: fleet.ConfigUnknown,
			Reason: "the daemon cannot be reached: when it was last read, it had what its templates ask for",
			Next:   "It is read again as soon as it answers."}
	default:
		remark(&s, f)
	}
	if reason, next := restart(f.Restart); reason != "" && f.Online {
		s.Reason, s.Next = reason, next
	}
	return s
}

// remark adds notes about skipped changes, probable mistakes, and templates that contradict each other. Only a mistake
// has a next step: it is normal that a template names something that only some devices have, and that one template
// overrides another.
func remark(s *fleet.State, f plan.Findings) {
	if skipped := skipped(f); len(skipped) > 0 {
		s.Reason += ", except that " + because(skipped, "is skipped", "are skipped")
	}
	if len(f.Mistakes) > 0 {
		s.Reason += "; " + f.Mistakes[0].Text + more(len(f.Mistakes)-1)
		s.Next = fmt.Sprintf("Mend template %d, if that is a mistake.", f.Mistakes[0].Template)
	}
	if len(f.Conflicts) > 0 {
		s.Reason += "; " + f.Conflicts[0] + more(len(f.Conflicts)-1)
	}
}

func more(n int) string {
	if n <= 0 {
		return ""
	}
	return " (and " + fleet.NumberText(n) + " more)"
}

// skipped returns the changes that do not apply to the device, without those for which a mistake is reported.
func skipped(f plan.Findings) []plan.Change {
	isMistake := func(c plan.Change) bool {
		return slices.ContainsFunc(f.Mistakes, func(d plan.Mistake) bool { return d.Key.Equal(c.Key) })
	}
	return slices.DeleteFunc(slices.Clone(f.Plan.Changes), func(c plan.Change) bool {
		return c.Class != plan.Skipped || isMistake(c)
	})
}

// because returns what happens to changes, with the reason of the first one that does not depend on a different
// change.
func because(changes []plan.Change, one, several string) string {
	if len(changes) == 1 {
		return fmt.Sprintf("%s %s: %s", changes[0].Key, one, changes[0].Reason)
	}
	cause := changes[0]
	if at := slices.IndexFunc(changes, func(c plan.Change) bool { return !c.Dependent }); at >= 0 {
		cause = changes[at]
	}
	return fmt.Sprintf("%s %s; %s: %s", plan.Names(changes), several, cause.Key, cause.Reason)
}

// restart returns the texts about a daemon that must be restarted.
func restart(r plan.Restart) (reason, next string) {
	const required = "restart required: the daemon has what its templates ask for, and takes some of it into account " +
		"only when it starts anew"
	switch r {
	case plan.RestartByPerson:
		return required, "Restart the daemon, or let Muster do that: set restart to true in the device's settings. " +
			"One that was started with --no-restart stays down then."
	case plan.RestartTold:
		return "restart required: Muster told the daemon to start anew",
			"If it stays away it was started with --no-restart: start it on its own machine."
	case plan.RestartDue:
		return required, "Muster tells it to start anew, as its settings allow."
	case plan.RestartNotNeeded:
	}
	return "", ""
}

// toSend returns the state of a device whose changes are being sent.
func toSend(f plan.Findings) fleet.State {
	sendable := f.Plan.Sendable()
	if len(sendable) == 0 {
		return fleet.State{}
	}
	s := fleet.State{Configuration: fleet.ConfigPending, Next: f.WhenSent(),
		Reason: plan.Names(sendable) + " is to change as the templates ask"}
	if away := slices.IndexFunc(sendable, func(c plan.Change) bool { return c.Away() != "" }); away >= 0 {
		s.Reason = fmt.Sprintf("%s is to go: %s", sendable[away].Key, sendable[away].Reason)
	} else if !slices.ContainsFunc(sendable, func(c plan.Change) bool { return !c.Drift }) {
		s.Reason = plan.Names(sendable) + " was changed at the daemon and is to be set right (drift)"
	}
	if f.Failure != "" {
		s.Reason += "; the last attempt failed: " + f.Failure
	}
	return s
}

// waitsForConsent returns the state of a device with held or refused changes.
func waitsForConsent(id fleet.DeviceID, p plan.Plan) fleet.State {
	var held, refused []plan.Change
	for _, c := range p.Changes {
		switch {
		case c.Sendable() || c.Stopped:
		case c.Class == plan.Held:
			held = append(held, c)
		case c.Class == plan.Refused:
			refused = append(refused, c)
		}
	}
	switch {
	case len(held) > 0:
		return fleet.State{
			Configuration: fleet.ConfigHeld, Reason: because(held, "waits for consent", "wait for consent"),
			Next: fmt.Sprintf("`muster apply %s` shows the plan, with the command that consents to it; `muster consent list` "+
				"answers equal changes of all devices at once. Or change the template.",
				id.Short()),
		}
	case len(refused) > 0:
		return fleet.State{
			Configuration: fleet.ConfigHeld, Reason: because(refused, "is never done", "are never done"),
			Next: "Change the template that asks for it.",
		}
	}
	return fleet.State{}
}

// stopped returns the state of a device with stopped keys.
func stopped(f plan.Findings) (worst fleet.State) {
	for _, stop := range f.Stopped {
		s := fleet.State{Configuration: fleet.ConfigFailed, Next: "It is not repeated until the plan or the daemon's " +
			"configuration changes, or somebody applies the plan."}
		switch stop.Kind {
		case fleet.StopContended:
			s = fleet.State{Configuration: fleet.ConfigContended,
				Next: "Agree with the person who sets it at the daemon, then change the template or apply the plan."}
		case fleet.StopUnstable:
			s = fleet.State{Configuration: fleet.ConfigUnstable,
				Next: "Make the templates say the same every time, or apply the plan."}
		}
		s.Reason = stop.Key + ": " + stop.Reason
		if severity[s.Configuration] > severity[worst.Configuration] {
			worst = s
		}
	}
	return worst
}

// faulty returns the state of a device with folders in error, or with revoked devices that come back again and again.
func faulty(f plan.Findings) fleet.State {
	if len(f.Faults) > 0 {
		return fleet.State{Configuration: fleet.ConfigFailed, Reason: f.Faults[0].Reason,
			Next: "Correct the template, or mend the folder at the daemon. The device is in order again when the folder runs."}
	}
	if at := slices.IndexFunc(f.BroughtBack, plan.IsBroughtBackOften); at >= 0 {
		return fleet.State{Configuration: fleet.ConfigFailed, Reason: f.BroughtBack[at].Reason,
			Next: fleet.WaitTexts[fleet.WaitBroughtBack].Next}
	}
	return fleet.State{}
}

// broughtBack tells which revoked devices came back.
func broughtBack(stops []fleet.Stop) string {
	reasons := make([]string, len(stops))
	for i, stop := range stops {
		reasons[i] = stop.Reason
	}
	return fleet.Bounded(strings.Join(reasons, "; "))
}

// notSaved returns the state of a daemon that could not save its configuration.
func notSaved(f plan.Findings) fleet.State {
	switch {
	case f.Unsaved == nil:
		return fleet.State{}
	case f.CannotSave:
		return fleet.State{Configuration: fleet.ConfigFailed,
			Reason: "the daemon cannot save its configuration: " + f.Unsaved.Reason,
			Next:   "Look at the daemon's disk and its log. It is tried again by itself, up to once a minute."}
	case f.Mode != fleet.ModeOn:
		return fleet.State{Configuration: fleet.ConfigPending,
			Reason: "the daemon may have lost the last change: " + f.Unsaved.Reason,
			Next:   "Nothing is written: the mode is observe. Set the fleet's, the tags' and the device's mode to on."}
	}
	return fleet.State{Configuration: fleet.ConfigPending,
		Reason: "the daemon may lose the last change: " + f.Unsaved.Reason,
		Next:   "It is asked to save its configuration again shortly."}
}
