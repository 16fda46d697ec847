package app

import (
	"cmp"
	"context"

	"muster/internal/adapter/store"
	"muster/internal/engine/rollout"
	"muster/internal/fleet"
)

// rolloutPolicy contains the parsed flags --waves and --approval-threshold.
type rolloutPolicy struct {
	threshold rollout.Threshold
	waves     []string
}

func policyOf(o Options) (p rolloutPolicy, err error) {
	if p.threshold, err = rollout.ParseThreshold(o.ApprovalThreshold); err != nil {
		return p, err
	}
	p.waves, err = rollout.ParseWaves(o.Waves)
	return p, err
}

// newRunner makes the engine that decides which devices are admitted to which generation. It continues the rollouts
// that the store has. With simulated daemons it uses shorter times.
func (a *App) newRunner(ctx context.Context, evaluator rollout.Evaluator) (*rollout.Runner, error) {
	soak := a.o.Soak
	if soak == 0 && a.o.Demo > 0 {
		soak = rollout.SimulatedSoakTime
	}
	runner := rollout.New(rollout.Options{
		Store: a.store, Changes: a.edits, Fleet: managed{a}, Evaluator: evaluator, Log: a.log, Step: a.o.Step,
		SoakTime: soak, ProgressDeadline: a.o.ProgressDeadline, Waves: a.policy.waves,
		ApprovalThreshold: a.policy.threshold, FourEyes: a.o.FourEyes, Changed: a.rolledOut,
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

// revisions is how many revisions of each device are kept.
func (o Options) revisions() int {
	return cmp.Or(max(0, o.KeepRevisions), store.DefaultRetention.Revisions)
}

// forgetOld deletes revisions that are too many or too old.
func (a *App) forgetOld(ctx context.Context) error {
	retention := store.DefaultRetention
	retention.Audit, retention.Revisions = a.o.KeepAudit, a.o.revisions()
	if a.o.KeepFor > 0 {
		retention.Age = a.o.KeepFor
	}
	return a.store.RunJanitor(ctx, retention)
}
