package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"

	"muster/internal/adapter/listen"
	"muster/internal/adapter/tunnel"
	"muster/internal/edge/httpapi"
	"muster/internal/fleet"
	"muster/internal/logkey"
)

// strangersShare is the part (one in so many) of the connections to daemons that agents of unaccepted devices may use.
const strangersShare = 8

// listen opens the socket of the API, and the agents' own socket when they have a port of their own.
func (a *App) listen() (err error) {
	o := listen.Options{
		Address: a.o.Listen, Home: a.o.Home, TLSOff: a.o.TLSOff, TLSCert: a.o.TLSCert, TLSKey: a.o.TLSKey,
		Names: a.o.AllowHosts, Log: a.log, Clients: a.budget.API, Reserve: a.budget.APIReserve,
		Reserved: httpapi.WithoutStreams,
	}
	forAgents := o
	forAgents.Address, forAgents.OnlyAgents, forAgents.AgentPlace = a.o.AgentListen, true, a.places.Keep
	forAgents.Clients = max(a.budget.API/4, 4) // connections whose handshake is not finished
	if a.o.AgentListen == "" {
		o.AgentPlace = a.places.Keep
	}
	if a.socket, err = a.open(o); err != nil {
		return err
	}
	if a.o.Demo > 0 && forAgents.Address == "" && !a.socket.ServesAgents() {
		forAgents.Address = demoAgentListen
	}
	if forAgents.Address != "" {
		a.forAgents, err = a.open(forAgents)
	}
	return err
}

// demoAgentListen is the agents' address in a demo that serves plain HTTP.
const demoAgentListen = "127.0.0.1:0"

func (a *App) open(o listen.Options) (*listen.Socket, error) {
	socket, err := listen.Listen(o)
	if err == nil {
		a.life.onStop("listener on "+o.Address, func(context.Context) error { return ignoreClosed(socket.Close()) })
	}
	return socket, err
}

// serveAgents starts to serve agents on their own port.
func (a *App) serveAgents() {
	if a.forAgents == nil {
		a.socket.ServeAgents(a.hub.Serve)
		return
	}
	a.forAgents.ServeAgents(a.hub.Serve)
	a.life.background("certificate for agents", a.forAgents.Run, a.fail)
	go func() {
		if err := a.forAgents.AcceptAgents(); !errors.Is(err, net.ErrClosed) {
			a.fail(fmt.Errorf("serve agents: %w", err))
		}
	}()
}

// registered reports whether a device is registered. It reads from memory.
func (a *App) registered(id fleet.DeviceID) bool {
	registry, err := a.store.Registry(context.Background())
	return err == nil && registry.Devices[id] != nil
}

// admit decides about an agent that has connected. A registered device is accepted at once, because the hash of its
// certificate is its ID.
func (a *App) admit(ctx context.Context, r tunnel.Request) (tunnel.Status, error) {
	answer, err := a.enrolled.Admit(ctx, r.Arrival())
	if err != nil {
		return tunnel.Status{}, err
	}
	return tunnel.StatusOf(answer), nil
}

var removed = tunnel.Status{State: tunnel.Refused, Message: "this device was removed from the server",
	Hint: "Stop the agent, or ask an administrator to register the device again."}

func statusOfRefusal(err error) tunnel.Status {
	status := tunnel.Status{State: tunnel.Refused, Message: fleet.Reason(err)}
	if known := (*fleet.Error)(nil); errors.As(err, &known) {
		status.Hint = known.Hint
	}
	return status
}

// tellAgent sends a device's agent the decision about the device.
func (a *App) tellAgent(ctx context.Context, id fleet.DeviceID) {
	is, connected := a.hub.Info(id)
	if !connected {
		return
	}
	registry, err := a.store.Registry(ctx)
	if err == nil && is.Status.State == tunnel.Accepted {
		switch revoked, is := registry.Revocations[id]; {
		case is:
			a.hub.Tell(id, statusOfRefusal(revoked.Refusal()))
		case registry.Devices[id] == nil:
			a.hub.Tell(id, removed)
		}
		return
	}
	answer, err := a.enrolled.Admit(ctx, is.Arrival())
	if err != nil {
		a.log.Error("agent not told what was decided", logkey.Device, id, logkey.Err(err))
		return
	}
	a.hub.Tell(id, tunnel.StatusOf(answer))
}

// chooseWay makes the mirror connect to a device in another way after its agent connected or disconnected.
func (a *App) chooseWay(id fleet.DeviceID) {
	is, connected := a.hub.Info(id)
	if !connected {
		a.enrolled.Left(id)
	}
	a.noteRival(id, is)
	s := a.mirror.Snapshot(id)
	if s == nil {
		return
	}
	registry, err := a.store.Registry(context.Background()) // The registry is read from memory.
	if err != nil || registry.Devices[id] == nil || registry.Devices[id].Settings.Way == fleet.WayDirect {
		return
	}
	tunnel, err := a.hub.Connected(id)
	byAgent := s.FoundBy == fleet.FoundByAgent
	if err == nil && (!byAgent || s.Address != tunnel.Address() || s.Connection != fleet.Online) || err != nil && byAgent {
		a.mirror.RouteChanged(id)
	}
}

// noteDisks gives the mirror the facts about disks that a device's agent has reported.
func (a *App) noteDisks(id fleet.DeviceID) {
	if facts := a.hub.Disks(id); facts != nil {
		a.mirror.SetDisks(id, facts)
	}
}

// throughAgent returns the tunnel of a device, for requests to its daemon.
func (a *App) throughAgent(id fleet.DeviceID) (http.RoundTripper, error) {
	tunnel, err := a.hub.Connected(id)
	if err != nil {
		return nil, err // A nil *tunnel.Tunnel would be a non-nil interface.
	}
	return tunnel, nil
}
