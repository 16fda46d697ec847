package app

import (
	"context"
	"slices"
	"strings"

	"muster/internal/fleet"
	"muster/internal/mirror"
	"muster/internal/reconcile"
)

// states joins what the mirror knows of the connection with what the reconciler knows of the configuration.
type states struct {
	mirror *mirror.Mirror
	engine *reconcile.Engine

	whyVisited string // a daemon is not followed
}

func (a *App) states() states { return states{a.mirror, a.engine, a.budget.Reason()} }

// joined are those of the texts that say something.
func joined(by string, texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(text string) bool { return text == "" }), by)
}

// State of a registered device. While the daemon cannot be reached that is what a person must hear first; else the
// reason is that of the configuration.
func (s states) State(_ context.Context, id fleet.DeviceID) (fleet.State, error) {
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
	if configuration.Since.After(state.Since) {
		state.Since = configuration.Since
	}
	return state, nil
}
