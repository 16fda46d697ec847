package app

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"time"

	"muster/internal/adapter/sandbox"
	"muster/internal/core/plan"
	"muster/internal/engine/budget"
	"muster/internal/engine/health"
	"muster/internal/engine/notify"
	"muster/internal/fleet"
	"muster/internal/logkey"
)

// registry returns the newest registry with the server's mode limit applied, or nil when it cannot be read.
func (a *App) registry() *fleet.Registry {
	registry, err := a.modeLimit.Registry(context.Background())
	if err != nil {
		a.log.Warn("the registry is not readable", logkey.Err(err))
		return nil
	}
	return registry
}

// facts returns what health needs to know from other parts to judge a device.
func (a *App) facts(id fleet.DeviceID) health.Facts {
	facts := health.Facts{
		Registry: a.registry(), Snapshot: a.mirror.Snapshot(id), Shortage: a.budget.Reason(),
		LockLost: a.store.LockLost() != nil,
	}
	if facts.Snapshot != nil {
		facts.HomeText = a.folders.HomeText(facts.Snapshot, time.Now())
	}
	return facts
}

// common returns what the states of all devices depend on besides the changes that are reported for each device. The
// time counts in hours, which is exact enough for certificates that last for days.
func (a *App) common() any {
	return struct {
		shortage string
		lockLost bool
		hour     int64
	}{a.budget.Reason(), a.store.LockLost() != nil, time.Now().Unix() / 3600}
}

// states returns the states of devices and of folders in trouble.
type states struct{ app *App }

// State returns a device's state. Its texts name the devices that the caller may see by their labels.
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
	return s.app.view.Problems(ctx, registry)
}

// problems are those of devices, and those that are of no device.
type problems struct{ app *App }

func (p problems) Report(ctx context.Context) (fleet.ProblemReport, error) {
	report, err := states(p).Report(ctx)
	if err != nil {
		return report, err
	}
	whole, unreadable := p.app.wholeConditions(ctx)
	report.Conditions = append(report.Conditions, whole...)
	ofDevices := report.Unknown
	report.Unknown = func(key fleet.ProblemKey) bool {
		return ofDevices(key) || key.Device == "" && slices.Contains(unreadable, key.Kind)
	}
	return report, nil
}

// found passes on what reconcile found out about a device.
func (a *App) found(id fleet.DeviceID, f plan.Findings) {
	if a.health.Found(id, f) {
		a.deviceChanged(id, fleet.PlanChanged)
	}
}

// rolledOut passes on the state of a rollout.
func (a *App) rolledOut(r fleet.Rollout) {
	for _, id := range a.health.Rollout(r) {
		a.deviceChanged(id, fleet.PlanChanged)
	}
	a.events.Rollout(r, a.registry())
}

// counts returns the numbers of the fleet, or the last known ones when the registry cannot be read.
func (a *App) counts() fleet.Counts {
	ctx := context.Background()
	registry, err := a.store.Registry(ctx)
	counts, failed := a.view.Counts(ctx, registry)
	if err = errors.Join(err, failed); err != nil {
		a.log.Warn("the fleet is not counted", logkey.Err(err))
	}
	return counts
}

// newNotifier makes the notifier. Receivers of flags that are wrong are an error; those of settings are an impairment.
func (a *App) newNotifier() (*notify.Notifier, error) {
	if _, err := a.o.Notify.Senders(nil); err != nil {
		return nil, err
	}
	notifier := notify.New(notify.Options{Source: problems{a}, Store: a.store, Log: a.log})
	receivers, _ := a.receivers()
	return notifier, notifier.SetReceivers(receivers, refuseLocal)
}

// checks returns the checks that the server's health consists of.
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
		limited(fleet.PartNotify, func() *fleet.Impairment {
			_, held := a.receivers()
			return held
		}),
		{Part: fleet.PartSinks, Run: a.behindSinks},
		limited(fleet.PartCopies, func() *fleet.Impairment { return a.prover.Impairment() }),
	}
	if a.provider != nil {
		checks = append(checks, limited(fleet.PartSignOn, a.provider.Impairment))
	}
	return checks
}

// checkDescriptors reports an impairment when file descriptors do not suffice to follow every daemon.
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

// logBudget logs how the process's limits are divided.
func (a *App) logBudget() {
	log := a.log.With(logkey.Component, "budget")
	log.Info("open files are shared out", logkey.Limit, a.budget.Limit,
		"followedDaemons", a.budget.Kept, "clients", a.budget.API)
	budget.SetHeapGrowth()
	if heap := budget.SetMemory(); heap > 0 {
		log.Info("the memory of the container is limited", "heapBytes", heap)
	}
}
