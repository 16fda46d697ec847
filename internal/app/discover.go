package app

import (
	"context"
	"net"
	"time"

	"muster/internal/discovery"
	"muster/internal/fleet"
	"muster/internal/mirror"
	"muster/internal/syncthing"
)

// newDiscovery looks where the options say. A demo never leaves the machine.
func (a *App) newDiscovery() (*discovery.Discovery, error) {
	servers := a.o.DiscoveryServers
	if a.o.Demo > 0 && len(servers) == 0 {
		servers = []string{discovery.Off}
	}
	near := &nearby{
		snapshots: func() []*mirror.Snapshot { return a.mirror.Snapshots() },
		registry:  func() (*fleet.Registry, error) { return a.store.Registry(context.Background()) }, // from memory
		now:       time.Now,
	}
	return discovery.New(discovery.Options{
		Servers: servers, AllowLocal: a.o.DiscoveryAllowLocal, Listener: a.listener.Addr(),
		LocalPort: discovery.DefaultLocalPort, Neighbours: neighbours{a, near}, Log: a.log,
	})
}

// resolver finds daemons for the mirror: where the record says, else where discovery says.
type resolver struct{ discovery *discovery.Discovery }

func (r resolver) Resolve(ctx context.Context, device fleet.Device, pinned bool) (mirror.Found, error) {
	found, err := r.discovery.Resolve(ctx, device, pinned)
	if err != nil {
		return mirror.Found{}, err
	}
	return mirror.Found{
		Host: found.Host, By: found.By, Introduced: found.Introduced, SyncAddresses: found.SyncAddresses,
	}, nil
}

// neighbours are the managed daemons that are online: they know where others are.
type neighbours struct {
	app    *App
	nearby *nearby
}

func (n neighbours) Online(about fleet.DeviceID) []fleet.DeviceID { return n.nearby.of(about) }

func (n neighbours) Discovery(ctx context.Context, daemon fleet.DeviceID) ([]byte, error) {
	return n.ask(ctx, daemon, (*syncthing.Client).Discovery)
}

func (n neighbours) Connections(ctx context.Context, daemon fleet.DeviceID) ([]byte, error) {
	return n.ask(ctx, daemon, (*syncthing.Client).Connections)
}

func (n neighbours) ask(ctx context.Context, id fleet.DeviceID,
	what func(*syncthing.Client, context.Context) ([]byte, error)) ([]byte, error) {
	daemon, err := n.app.mirror.Daemon(id)
	if err != nil {
		return nil, err
	}
	return what(daemon.(*syncthing.Client), ctx)
}

// proven remembers where a device was reached, so that it is looked for there first.
func (a *App) proven(s *mirror.Snapshot) {
	if host, _, err := net.SplitHostPort(s.Address); err == nil && s.FoundBy != discovery.ByRecord {
		a.discovery.Proven(s.Device, host)
	}
}
