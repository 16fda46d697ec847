package health

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"muster/internal/fleet"
)

// Facts are what other rooms know when the state of a device is requested.
type Facts struct {
	Registry *fleet.Registry // nil where it cannot be read
	Snapshot *fleet.Snapshot // nil: the device is not watched
	Shortage string          // why devices are visited in turn
	LockLost bool            // this server lost the lock of its database
	HomeText string          // Folders.HomeText
}

// State returns the state of a device. Its reason is that of the connection while the daemon cannot be reached, and
// otherwise that of the configuration.
func (h *Health) State(id fleet.DeviceID, f Facts) (fleet.State, error) {
	if f.Snapshot == nil {
		return fleet.State{}, fleet.NotFoundf("device %s is not registered", id)
	}
	h.mu.Lock()
	found, wave, rival := h.condition(id), h.waves[id], h.rivals[id]
	h.mu.Unlock()
	condition := found.State
	if waits := Waits(condition, wave.Wave); waits != condition {
		condition, condition.Since = waits, wave.since
	}
	state := joined(found.asOf(condition, f.Snapshot), f, time.Now())
	if rival != "" && f.Snapshot.Connection == fleet.Online && f.Snapshot.FoundBy == fleet.FoundByAgent {
		state = cloned(state, rival)
	}
	if f.Registry != nil {
		if revocation, is := f.Registry.Revocations[id]; is {
			state = revoked(state, revocation)
		}
	}
	state.Reason, state.Next = f.named(state.Reason), f.named(state.Next)
	state.BroughtBack = f.named(state.BroughtBack)
	if f.LockLost {
		state.Reason = join("; ", "nothing is written: this server lost the lock of its database", state.Reason)
	}
	return state, nil
}

// asOf returns the state, or an unknown or pending one when the daemon has a different configuration than the one that
// was planned.
func (c condition) asOf(state fleet.State, s *fleet.Snapshot) fleet.State {
	if state.Configuration != fleet.ConfigInSync || c.planned == s.Digest && !s.Outdated {
		return state
	}
	return fleet.State{Configuration: fleet.ConfigUnknown, Since: s.ConfigAt,
		Reason: "the daemon has another configuration than the one that was last compared with its templates",
		Next:   "It is compared shortly. The plan shows what differs."}
}

// joined combines the states of connection and configuration.
func joined(condition fleet.State, f Facts, now time.Time) fleet.State {
	s := f.Snapshot
	state := fleet.State{
		Connection: s.Connection, Configuration: condition.Configuration, Address: s.Address, FoundBy: s.FoundBy,
		LastSeen: s.LastSeen, Since: s.Since, Reason: s.Reason, Next: s.Next, BroughtBack: condition.BroughtBack,
	}
	if s.Address == "" {
		state.FoundBy = "" // it is that of before the start
	}
	if s.Connection != fleet.Online {
		if state.Configuration != fleet.ConfigFailed {
			state.Configuration = fleet.ConfigUnknown // stale: what the daemon has now is not known
			return state
		}
		state.Reason = join("; ", state.Reason, condition.Reason)
		state.Next = join(" ", state.Next, condition.Next)
		return state
	}
	switch {
	case s.Restarting:
		state.Reason = join("; ", s.Reason, condition.Reason)
	case condition.Reason != "":
		state.Reason, state.Next = condition.Reason, condition.Next
	}
	if s.Visited {
		state.Reason = join("; ", state.Reason, f.Shortage)
	}
	if s.TooOldFor != "" {
		state.Reason = join("; ", state.Reason, "its agent is too old to tell "+s.TooOldFor)
		state.Next = join(" ", state.Next, "Update the agent on the device's machine.")
	}
	reason, next := certificateNotes(s, f.settings(), now)
	state.Reason, state.Next = join("; ", state.Reason, reason), join(" ", state.Next, next)
	if f.HomeText != "" {
		state.Reason, state.Next = join("; ", state.Reason, f.HomeText), join(" ", state.Next, nextOfHome)
	}
	if condition.Since.After(state.Since) {
		state.Since = condition.Since
	}
	return state
}

// SetRival notes from where a second agent connected with the certificate of a device; "": there is none. It tells
// whether that is new.
func (h *Health) SetRival(id fleet.DeviceID, address string) (isNew bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	isNew = (h.rivals[id] == "") != (address == "")
	if address == "" {
		delete(h.rivals, id)
	} else {
		h.rivals[id] = address
	}
	return isNew
}

// cloned returns the state of a device whose certificate two agents have. Muster manages the agent that connected
// first.
func cloned(state fleet.State, rival string) fleet.State {
	state.Connection = fleet.Cloned
	state.Reason = fmt.Sprintf("two agents connect with this device's certificate: the one at %s, which is managed, and "+
		"one at %s, which is refused", state.Address, rival)
	state.Next = fleet.ClonedNext(state.Address, rival)
	return state
}

// revoked is the state of a device that is revoked itself.
func revoked(state fleet.State, by fleet.Revocation) fleet.State {
	state.Reason = join("; ", "the device is "+by.Why()+": nothing is written to it", state.Reason)
	state.Next = "`" + by.Ended() + "` ends the revocation. `muster device delete " + by.Device.Short() +
		"` takes the device out of the list, and the revocation stays."
	return state
}

// settings returns the device's; the zero value where they cannot be read.
func (f Facts) settings() fleet.DeviceSettings {
	if f.Registry != nil && f.Registry.Devices[f.Snapshot.Device] != nil {
		return f.Registry.Devices[f.Snapshot.Device].Settings
	}
	return fleet.DeviceSettings{}
}

// named is a text in which devices have names instead of IDs.
func (f Facts) named(text string) string {
	return fleet.WithNames(text, func(id fleet.DeviceID) string {
		if f.Registry == nil {
			return ""
		}
		return f.Registry.Label(id)
	})
}

// join joins the texts that are not blank.
func join(by string, texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(text string) bool { return text == "" }), by)
}

// certificateNotes say what a person should know about the certificate of a device that is online.
func certificateNotes(s *fleet.Snapshot, settings fleet.DeviceSettings, now time.Time) (reason, next string) {
	if s.FoundBy == fleet.FoundByAgent {
		return "", "" // it plays no part
	}
	if s.Proven.Fingerprint != settings.Pin || !s.Proven.EndsSoon(now) {
		return "", ""
	}
	reason = "its certificate ends on " + s.Proven.NotAfter.Format(time.DateOnly)
	return reason, fmt.Sprintf("When it starts in the month before that, Syncthing makes itself another one. "+
		"Run `muster enroll` on the daemon's machine then, or compare the fingerprint there and take it: "+
		"`muster device trust %s`.", s.Device.Short())
}
