package app

import (
	"context"
	"io"

	"muster/internal/fleet"
	"muster/internal/health"
	"muster/internal/httpapi"
	"muster/internal/mirror"
	"muster/internal/reconcile"
	"muster/internal/rollout"
	"muster/internal/stconfig"
	"muster/internal/store"
)

// These join rooms that answer one noun of the API together.

// rollouts steers them.
type rollouts struct {
	*rollout.Runner
	store *store.Store
}

func (r rollouts) Difference(ctx context.Context, carries []int64) (fleet.Difference, error) {
	return r.store.Difference(ctx, carries)
}

// folders are listed from the roll-up, and shown one by one from the store, which has what daemons last told of them.
type folders struct {
	*store.Store
	rollup *health.Rollup
}

func (f folders) Folders(context.Context) ([]fleet.FolderLabel, error) {
	return f.rollup.Folders(), nil
}

func (f folders) FoldersOf(_ context.Context, inside func(fleet.DeviceID) bool) ([]fleet.FolderLabel, error) {
	return f.rollup.FoldersOf(inside), nil
}

// FolderShare reads a folder in the configuration that a device was last seen with.
func (f folders) FolderShare(ctx context.Context, id fleet.DeviceID, folder string) (*fleet.FolderShare, error) {
	_, document, err := f.NewestDocument(ctx, id)
	if fleet.CodeOf(err) == fleet.CodeNotFound {
		return nil, nil //nolint:nilnil // never seen
	}
	if err != nil {
		return nil, err
	}
	return stconfig.FolderIn(document.Open(), folder)
}

// DeviceShares reads the folders in the configuration that a device was last seen with.
func (f folders) DeviceShares(ctx context.Context, id fleet.DeviceID,
	each func(fleet.FolderShare) bool) (string, error) {
	revision, document, err := f.NewestDocument(ctx, id)
	if fleet.CodeOf(err) == fleet.CodeNotFound {
		return "", nil // never seen
	}
	if err != nil {
		return "", err
	}
	if err = stconfig.EachFolder(document.Open(), each); err != nil {
		err = &fleet.Error{Code: fleet.CodeUnbelievable, Message: "the folders of its configuration cannot be read", Err: err}
	}
	return revision.Digest, err
}

// inbox is what is pending at daemons.
type inbox struct {
	*mirror.Mirror
	*reconcile.Engine
}

func (i inbox) Accept(ctx context.Context, asks fleet.Pending, name, path string) error {
	err := i.Engine.Accept(ctx, asks, name, path)
	if err == nil {
		i.PendingAnswered(asks)
	}
	return err
}

// masked shows the configurations that are kept with every secret masked. It holds one text of one at a time.
type masked struct{ *store.Store }

func (m masked) MaskedConfig(ctx context.Context, id fleet.DeviceID) (httpapi.Document, error) {
	_, document, err := m.NewestDocument(ctx, id)
	return m.document(document), err
}

func (m masked) MaskedRevision(
	ctx context.Context, id fleet.DeviceID, number int64,
) (fleet.Revision, httpapi.Document, error) {
	revision, document, err := m.RevisionDocument(ctx, id, number)
	return revision, m.document(document), err
}

func (m masked) document(document store.Document) httpapi.Document {
	return func(w io.Writer) error { return stconfig.MaskTo(w, document.Open()) }
}
