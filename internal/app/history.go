package app

import (
	"muster/internal/fleet"
	"muster/internal/health"
)

// newHistorian keeps the fleet in numbers.
func (a *App) newHistorian() health.Historian {
	return health.Historian{Now: a.fleetInNumbers, Put: a.store.PutHistoryPoint, Log: a.log}
}

// fleetInNumbers is a point of the history, as of now.
func (a *App) fleetInNumbers() (p fleet.HistoryPoint) {
	registry := a.registry()
	if registry == nil {
		return p
	}
	p.Devices, p.Problems = int64(len(registry.Devices)), int64(len(a.notifier.Problems()))
	for id := range registry.Devices {
		facts := a.facts(id)
		state, err := a.health.State(id, facts)
		if err != nil { // not watched yet, or deleted meanwhile
			continue
		}
		if state.Connection == fleet.Online {
			p.Online++
		}
		if state.Configuration == fleet.ConfigInSync {
			p.InSync++
		}
		if len(health.CausesOf(state, facts.Snapshot)) > 0 {
			p.Waiting++
		}
		p.NeedBytes = fleet.AddBytes(p.NeedBytes, facts.Snapshot.NeedBytes())
	}
	return p
}
