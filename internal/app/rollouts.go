package app

import (
	"cmp"
	"context"
	"sync"

	"golang.org/x/sync/errgroup"

	"muster/internal/event"
	"muster/internal/fleet"
	"muster/internal/httpapi"
	"muster/internal/logkey"
	"muster/internal/plan"
	"muster/internal/rollout"
	"muster/internal/store"
	"muster/internal/template"
)

// newRunner makes the engine that decides who is admitted to which templates and tags, with what it knew at the last
// stop. Simulated daemons need less patience than real ones.
func (a *App) newRunner(ctx context.Context, evaluator rollout.Evaluator, digestKey []byte) (*rollout.Runner, error) {
	limit, err := rollout.ParseLimit(a.o.BlastLimit)
	if err != nil {
		return nil, err
	}
	soak := a.o.Soak
	if soak == 0 && a.o.Demo > 0 {
		soak = rollout.SimulatedSoak
	}
	runner := rollout.New(rollout.Options{
		Store: a.store, Fleet: managed{a}, Evaluator: evaluator, Log: a.log, Soak: soak, Patience: a.o.Patience, BlastLimit: limit,
		DigestKey: digestKey, Step: a.o.Step,
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
	return s
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

func (m managed) Plan(ctx context.Context, id fleet.DeviceID) (plan.Plan, error) {
	return m.app.engine.Plan(ctx, id)
}

func (m managed) Waiting(id fleet.DeviceID) []plan.Wish { return m.app.engine.Waiting(id) }

func (m managed) Apply(ctx context.Context, id fleet.DeviceID, digest string, consent, keep []string) error {
	_, _, err := m.app.engine.Apply(ctx, id, digest, consent, keep)
	return err
}

func (m managed) Wake(ids []fleet.DeviceID) {
	for _, id := range ids {
		m.app.engine.ConfigSeen(id)
	}
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
type rollouts struct{ *rollout.Runner }

func (r rollouts) Consent(ctx context.Context, id int64, digest string, consent, keep []string) (fleet.Rollout, []fleet.DeviceID, error) {
	answered, err := r.Runner.Consent(ctx, id, rollout.Answer{Digest: digest, Consent: consent, Keep: keep})
	return answered.Rollout, answered.Devices, err
}

// applied is told of every finished intent: gates wait for it, and the revision that it made gets its cause.
func (a *App) applied(intent fleet.Intent) {
	a.runner.Applied(intent)
	if intent.Outcome == fleet.OutcomeAbandoned {
		return
	}
	if s := a.mirror.Snapshot(intent.Device); s != nil && s.Digest != intent.Observed {
		a.explain(intent.Device, s.Digest, cmp.Or(intent.Cause, fleet.CauseTemplate))
	}
}

// causes are what caused configurations, to be kept behind: nobody waits for it.
type causes struct {
	wake chan struct{} // of capacity 1

	mu    sync.Mutex // guards those
	those map[fleet.DeviceID]cause
}

type cause struct{ digest, what string }

func newCauses() *causes {
	return &causes{wake: make(chan struct{}, 1), those: map[fleet.DeviceID]cause{}}
}

// explain notes why a device has a configuration.
func (a *App) explain(id fleet.DeviceID, digest, what string) {
	a.causes.mu.Lock()
	a.causes.those[id] = cause{digest, what}
	a.causes.mu.Unlock()
	select {
	case a.causes.wake <- struct{}{}:
	default:
	}
}

// explaining keeps causes until ctx ends.
func (a *App) explaining(ctx context.Context) error {
	for {
		select {
		case <-a.causes.wake:
		case <-ctx.Done():
			return ctx.Err()
		}
		a.causes.mu.Lock()
		those := a.causes.those
		a.causes.those = map[fleet.DeviceID]cause{}
		a.causes.mu.Unlock()
		group, ctx := errgroup.WithContext(ctx) // writes that wait together are committed together
		group.SetLimit(64)
		for id, c := range those {
			group.Go(func() error {
				if err := a.store.ExplainRevision(ctx, id, c.digest, c.what); err != nil {
					a.log.Info("cause of a revision not kept", logkey.Device, id, logkey.Err(err))
				}
				return nil
			})
		}
		if err := group.Wait(); err != nil {
			return err
		}
	}
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
