package mirror

import (
	"context"
	"time"

	"muster/internal/fleet"
)

// Resolver finds the daemon of a device. A device without any known address is CodeNotFound. Without a pin only
// an address with an introduction by a person or a discovery server leads to the device.
type Resolver interface {
	Resolve(ctx context.Context, device fleet.Device, pinned bool) (Found, error)
}

// Explicit resolves devices that have an address in their record, and nothing else.
type Explicit struct{}

// Resolve gives the address in the record.
func (Explicit) Resolve(_ context.Context, device fleet.Device, _ bool) (Found, error) {
	if device.APIAddress == "" {
		return Found{}, &fleet.Error{Code: fleet.CodeNotFound, During: "find the daemon",
			Message: "the device has no address, and discovery is off",
			Hint:    "Give the device an apiAddress."}
	}
	return Found{Host: device.APIAddress, By: "record", Introduced: fleet.ByPerson}, nil
}

// Agents are the agents that are connected.
type Agents interface {
	// Agent is from where the agent of a device is connected, and what it is too old for; an error says why there is none.
	Agent(id fleet.DeviceID) (address, tooOldFor string, err error)
	// CutOff is why the last connection of a device's agent was cut off; "" when it was not.
	CutOff(id fleet.DeviceID) string
}

// AgentFirstOptions make an AgentFirst.
type AgentFirstOptions struct {
	Registry func(ctx context.Context) (*fleet.Registry, error)
	Agents   Agents
	Direct   Resolver // by address, or by discovery
	// Last is the last snapshot of a device; nil when it is not watched.
	Last func(id fleet.DeviceID) *Snapshot
}

// AgentFirst is the Resolver that reaches a device as its settings say. Where they leave it open, it prefers the
// device's agent, which proves the device and needs no open port.
type AgentFirst struct{ AgentFirstOptions }

// Resolve finds the daemon of a device by its agent or directly.
func (a AgentFirst) Resolve(ctx context.Context, device fleet.Device, pinned bool) (Found, error) {
	registry, err := a.Registry(ctx)
	if err != nil {
		return Found{}, err
	}
	way := fleet.WayAuto
	if registered := registry.Devices[device.ID]; registered != nil {
		way = registered.Settings.Way
	}
	if way == fleet.WayDirect {
		return a.Direct.Resolve(ctx, device, pinned)
	}
	address, tooOldFor, err := a.Agents.Agent(device.ID)
	if err == nil {
		return Found{By: fleet.FoundByAgent, Introduced: fleet.ByAgent, Agent: address, AgentTooOldFor: tooOldFor}, nil
	}
	if way == fleet.WayAgent || device.APIKey.IsZero() { // only its agent has the key
		return Found{}, err
	}
	last := a.Last(device.ID)
	if awaitsAgent(device, last, time.Now()) {
		return Found{}, awaitedAfter(a.Agents.CutOff(device.ID))
	}
	if !pinned && last != nil && last.FoundBy == fleet.FoundByAgent {
		return Found{}, err // the agent proved the device: on first use, only the agent is trusted in its place
	}
	found, notFound := a.Direct.Resolve(ctx, device, pinned)
	if fleet.CodeOf(notFound) == fleet.CodeNotFound && last != nil && last.FoundBy == fleet.FoundByAgent {
		return Found{}, err // a person can mend the agent's connection, and not discovery
	}
	return found, notFound
}

// agentReturns is how long an agent may take to connect again, after its connection or the server ended: its pauses
// grow to a minute, and an attempt may take 30 s.
const agentReturns = 90 * time.Second

var errAgentAwaited = &fleet.Error{Code: fleet.CodeUnavailable,
	Message: "the device's agent has not connected again yet",
	Hint:    "Muster waits a minute and a half for the agent, and then looks for the device by discovery."}

// awaitedAfter is errAgentAwaited with the reason why the agent's last connection was cut off; "" when it was not.
func awaitedAfter(cutOff string) error {
	if cutOff == "" {
		return errAgentAwaited
	}
	e := *errAgentAwaited
	e.Message += "; its last connection was cut off: " + cutOff
	return &e
}

// awaitsAgent tells whether the agent of a device without an address in its record is expected back soon. No discovery
// server is asked for the device meanwhile.
func awaitsAgent(device fleet.Device, last *Snapshot, now time.Time) bool {
	if device.APIAddress != "" || last == nil || last.FoundBy != fleet.FoundByAgent {
		return false
	}
	return last.Connection == fleet.Online || // it was online until now
		now.Sub(last.Since) < agentReturns
}
