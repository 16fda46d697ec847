package app

import (
	"context"
	"slices"
	"strings"
	"time"

	"muster/internal/fleet"
	"muster/internal/logkey"
	"muster/internal/mirror"
	"muster/internal/reconcile"
)

// states joins what the mirror knows of the connection with what the reconciler knows of the configuration.
type states struct {
	mirror   *mirror.Mirror
	engine   *reconcile.Engine
	registry func() *fleet.Registry // nil where it cannot be read

	whyVisited string       // a daemon is not followed
	lockLost   func() error // nil while this server holds the lock of its database
}

func (a *App) states() states {
	return states{a.mirror, a.engine, a.registry, a.budget.Reason(), a.store.LockLost}
}

// registry is the newest one, nil where it cannot be read.
func (a *App) registry() *fleet.Registry {
	registry, err := a.store.Registry(context.Background())
	if err != nil {
		a.log.Warn("the registry is not readable", logkey.Err(err))
		return nil
	}
	return registry
}

// settingsOf are a device's settings; the zero value where they cannot be read.
func (s states) settingsOf(id fleet.DeviceID) fleet.DeviceSettings {
	if registry := s.registry(); registry != nil && registry.Devices[id] != nil {
		return registry.Devices[id].Settings
	}
	return fleet.DeviceSettings{}
}

// named is a text in which devices have names instead of IDs.
func (s states) named(text string) string {
	return fleet.WithNames(text, func(id fleet.DeviceID) string {
		if registry := s.registry(); registry != nil {
			return registry.Label(id)
		}
		return ""
	})
}

// joined are those of the texts that say something.
func joined(by string, texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(text string) bool { return text == "" }), by)
}

// State of a registered device. While the daemon cannot be reached that is what a person must hear first; else the
// reason is that of the configuration.
func (s states) State(_ context.Context, id fleet.DeviceID) (fleet.State, error) {
	state, err := s.ofDevice(id)
	state.Reason, state.Next = s.named(state.Reason), s.named(state.Next)
	if err == nil && s.lockLost() != nil {
		state.Reason = joined("; ", "nothing is written: this server lost the lock of its database", state.Reason)
	}
	return state, err
}

func (s states) ofDevice(id fleet.DeviceID) (fleet.State, error) {
	snapshot := s.mirror.Snapshot(id)
	if snapshot == nil {
		return fleet.State{}, fleet.NotFoundf("device %s is not registered", id)
	}
	configuration := s.engine.State(id)
	state := fleet.State{
		Connection: snapshot.Connection, Configuration: configuration.Configuration, Address: snapshot.Address, FoundBy: snapshot.FoundBy,
		LastSeen: snapshot.LastSeen, Since: snapshot.Since, Reason: snapshot.Reason, Next: snapshot.Next,
	}
	if snapshot.Connection != fleet.Online {
		if state.Configuration != fleet.ConfigFailed {
			state.Configuration = fleet.ConfigUnknown // stale: nobody knows what the daemon has now
			return state, nil
		}
		state.Reason = joined("; ", state.Reason, configuration.Reason)
		state.Next = joined(" ", state.Next, configuration.Next)
		return state, nil
	}
	switch {
	case snapshot.Restarting:
		state.Reason = joined("; ", snapshot.Reason, configuration.Reason)
	case configuration.Reason != "":
		state.Reason, state.Next = configuration.Reason, configuration.Next
	}
	if snapshot.Visited {
		state.Reason = joined("; ", state.Reason, s.whyVisited)
	}
	reason, next := certificateNotes(snapshot, s.settingsOf(id), time.Now())
	state.Reason, state.Next = joined("; ", state.Reason, reason), joined(" ", state.Next, next)
	if configuration.Since.After(state.Since) {
		state.Since = configuration.Since
	}
	return state, nil
}
