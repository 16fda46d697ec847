package mirror

import (
	"context"
	"time"

	"muster/internal/fleet"
)

// Agents are the agents that are connected.
type Agents interface {
	// AgentAddress is from where the agent of a device is connected; an error says why there is none.
	AgentAddress(id fleet.DeviceID) (string, error)
	// CutOff is why the last connection of a device's agent was cut off; "": it was not.
	CutOff(id fleet.DeviceID) string
}

// WayOptions make a Resolver.
type WayOptions struct {
	Registry func(ctx context.Context) (*fleet.Registry, error)
	Agents   Agents
	Direct   Resolver // by address, or by discovery
	Last     func(id fleet.DeviceID) *Snapshot
}

// Way is the Resolver that takes the way to a device that its settings name, and its agent first.
type Way struct{ WayOptions }

// Resolve prefers the device's agent: it proves the device, and needs no open port.
func (w Way) Resolve(ctx context.Context, device fleet.Device, pinned bool) (Found, error) {
	registry, err := w.Registry(ctx)
	if err != nil {
		return Found{}, err
	}
	way := fleet.WayAuto
	if registered := registry.Devices[device.ID]; registered != nil {
		way = registered.Settings.Way
	}
	if way == fleet.WayDirect {
		return w.Direct.Resolve(ctx, device, pinned)
	}
	address, err := w.Agents.AgentAddress(device.ID)
	if err == nil {
		return Found{By: fleet.FoundByAgent, Introduced: fleet.ByAgent, Agent: address}, nil
	}
	if way == fleet.WayAgent || device.APIKey.IsZero() { // only its agent has the key
		return Found{}, err
	}
	last := w.Last(device.ID)
	if awaitsAgent(device, last, time.Now()) {
		return Found{}, awaitedAfter(w.Agents.CutOff(device.ID))
	}
	if !pinned && last != nil && last.FoundBy == fleet.FoundByAgent {
		return Found{}, err // the agent proved the device: nothing less is trusted on first use in its place
	}
	found, notFound := w.Direct.Resolve(ctx, device, pinned)
	if fleet.CodeOf(notFound) == fleet.CodeNotFound && last != nil && last.FoundBy == fleet.FoundByAgent {
		return Found{}, err // that is what a person can mend
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
func awaitsAgent(device fleet.Device, last *Snapshot, now time.Time) bool {
	if device.APIAddress != "" || last == nil || last.FoundBy != fleet.FoundByAgent {
		return false
	}
	return last.Connection == fleet.Online || now.Sub(last.Since) < agentReturns // online: it was, until now
}
