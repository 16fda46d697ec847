package app

import (
	"context"

	"muster/internal/fleet"
	"muster/internal/httpapi"
	"muster/internal/reconcile"
)

// whatIf answers what-if plans.
type whatIf struct{ engine *reconcile.Engine }

func (w whatIf) WhatIf(ctx context.Context, now, then *fleet.Registry, each func(httpapi.Effect)) error {
	return w.engine.WhatIf(ctx, now, then, func(effect reconcile.Effect) { each(httpapi.Effect(effect)) })
}
