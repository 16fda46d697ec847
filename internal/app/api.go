package app

import (
	"context"
	"errors"
	"io"
	"time"

	"muster/internal/adapter/store"
	"muster/internal/core/stconfig"
	"muster/internal/edge/httpapi"
	"muster/internal/engine/mirror"
	"muster/internal/engine/reconcile"
	"muster/internal/engine/rollout"
	"muster/internal/engine/view"
	"muster/internal/fleet"
)

// The types below combine several packages into one interface of the API.

// deviceParts are what the API knows of single devices, and asks of them.
func (a *App) deviceParts(consents *view.Consents) httpapi.Devices {
	return httpapi.Devices{
		Mirror: masked{a.store}, Logs: asked{a}, Disks: a.mirror, Plans: a.engine, Reasons: a.engine,
		Consents: consents,
		Trust: struct {
			*store.Store
			*mirror.Mirror
		}{a.store, a.mirror},
		Revisions: struct {
			masked
			*reconcile.Engine
		}{masked{a.store}, a.engine},
		Pending:     inbox{a.mirror, a.engine},
		OrderRunner: a.orders, OrderRecords: a.store,
	}
}

// registryFor is the part of the registry in the scope of the context.
func (a *App) registryFor(ctx context.Context) (*fleet.Registry, error) {
	return fleet.ScopedRegistry{Whole: a.store, Parts: &a.views}.Registry(ctx)
}

// rollouts reads rollouts and what they changed.
type rollouts struct {
	*rollout.Runner
	store *store.Store
}

func (r rollouts) Difference(ctx context.Context, generations []int64) (fleet.Difference, error) {
	return r.store.Difference(ctx, generations)
}

// consents are questions of the engine, with the answers in the store.
type consents struct {
	*reconcile.Engine
	*store.Store
}

// summaries sum up what the engines know, with how telling people stands.
type summaries struct {
	*view.Summaries
	app *App
}

func (s summaries) Overview(ctx context.Context, picks func(*fleet.Registered) bool) (view.Overview, error) {
	return s.Summaries.Overview(ctx, picks, s.app.told())
}

func (s summaries) Waiting(ctx context.Context) (view.Waiting, error) {
	return s.Summaries.Waiting(ctx, s.app.told())
}

func (a *App) newSummaries(rollouts *view.Rollouts, consents *view.Consents) summaries {
	return summaries{view.NewSummaries(view.SummaryOptions{
		Registry: a.registryFor, View: a.view, Rollouts: rollouts, Held: consents.Held,
		Pending: a.mirror.Pending, Enrollments: a.enrolled.Requests, DatedStop: a.store.DatedStop,
		Shown: func(id fleet.DeviceID) fleet.Shown {
			_, shown := a.mirror.Certificates(id)
			return shown
		},
		Impairments: a.monitor.Impairments, Visited: a.mirror.Visited,
	}), a}
}

// told is how telling people stands.
func (a *App) told() view.Told {
	out := view.Told{Receivers: a.notifier.Receivers()}
	for _, problem := range a.notifier.Problems() {
		out.Problems = append(out.Problems, problem.Device)
	}
	return out
}

// shares reads how devices share folders.
type shares struct{ store *store.Store }

// FolderShare reads a folder from the last known configuration of a device.
func (f shares) FolderShare(ctx context.Context, id fleet.DeviceID, folder string) (*fleet.FolderShare, error) {
	_, document, err := f.store.NewestDocument(ctx, id)
	if fleet.CodeOf(err) == fleet.CodeNotFound {
		return nil, nil //nolint:nilnil // no configuration was ever read
	}
	if err != nil {
		return nil, err
	}
	return stconfig.FolderIn(document.Open(), folder)
}

// DeviceShares reads all folders from the last known configuration of a device.
func (f shares) DeviceShares(ctx context.Context, id fleet.DeviceID,
	each func(fleet.FolderShare) bool) (string, error) {
	revision, document, err := f.store.NewestDocument(ctx, id)
	if fleet.CodeOf(err) == fleet.CodeNotFound {
		return "", nil // no configuration was ever read
	}
	if err != nil {
		return "", err
	}
	if err = stconfig.EachFolder(document.Open(), each); err != nil {
		err = &fleet.Error{Code: fleet.CodeUnbelievable, Message: "the folders of its configuration cannot be read", Err: err}
	}
	return revision.Digest, err
}

// inbox lists what is pending at daemons, and accepts or dismisses it.
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

// masked returns stored configurations with every secret masked. It holds one string of a configuration in memory at a
// time.
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

// asked reads from daemons what Muster does not store.
type asked struct{ app *App }

func (q asked) File(ctx context.Context, id fleet.DeviceID, folder, path string) (fleet.File, error) {
	daemon, err := q.app.mirror.Daemon(id)
	if err != nil {
		return fleet.File{}, err
	}
	file, err := daemon.File(ctx, folder, path)
	return file, asUnsupported(err)
}

// asUnsupported tells what a device's agent is too old for from what its daemon does not have: both are not_found.
func asUnsupported(err error) error {
	var e *fleet.Error
	if !errors.Is(err, fleet.ErrOldAgent) || !errors.As(err, &e) {
		return err
	}
	unsupported := *e
	unsupported.Code = fleet.CodeUnsupported
	return &unsupported
}

func (q asked) FailedItems(ctx context.Context, id fleet.DeviceID, folder string, page, size int,
) ([]fleet.FailedItem, bool, error) {
	daemon, err := q.app.mirror.Daemon(id)
	if err != nil {
		return nil, false, err
	}
	items, more, err := daemon.FailedItems(ctx, folder, page, size)
	return items, more, asUnsupported(err)
}

func (q asked) Log(ctx context.Context, id fleet.DeviceID, since time.Time) ([]fleet.LogLine, error) {
	daemon, err := q.app.mirror.Daemon(id)
	if err != nil {
		return nil, err
	}
	lines, err := daemon.Log(ctx, since)
	return lines, asUnsupported(err)
}
