package app

import (
	"context"
	"runtime"

	"muster/internal/budget"
	"muster/internal/fleet"
	"muster/internal/health"
	"muster/internal/sandbox"
)

// checks are what this server's health depends on.
func (a *App) checks(pool *sandbox.Pool) []health.Check {
	return []health.Check{
		{Part: fleet.PartDatabase, Run: func(ctx context.Context) *fleet.Impairment {
			return health.Blocking(fleet.PartDatabase, a.store.Ready(ctx))
		}},
		{Part: fleet.PartLock, Run: func(context.Context) *fleet.Impairment {
			return health.Blocking(fleet.PartLock, a.store.LockLost())
		}},
		{Part: fleet.PartWorkers, Run: func(ctx context.Context) *fleet.Impairment {
			return health.Blocking(fleet.PartWorkers, pool.Ready(ctx))
		}},
		{Part: fleet.PartDescriptors, Run: func(context.Context) *fleet.Impairment { return a.checkDescriptors() }},
	}
}

// checkDescriptors tells whether every daemon is followed.
func (a *App) checkDescriptors() *fleet.Impairment {
	visited := a.mirror.Visited()
	if visited == 0 {
		return nil
	}
	return &fleet.Impairment{
		Part: fleet.PartDescriptors, Reason: a.budget.Shortage(),
		Next: budget.Advice(len(a.mirror.Snapshots()), runtime.NumCPU()),
	}
}
