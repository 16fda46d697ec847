package app

import (
	"context"

	"muster/internal/engine/rollout"
	"muster/internal/fleet"
)

// newRunner makes the engine that decides which devices are admitted to which generation. It continues the rollouts
// that the store has.
func (a *App) newRunner(ctx context.Context, evaluator rollout.Evaluator) (*rollout.Runner, error) {
	runner := rollout.New(rollout.Options{
		Store: a.store, Changes: a.edits, Fleet: managed{a}, Evaluator: evaluator, Log: a.log, Step: a.o.Step,
		PolicyNow: a.rolloutPolicy, Changed: a.rolledOut,
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

// managed is the fleet as rollouts need it: what the mirror observed, and the results of reconcile.
type managed struct{ app *App }

func (m managed) Standing(id fleet.DeviceID) fleet.Standing {
	return m.app.health.Standing(id, m.app.facts(id), m.app.engine.LastPass(id))
}

func (m managed) Version(id fleet.DeviceID) (v fleet.Version) {
	if s := m.app.mirror.Snapshot(id); s != nil && s.Version != nil {
		v = *s.Version
	}
	return v
}
