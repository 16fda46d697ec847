package app

import (
	"context"
	"net"
	"strconv"

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
	return session{opened, id, d.mirror, d.store, d.mirror.Hold(id)}, nil
}

// session passes the configurations that it reads through the mirror. It writes only while this server holds the lock
// of its database: another server may write to the same daemon.
type session struct {
	*syncthing.Session
	id      fleet.DeviceID
	mirror  *mirror.Mirror
	store   *store.Store
	release func() // the watcher, which waits with what events announce
}

func (s session) SetIgnores(ctx context.Context, folder string, lines []string) error {
	if err := s.store.CheckLock(ctx); err != nil {
		return err
	}
	return s.Session.SetIgnores(ctx, folder, lines)
}

func (s session) Restart(ctx context.Context) error {
	if err := s.store.CheckLock(ctx); err != nil {
		return err
	}
	return s.Session.Restart(ctx)
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
	if err := s.store.CheckLock(ctx); err != nil {
		return err
	}
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
	known := reconcile.Known{Online: snapshot.Connection == fleet.Online, Address: snapshot.Address,
		TooOld: snapshot.TooOld, Digest: snapshot.Digest,
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
	known.FolderErrors, _ = snapshot.FolderErrors()
	known.FolderRuns = snapshot.FolderRuns
	known.System = fleet.SystemOf(snapshot.Status, snapshot.Version)
	return known
}

// TryAccess asks the daemon something with another API key or at another port, over a connection of its own. It goes
// only to the certificate behind which the device answered last, or where a person said that the device is.
func (d daemons) TryAccess(ctx context.Context, id fleet.DeviceID, access fleet.Access) error {
	registry, err := d.store.Registry(ctx)
	if err != nil {
		return err
	}
	device := registry.Devices[id]
	if device == nil {
		return fleet.NotFoundf("device %s is not registered", id)
	}
	host := d.hostOf(device)
	if host == "" {
		return &fleet.Error{Code: fleet.CodeUnavailable, Message: "no address of the daemon is known yet"}
	}
	target := mirror.Target{
		Device: id, APIKey: access.Key, Address: net.JoinHostPort(host, strconv.Itoa(access.Port)),
		Pin: device.Settings.Pin, AllowPlain: device.Settings.AllowPlain,
	}
	snapshot := d.mirror.Snapshot(id)
	if target.Pin == "" && snapshot != nil && device.Settings.PinOrigin != fleet.PinForgotten {
		// The pin of the first use may not be kept yet.
		target.Pin = snapshot.Proven.Fingerprint
	}
	if device.APIAddress != "" {
		target.Introduced = fleet.ByPerson
	}
	client := d.dial(target)
	defer client.Close()
	_, err = client.Status(ctx)
	return err
}

// hostOf is where a device was reached last, or where a person says that it is.
func (d daemons) hostOf(device *fleet.Registered) string {
	if snapshot := d.mirror.Snapshot(device.ID); snapshot != nil {
		if host, _, err := net.SplitHostPort(snapshot.Address); err == nil {
			return host
		}
	}
	return device.APIAddress
}

// AdoptAccess keeps another API key or port for the device, which ends the watcher and starts a new one.
func (d daemons) AdoptAccess(ctx context.Context, id fleet.DeviceID, before, after fleet.Access) error {
	return d.store.ReplaceAccess(ctx, id, before, after)
}
