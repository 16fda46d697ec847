package app

import (
	"context"

	"muster/internal/fleet"
	"muster/internal/health"
	"muster/internal/logkey"
	"muster/internal/plan"
)

// registry is the newest one, nil where it cannot be read.
func (a *App) registry() *fleet.Registry {
	registry, err := a.store.Registry(context.Background())
	if err != nil {
		a.log.Warn("the registry is not readable", logkey.Err(err))
		return nil
	}
	return registry
}

// facts are what health needs of others to say how a device stands.
func (a *App) facts(id fleet.DeviceID) health.Facts {
	return health.Facts{
		Registry: a.registry(), Snapshot: a.mirror.Snapshot(id), Shortage: a.budget.Reason(),
		LockLost: a.store.LockLost() != nil,
	}
}

// states answers how devices stand.
type states struct{ app *App }

func (s states) State(_ context.Context, id fleet.DeviceID) (fleet.State, error) {
	return s.app.health.State(id, s.app.facts(id))
}

// found passes on what reconcile found out about a device.
func (a *App) found(id fleet.DeviceID, f plan.Findings) {
	if a.health.Found(id, f) {
		a.runner.DeviceChanged(id)
		a.stands(id)
	}
}

// rolledOut passes on how a rollout stands.
func (a *App) rolledOut(r fleet.Rollout) {
	for _, id := range a.health.Rollout(r) {
		a.stands(id)
	}
}

// stands tells those who follow the states of devices that one changed.
func (a *App) stands(id fleet.DeviceID) {
	a.news.planned(id)
	a.rollup.stands(id)
}
