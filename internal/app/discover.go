package app

import (
	"context"
	"net"

	"muster/internal/discovery"
	"muster/internal/fleet"
	"muster/internal/mirror"
	"muster/internal/tunnel"
)

// newDiscovery looks where the options say. A demo never leaves the machine.
func (a *App) newDiscovery() (*discovery.Discovery, error) {
	servers := a.o.DiscoveryServers
	if a.o.Demo > 0 && len(servers) == 0 {
		servers = []string{discovery.Off}
	}
	own := []net.Addr{a.socket.Addr()}
	if a.forAgents != nil {
		own = append(own, a.forAgents.Addr())
	}
	return discovery.New(discovery.Options{
		Servers: servers, AllowLocal: a.o.DiscoveryAllowLocal, Listeners: own,
		LocalPort: discovery.DefaultLocalPort, Log: a.log,
	})
}

// newResolver finds daemons for the mirror.
func (a *App) newResolver() mirror.Way {
	near := &discovery.Nearby{
		Snapshots: func() []*fleet.Snapshot { return a.mirror.Snapshots() },
		Registry:  func() (*fleet.Registry, error) { return a.store.Registry(context.Background()) }, // from memory
	}
	return mirror.Way{WayOptions: mirror.WayOptions{
		Registry: a.store.Registry, Agents: agents{a.hub}, Direct: direct{a.discovery, neighbours{near, a}},
		Last: func(id fleet.DeviceID) *fleet.Snapshot { return a.mirror.Snapshot(id) },
	}}
}

// agents are those that are connected, for the mirror.
type agents struct{ *tunnel.Hub }

func (a agents) AgentAddress(id fleet.DeviceID) (string, error) {
	connected, err := a.Connected(id)
	if err != nil {
		return "", err
	}
	return connected.Address(), nil
}

// direct finds daemons without their agents. The managed daemons that are online know where others are: each search
// brings them along.
type direct struct {
	*discovery.Discovery
	near neighbours
}

func (d direct) Resolve(ctx context.Context, device fleet.Device, pinned bool) (mirror.Found, error) {
	return d.Discovery.Resolve(ctx, device, pinned, d.near)
}

// neighbours are the managed daemons that are online.
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
