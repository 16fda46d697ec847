package app

import (
	"context"
	"runtime"
	"time"

	"muster/internal/budget"
	"muster/internal/fleet"
	"muster/internal/health"
	"muster/internal/logkey"
	"muster/internal/notify"
	"muster/internal/plan"
	"muster/internal/sandbox"
)

// registry is the newest one, with the mode of the server on top; nil where it cannot be read.
func (a *App) registry() *fleet.Registry {
	registry, err := a.ceiling.Registry(context.Background())
	if err != nil {
		a.log.Warn("the registry is not readable", logkey.Err(err))
		return nil
	}
	return registry
}

// facts are what health needs of others to tell how a device stands.
func (a *App) facts(id fleet.DeviceID) health.Facts {
	return health.Facts{
		Registry: a.registry(), Snapshot: a.mirror.Snapshot(id), Shortage: a.budget.Reason(),
		LockLost: a.store.LockLost() != nil,
	}
}

// common is what the states of all devices depend on, besides what is told of each. An hour is close enough for the
// days that certificates last.
func (a *App) common() any {
	return struct {
		shortage string
		lockLost bool
		hour     int64
	}{a.budget.Reason(), a.store.LockLost() != nil, time.Now().Unix() / 3600}
}

// states answers how devices stand, and what trouble there is.
type states struct{ app *App }

// State names in its texts the devices that the caller may know of by their labels.
func (s states) State(ctx context.Context, id fleet.DeviceID) (fleet.State, error) {
	facts := s.app.facts(id)
	facts.Registry = s.app.views.Of(ctx, facts.Registry)
	return s.app.health.State(id, facts)
}

func (s states) Report(ctx context.Context) (fleet.ProblemReport, error) {
	registry, err := s.app.store.Registry(ctx)
	if err != nil {
		return fleet.ProblemReport{}, err
	}
	return s.app.health.Report(registry, s.app.facts), nil
}

// found passes on what reconcile found out about a device.
func (a *App) found(id fleet.DeviceID, f plan.Findings) {
	if a.health.Found(id, f) {
		a.deviceChanged(id, fleet.PlanChanged)
	}
}

// rolledOut passes on how a rollout stands.
func (a *App) rolledOut(r fleet.Rollout) {
	for _, id := range a.health.Rollout(r) {
		a.deviceChanged(id, fleet.PlanChanged)
	}
	a.feed.RolloutChanged(r, a.registry())
}

// count counts how a device stands now.
func (a *App) count(id fleet.DeviceID) { a.rollup.Count(id, a.health, a.facts) }

func (a *App) newNotifier() (*notify.Notifier, error) {
	senders, err := a.o.Notify.Senders()
	if err != nil {
		return nil, err
	}
	after, every := a.o.Notify.Times()
	return notify.New(notify.Options{
		Source: states{a}, Store: a.store, Senders: senders, After: after, Every: every, Log: a.log,
	}), nil
}

// checks are what this server's health depends on.
func (a *App) checks(pool *sandbox.Pool) []health.Check {
	blocking := func(part fleet.Part, ready func(context.Context) error) health.Check {
		return health.Check{Part: part, Run: func(ctx context.Context) *fleet.Impairment {
			return health.Blocking(part, ready(ctx))
		}}
	}
	limited := func(part fleet.Part, impairment func() *fleet.Impairment) health.Check {
		return health.Check{Part: part, Run: func(context.Context) *fleet.Impairment { return impairment() }}
	}
	checks := []health.Check{
		blocking(fleet.PartDatabase, a.store.Ready),
		blocking(fleet.PartLock, func(context.Context) error { return a.store.LockLost() }),
		blocking(fleet.PartWorkers, pool.Ready),
		limited(fleet.PartDescriptors, a.checkDescriptors),
		limited(fleet.PartBackup, a.backups.Impairment),
		limited(fleet.PartCertificate, a.socket.Impairment),
		limited(fleet.PartProofs, a.store.Tampering),
	}
	if a.provider != nil {
		checks = append(checks, limited(fleet.PartSignOn, a.provider.Impairment))
	}
	return checks
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

// logBudget says how the limits of the process are shared out.
func (a *App) logBudget() {
	log := a.log.With(logkey.Component, "budget")
	log.Info("open files are shared out", logkey.Limit, a.budget.Limit,
		"followedDaemons", a.budget.Kept, "clients", a.budget.API)
	if heap := budget.SetMemory(); heap > 0 {
		log.Info("the memory of the container is limited", "heapBytes", heap)
	}
}
