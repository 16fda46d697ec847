package app

import (
	"context"

	"muster/internal/discovery"
	"muster/internal/fleet"
	"muster/internal/mirror"
)

// newDiscovery looks where the options say. A demo never leaves the machine.
func (a *App) newDiscovery() (*discovery.Discovery, error) {
	servers := a.o.DiscoveryServers
	if a.o.Demo > 0 && len(servers) == 0 {
		servers = []string{discovery.Off}
	}
	near := &discovery.Nearby{
		Snapshots: func() []*fleet.Snapshot { return a.mirror.Snapshots() },
		Registry:  func() (*fleet.Registry, error) { return a.store.Registry(context.Background()) }, // from memory
	}
	return discovery.New(discovery.Options{
		Servers: servers, AllowLocal: a.o.DiscoveryAllowLocal, Listener: a.listener.Addr(),
		LocalPort: discovery.DefaultLocalPort, Neighbours: neighbours{near, a}, Log: a.log,
	})
}

// neighbours are the managed daemons that are online: they know where others are.
type neighbours struct {
	*discovery.Nearby
	app *App
}

func (n neighbours) Discovery(ctx context.Context, daemon fleet.DeviceID) ([]byte, error) {
	return n.ask(ctx, daemon, mirror.Knowledge.Discovery)
}

func (n neighbours) Connections(ctx context.Context, daemon fleet.DeviceID) ([]byte, error) {
	return n.ask(ctx, daemon, mirror.Knowledge.Connections)
}

func (n neighbours) ask(ctx context.Context, id fleet.DeviceID,
	what func(mirror.Knowledge, context.Context) ([]byte, error)) ([]byte, error) {
	daemon, err := n.app.mirror.Daemon(id)
	if err != nil {
		return nil, err
	}
	return what(daemon, ctx)
}

// proven remembers where a device was reached, so that it is looked for there first.
func (a *App) proven(s *fleet.Snapshot) {
	if host := s.Host(); host != "" && s.FoundBy != discovery.ByRecord {
		a.discovery.Proven(s.Device, host)
	}
}
