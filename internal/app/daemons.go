package app

import (
	"cmp"
	"context"
	"time"

	"muster/internal/adapter/store"
	"muster/internal/adapter/syncthing"
	"muster/internal/engine/mirror"
	"muster/internal/engine/reconcile"
	"muster/internal/fleet"
)

// client adapts syncthing.Client to the interface of the mirror.
type client struct{ *syncthing.Client }

func (c client) Open(ctx context.Context) (mirror.Channel, error) {
	session, err := c.Session(ctx)
	if err != nil {
		return nil, err // A nil *syncthing.Session would be a non-nil interface.
	}
	return session, nil
}

// accessTester tests access to daemons within the same budget of connections as the mirror.
type accessTester struct{ app *App }

func (t accessTester) TestAccess(ctx context.Context, target fleet.Target) (fleet.AccessTest, error) {
	return syncthing.TestAccess(ctx, target, t.app.connecting)
}

func (t accessTester) ProvenByAgent(id fleet.DeviceID) bool {
	last := t.app.mirror.Snapshot(id)
	return last != nil && last.FoundBy == fleet.FoundByAgent
}

// daemons lets reconcile use the connections of the mirror.
type daemons struct {
	mirror *mirror.Mirror
	store  *store.Store
}

func (d daemons) TakeConfig(id fleet.DeviceID) *fleet.ObservedConfig { return d.mirror.TakeConfig(id) }

func (d daemons) Config(ctx context.Context, id fleet.DeviceID) (fleet.ObservedConfig, error) {
	return d.mirror.ReadNow(ctx, id)
}

func (d daemons) Ignores(ctx context.Context, id fleet.DeviceID, folder string) ([]string, error) {
	daemon, err := d.mirror.Daemon(id)
	if err != nil {
		return nil, err
	}
	return daemon.Ignores(ctx, folder)
}

func (d daemons) Session(ctx context.Context, id fleet.DeviceID) (reconcile.Session, error) {
	session, err := d.mirror.Session(ctx, id)
	if err != nil {
		return nil, err // A nil *mirror.Session would be a non-nil interface.
	}
	return session, nil
}

func (d daemons) Known(id fleet.DeviceID) reconcile.Known {
	snapshot := d.mirror.Snapshot(id)
	if snapshot == nil {
		return reconcile.Known{}
	}
	known := reconcile.Known{Online: snapshot.Connection == fleet.Online, TooOld: snapshot.TooOld,
		ByAgent: snapshot.FoundBy == fleet.FoundByAgent,
		Address: cmp.Or(snapshot.Host(), snapshot.Address), Digest: snapshot.Digest,
		NeverRead: snapshot.Digest == "", Unstored: snapshot.Unstored}
	if snapshot.Status != nil {
		known.AddressFixed, known.Started = snapshot.Status.AddressFixed, snapshot.Status.StartTime
	}
	if snapshot.Version != nil {
		known.Version = *snapshot.Version
	}
	known.FolderErrors, _ = snapshot.FolderErrors()
	known.FolderChanged = func(folder string) time.Time { return snapshot.Summaries[folder].StateChanged }
	known.FolderRuns, known.FolderMayBreak = snapshot.FolderRuns, snapshot.FolderMayBreak
	known.System = fleet.SystemOf(snapshot.Status, snapshot.Version)
	return known
}

func (d daemons) TryAccess(ctx context.Context, id fleet.DeviceID, access fleet.Access) error {
	registry, err := d.store.Registry(ctx)
	if err != nil {
		return err
	}
	if registry.Devices[id] == nil {
		return fleet.NotFoundf("device %s is not registered", id)
	}
	return d.mirror.TryAccess(ctx, registry.Devices[id], access)
}

// AdoptAccess stores another API key or port of the device, which replaces its watcher.
func (d daemons) AdoptAccess(ctx context.Context, id fleet.DeviceID, before, after fleet.Access) error {
	return d.store.ReplaceAccess(ctx, id, before, after)
}
