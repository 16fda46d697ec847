package app

import (
	"context"
	"net"

	"muster/internal/fleet"
	"muster/internal/mirror"
	"muster/internal/reconcile"
	"muster/internal/store"
	"muster/internal/syncthing"
)

// daemons lets the reconciler talk over the connections that the mirror holds.
type daemons struct {
	mirror *mirror.Mirror
	store  *store.Store
	dial   func(mirror.Target) *syncthing.Client
}

func (d daemons) Config(ctx context.Context, id fleet.DeviceID) (fleet.ObservedConfig, error) {
	return d.mirror.ReadNow(ctx, id)
}

func (d daemons) Ignores(ctx context.Context, id fleet.DeviceID, folder string) ([]string, error) {
	client, err := d.client(id)
	if err != nil {
		return nil, err
	}
	return client.Ignores(ctx, folder)
}

// Session is the second connection to a daemon, beside the watcher's.
func (d daemons) Session(ctx context.Context, id fleet.DeviceID) (reconcile.Session, error) {
	client, err := d.client(id)
	if err != nil {
		return nil, err
	}
	opened, err := client.Session(ctx)
	if err != nil {
		return nil, err
	}
	return session{opened, id, d.mirror, d.mirror.Hold(id)}, nil
}

// session passes the configurations that it reads through the mirror.
type session struct {
	*syncthing.Session
	id      fleet.DeviceID
	mirror  *mirror.Mirror
	release func() // the watcher, which waits with what events announce
}

func (s session) Close() {
	s.Session.Close()
	s.release()
}

func (s session) Config(ctx context.Context) (fleet.ObservedConfig, error) {
	return s.mirror.ReadOver(ctx, s.id, s.Session)
}

const guiPath = "/rest/config/gui" // every change there restarts the daemon's API

func (s session) Write(ctx context.Context, method, path string, body []byte) error {
	if path != guiPath {
		return s.Session.Write(ctx, method, path, body)
	}
	cancel := s.mirror.ExpectRestart(s.id)
	err := s.Session.Write(ctx, method, path, body)
	if fleet.CodeOf(err) == fleet.CodeRejected {
		cancel()
	}
	return err
}

// client is the watcher's own: the mirror was given nothing else to dial with.
func (d daemons) client(id fleet.DeviceID) (*syncthing.Client, error) {
	daemon, err := d.mirror.Daemon(id)
	if err != nil {
		return nil, err
	}
	return daemon.(*syncthing.Client), nil
}

func (d daemons) Known(id fleet.DeviceID) reconcile.Known {
	snapshot := d.mirror.Snapshot(id)
	if snapshot == nil {
		return reconcile.Known{}
	}
	known := reconcile.Known{Online: snapshot.Connection == fleet.Online, Address: snapshot.Address, TooOld: snapshot.TooOld, Digest: snapshot.Digest,
		NeverRead: snapshot.Digest == "", Unkept: snapshot.Unkept}
	if host, _, err := net.SplitHostPort(snapshot.Address); err == nil {
		known.Address = host
	}
	if snapshot.Status != nil {
		known.AddressFixed = snapshot.Status.AddressFixed
	}
	if snapshot.Version != nil {
		known.Version = *snapshot.Version
	}
	known.System = fleet.SystemOf(snapshot.Status, snapshot.Version)
	return known
}

// TryKey asks the daemon something with another API key, over a connection of its own.
func (d daemons) TryKey(ctx context.Context, id fleet.DeviceID, key fleet.Secret) error {
	registry, err := d.store.Registry(ctx)
	if err != nil {
		return err
	}
	device, snapshot := registry.Devices[id], d.mirror.Snapshot(id)
	if device == nil || snapshot == nil {
		return fleet.NotFoundf("device %s is not registered", id)
	}
	client := d.dial(mirror.Target{
		Device: id, APIKey: key, Address: snapshot.Address, Explicit: device.APIAddress != "",
		Pin: device.Settings.Pin, AllowPlain: device.Settings.AllowPlain,
	})
	defer client.Close()
	_, err = client.Status(ctx)
	return err
}

// AdoptKey keeps another API key for the device, which ends the watcher and starts a new one. The rest of the record
// stays as a person put it meanwhile.
func (d daemons) AdoptKey(ctx context.Context, id fleet.DeviceID, key fleet.Secret) error {
	device, err := d.store.Device(ctx, id)
	if err != nil {
		return err
	}
	return d.store.ReplaceAPIKey(ctx, id, device.APIKey, key)
}
