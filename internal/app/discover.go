package app

import (
	"context"
	"net"
	"time"

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

// resolver finds daemons for the mirror. The managed daemons that are online know where others are: each search brings
// them along.
type resolver struct {
	*discovery.Discovery
	near neighbours
	hub  *tunnel.Hub
}

func (a *App) newResolver() resolver {
	near := &discovery.Nearby{
		Snapshots: func() []*fleet.Snapshot { return a.mirror.Snapshots() },
		Registry:  func() (*fleet.Registry, error) { return a.store.Registry(context.Background()) }, // from memory
	}
	return resolver{a.discovery, neighbours{near, a}, a.hub}
}

// Resolve prefers the device's agent: it proves the device, and needs no open port.
func (r resolver) Resolve(ctx context.Context, device fleet.Device, pinned bool) (mirror.Found, error) {
	registry, err := r.near.app.store.Registry(ctx) // from memory
	if err != nil {
		return mirror.Found{}, err
	}
	way := fleet.WayAuto
	if registered := registry.Devices[device.ID]; registered != nil {
		way = registered.Settings.Way
	}
	if way == fleet.WayDirect {
		return r.Discovery.Resolve(ctx, device, pinned, r.near)
	}
	tunnel, err := r.hub.Connected(device.ID)
	if err == nil {
		return mirror.Found{By: fleet.FoundByAgent, Introduced: fleet.ByAgent, Agent: tunnel.Address()}, nil
	}
	if way == fleet.WayAgent || device.APIKey.IsZero() { // only its agent has the key
		return mirror.Found{}, err
	}
	last := r.near.app.mirror.Snapshot(device.ID)
	if awaitsAgent(device, last, time.Now()) {
		return mirror.Found{}, awaitedAfter(r.hub.CutOff(device.ID))
	}
	if !pinned && last != nil && last.FoundBy == fleet.FoundByAgent {
		return mirror.Found{}, err // the agent proved the device: nothing less is trusted on first use in its place
	}
	found, notFound := r.Discovery.Resolve(ctx, device, pinned, r.near)
	if fleet.CodeOf(notFound) == fleet.CodeNotFound && last != nil && last.FoundBy == fleet.FoundByAgent {
		return mirror.Found{}, err // that is what a person can mend
	}
	return found, notFound
}

// agentReturns is how long an agent may take to connect again, after its connection or the server ended: its pauses
// grow to a minute, and an attempt may take 30 s.
const agentReturns = 90 * time.Second

var errAgentAwaited = &fleet.Error{Code: fleet.CodeUnavailable,
	Message: "the device's agent has not connected again yet",
	Hint:    "Muster waits a minute and a half for the agent, and then looks for the device by discovery."}

// awaitedAfter is errAgentAwaited with why the agent's last connection was cut off; "": it was not.
func awaitedAfter(cutOff string) error {
	if cutOff == "" {
		return errAgentAwaited
	}
	e := *errAgentAwaited
	e.Message += "; its last connection was cut off: " + cutOff
	return &e
}

// awaitsAgent tells whether a device without an address in its record is expected to be back by its agent soon: no
// discovery server is asked for it meanwhile.
func awaitsAgent(device fleet.Device, last *fleet.Snapshot, now time.Time) bool {
	if device.APIAddress != "" || last == nil || last.FoundBy != fleet.FoundByAgent {
		return false
	}
	return last.Connection == fleet.Online || now.Sub(last.Since) < agentReturns // online: it was, until now
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
