package app

import (
	"muster/internal/fleet"
	"muster/internal/health"
)

// newHistorian keeps the fleet in numbers.
func (a *App) newHistorian() health.Historian {
	return health.Historian{Put: a.store.PutHistoryPoint, Log: a.log, Now: func() (p fleet.HistoryPoint) {
		if registry := a.registry(); registry != nil {
			p = a.health.InNumbers(registry, a.facts, len(a.notifier.Problems()))
		}
		return p
	}}
}
