package app

import (
	"context"

	"muster/internal/fleet"
	"muster/internal/httpapi"
	"muster/internal/plan"
	"muster/internal/reconcile"
	"muster/internal/rollout"
	"muster/internal/stconfig"
	"muster/internal/store"
)

// newRestorer makes what restores older configurations.
func (a *App) newRestorer(d daemons) *rollout.Restorer {
	return rollout.NewRestorer(rollout.RestoreOptions{
		Revisions: a.store, Mode: managed{a}.mode, Step: a.o.Step,
		Session: func(ctx context.Context, id fleet.DeviceID) (rollout.Session, error) { return d.Session(ctx, id) },
		Facts: func(ctx context.Context, registry *fleet.Registry, id fleet.DeviceID) plan.Facts {
			facts := reconcile.FactsOf(registry, id, d.Known(id))
			facts.FolderPaths = func() ([]string, error) { return a.store.FolderPaths(ctx, id) }
			return facts
		},
		Undone: func(ctx context.Context, id fleet.DeviceID, doc stconfig.Value, changes []stconfig.Change) (string, error) {
			return a.engine.TakesBack(ctx, id, doc, changes)
		},
		Restored: func(id fleet.DeviceID, digest, cause string) {
			a.explain(id, digest, cause)
			a.engine.ConfigSeen(id)
		},
		Unverified: func(intent fleet.Intent) { a.engine.Verify(intent) },
	})
}

// revisions shows, compares and restores them for the API.
type revisions struct {
	*store.Store
	restorer *rollout.Restorer
}

func (r revisions) MaskedRevision(ctx context.Context, id fleet.DeviceID, number int64) (fleet.Revision, stconfig.Value, error) {
	revision, err := r.Revision(ctx, id, number)
	if err != nil {
		return revision, stconfig.Value{}, err
	}
	doc, err := stconfig.Parse(revision.JSON)
	revision.JSON = nil
	if err != nil {
		return revision, stconfig.Value{}, err
	}
	return revision, stconfig.Mask(doc), nil
}

func (r revisions) Compare(ctx context.Context, id fleet.DeviceID, from, to int64) ([]stconfig.Change, error) {
	return r.restorer.Compare(ctx, id, from, to)
}

func (r revisions) Restore(ctx context.Context, id fleet.DeviceID, number int64, request httpapi.RestoreRequest) (httpapi.Restored, error) {
	restored, err := r.restorer.Restore(ctx, id, number, rollout.RestoreRequest(request))
	return httpapi.Restored(restored), err
}
