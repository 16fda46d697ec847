package app

import (
	"context"
	"net"

	"muster/internal/adapter/discovery"
	"muster/internal/adapter/tunnel"
	"muster/internal/engine/mirror"
	"muster/internal/fleet"
)

// newDiscovery makes the discovery from the options. In a demo it sends nothing to other machines.
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

// newResolver makes the part that finds the addresses of daemons for the mirror.
func (a *App) newResolver() mirror.AgentFirst {
	near := &discovery.OnlineDaemons{
		Snapshots: func() []*fleet.Snapshot { return a.mirror.Snapshots() },
		// The registry is read from memory.
		Registry: func() (*fleet.Registry, error) { return a.store.Registry(context.Background()) },
	}
	return mirror.AgentFirst{AgentFirstOptions: mirror.AgentFirstOptions{
		Registry: a.store.Registry, Agents: agents{a.hub}, Direct: direct{a.discovery, neighbours{near, a}},
		Last: func(id fleet.DeviceID) *fleet.Snapshot { return a.mirror.Snapshot(id) },
	}}
}

// agents gives the mirror access to connected agents.
type agents struct{ *tunnel.Hub }

func (a agents) Agent(id fleet.DeviceID) (address, tooOldFor string, err error) {
	connected, err := a.Connected(id)
	if err != nil {
		return "", "", err
	}
	return connected.Address(), connected.TooOldFor(), nil
}

// direct finds daemons that are not reached through agents. It asks the managed daemons that are online for addresses
// too.
type direct struct {
	*discovery.Discovery
	near neighbours
}

func (d direct) Resolve(ctx context.Context, device fleet.Device, pinned bool) (mirror.Found, error) {
	return d.Discovery.Resolve(ctx, device, pinned, d.near)
}

// neighbours are the managed daemons that are online.
type neighbours struct {
	*discovery.OnlineDaemons
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
