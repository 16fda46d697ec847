package app

import (
	"context"

	"muster/internal/event"
	"muster/internal/fleet"
	"muster/internal/httpapi"
	"muster/internal/reconcile"
	"muster/internal/rollout"
	"muster/internal/store"
	"muster/internal/template"
)

// newRunner makes the engine that decides who is admitted to which templates and tags, with what it knew at the last
// stop. Simulated daemons need less time than real ones.
func (a *App) newRunner(ctx context.Context, evaluator rollout.Evaluator) (*rollout.Runner, error) {
	threshold, err := rollout.ParseThreshold(a.o.ApprovalThreshold)
	if err != nil {
		return nil, err
	}
	waves, err := rollout.ParseWaves(a.o.Waves)
	if err != nil {
		return nil, err
	}
	soak := a.o.Soak
	if soak == 0 && a.o.Demo > 0 {
		soak = rollout.SimulatedSoakTime
	}
	runner := rollout.New(rollout.Options{
		Store: a.store, Fleet: managed{a}, Evaluator: evaluator, Log: a.log, Step: a.o.Step,
		SoakTime: soak, ProgressDeadline: a.o.ProgressDeadline, Waves: waves, ApprovalThreshold: threshold,
		FourEyes: a.o.FourEyes,
		Changed: func(r fleet.Rollout) {
			a.rolledOut(r)
			a.news.publish(event.TypeRollout, "", nil, httpapi.RolloutEvent(r, a.registry()))
		},
	})
	open, err := a.store.OpenRollouts(ctx)
	if err != nil {
		return nil, err
	}
	for _, r := range open {
		a.health.Rollout(r)
	}
	return runner, runner.Load(ctx)
}

// managed is the fleet as rollouts see it: what the mirror saw, and what the reconciler made of it.
type managed struct{ app *App }

func (m managed) Standing(id fleet.DeviceID) rollout.Standing {
	s := rollout.Standing{Mode: m.mode(id)}
	snapshot := m.app.mirror.Snapshot(id)
	if snapshot == nil {
		s.Gone, s.Tried, s.Reason = true, true, "it is not registered any more"
		return s
	}
	s.Online = snapshot.Answers()
	s.Tried = s.Online || !snapshot.NextTry.IsZero()
	s.Digest, s.Reason, s.TooOld = snapshot.Digest, snapshot.Reason, snapshot.TooOld
	if s.Online {
		state := m.app.health.Condition(id)
		s.Configuration, s.Reason = state.Configuration, state.Reason
	}
	s.Errors, s.Summarised = snapshot.FolderErrors()
	s.Pass = passOf(m.app.engine.LastPass(id))
	return s
}

// passOf is what the last pass of reconcile means to rollouts.
func passOf(p reconcile.Pass) rollout.Pass {
	pass := rollout.Pass{Generation: p.Generation, Observed: p.Observed, Failed: p.Failed, Unsent: p.Unsent}
	for _, w := range p.Waiting {
		pass.Waiting = append(pass.Waiting, rollout.Waiting(w))
	}
	return pass
}

// mode is that of the device, and of the server: the strictest wins. Nothing is written to a device that was deleted.
func (m managed) mode(id fleet.DeviceID) fleet.Mode {
	registry, err := m.app.store.Registry(context.Background())
	if err != nil || registry.Devices[id] == nil {
		return fleet.ModeObserve
	}
	mode := registry.ModeOf(id)
	if m.app.o.Configurator != "" {
		mode = fleet.Strictest(mode, m.app.o.Configurator)
	}
	return mode
}

func (m managed) Facts(r *fleet.Registry) []template.Facts {
	all := make([]template.Facts, 0, len(r.Devices))
	for id, d := range r.Devices {
		facts := template.Facts{DeviceID: id, Label: d.Label, Tags: d.Tags, APIAddress: d.APIAddress, APIPort: d.APIPort}
		if s := m.app.mirror.Snapshot(id); s != nil && s.Version != nil {
			facts.OS, facts.Arch, facts.Version = s.Version.OS, s.Version.Arch, s.Version.Version
		}
		all = append(all, facts)
	}
	return all
}

// rollouts steers them for the API.
type rollouts struct {
	*rollout.Runner
	store *store.Store
}

func (r rollouts) Difference(ctx context.Context, carries []int64) (fleet.Difference, error) {
	return r.store.Difference(ctx, carries)
}

// forgetOld forgets revisions that are too many or too old.
func (a *App) forgetOld(ctx context.Context) error {
	retention := store.DefaultRetention
	if a.o.KeepRevisions > 0 {
		retention.Revisions = a.o.KeepRevisions
	}
	if a.o.KeepFor > 0 {
		retention.Age = a.o.KeepFor
	}
	return a.store.RunJanitor(ctx, retention)
}
