package app

import (
	"context"

	"muster/internal/fleet"
	"muster/internal/plan"
	"muster/internal/reconcile"
	"muster/internal/rollout"
	"muster/internal/store"
)

// whatIf answers what-if plans.
type whatIf struct {
	engine *reconcile.Engine
	runner *rollout.Runner
}

func (w whatIf) NeedsApproval(ctx context.Context, now, then *fleet.Registry) string {
	return w.runner.NeedsApproval(ctx, now, then)
}

func (w whatIf) WhatIf(ctx context.Context, now, then *fleet.Registry, each func(plan.Effect)) error {
	return w.engine.WhatIf(ctx, now, then, each)
}

// secrets tells the reconciler when one changed: what was sent with the old one is out of date.
type secrets struct {
	*store.Store
	engine *reconcile.Engine
}

func (s secrets) PutSecret(ctx context.Context, put fleet.PutSecret) (secret fleet.StoredSecret, created bool,
	err error) {
	if secret, created, err = s.Store.PutSecret(ctx, put); err == nil {
		s.engine.SecretsChanged()
	}
	return secret, created, err
}

func (s secrets) DeleteSecret(ctx context.Context, name string) error {
	err := s.Store.DeleteSecret(ctx, name)
	if err == nil {
		s.engine.SecretsChanged()
	}
	return err
}
