package app

import (
	"context"

	"muster/internal/fleet"
	"muster/internal/reconcile"
	"muster/internal/store"
)

// consents are what the reconciler asks about, and the answers that the store has.
type consents struct {
	*reconcile.Engine
	store *store.Store
}

func (c consents) GivenConsents(ctx context.Context, most int) ([]fleet.GivenConsent, error) {
	return c.store.GivenConsents(ctx, most)
}
