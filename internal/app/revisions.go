package app

import (
	"context"

	"muster/internal/fleet"
	"muster/internal/httpapi"
	"muster/internal/plan"
	"muster/internal/reconcile"
	"muster/internal/stconfig"
	"muster/internal/store"
)

// revisions shows, compares and restores them for the API.
type revisions struct {
	*store.Store
	engine *reconcile.Engine
}

func (r revisions) MaskedRevision(
	ctx context.Context, id fleet.DeviceID, number int64,
) (fleet.Revision, httpapi.Document, error) {
	revision, document, err := r.RevisionDocument(ctx, id, number)
	return revision, masked(document), err
}

func (r revisions) Compare(ctx context.Context, id fleet.DeviceID, from, to int64) ([]stconfig.Change, error) {
	return r.engine.Compare(ctx, id, from, to)
}

func (r revisions) Restore(
	ctx context.Context, id fleet.DeviceID, number int64, request plan.RestoreRequest,
) (plan.Restored, error) {
	return r.engine.Restore(ctx, id, number, request)
}
