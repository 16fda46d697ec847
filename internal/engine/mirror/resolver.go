package mirror

import (
	"context"
	"time"

	"muster/internal/fleet"
)

// Resolver finds the daemon of a device. It returns CodeNotFound if no address is known. pinned says whether the
// device has a pin. Without a pin only an address from a person or a discovery server is trusted to lead to the
// device.
type Resolver interface {
	Resolve(ctx context.Context, device fleet.Device, pinned bool) (Found, error)
}

// Explicit resolves devices that have an address in their record, and nothing else.
type Explicit struct{}

// Resolve returns the address in the record.
func (Explicit) Resolve(_ context.Context, device fleet.Device, _ bool) (Found, error) {
	if device.APIAddress == "" {
		return Found{}, &fleet.Error{Code: fleet.CodeNotFound, During: "find the daemon",
			Message: "the device has no address, and discovery is off",
			Hint:    "Give the device an apiAddress."}
	}
	return Found{Host: device.APIAddress, By: "record", Introduced: fleet.ByPerson}, nil
}

// Agents knows the connected agents.
type Agents interface {
	// Agent returns the address from which a device's agent is connected. tooOldFor names the requests for which the
	// agent is too old. The error says why no agent is connected.
	Agent(id fleet.DeviceID) (address, tooOldFor string, err error)
	// CutOff returns why the server ended the last connection of a device's agent; "" if the server did not end it.
	CutOff(id fleet.DeviceID) string
}

// AgentFirstOptions are the dependencies of an AgentFirst.
type AgentFirstOptions struct {
	Registry func(ctx context.Context) (*fleet.Registry, error)
	Agents   Agents
	Direct   Resolver // finds a device by the address in its record, or by discovery
	// Last returns the last snapshot of a device; nil if the device is not registered.
	Last func(id fleet.DeviceID) *Snapshot
}

// AgentFirst is a Resolver that follows the way in a device's settings (agent or direct). If the settings leave it
// open, it prefers the device's agent, which proves the device and needs no open port.
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
	if way == fleet.WayAgent || device.APIKey.IsZero() { // Without a key in the record, only the agent has the key.
		return Found{}, err
	}
	last := a.Last(device.ID)
	if awaitsAgent(device, last, time.Now()) {
		return Found{}, awaitedAfter(a.Agents.CutOff(device.ID))
	}
	if !pinned && last != nil && last.FoundBy == fleet.FoundByAgent {
		return Found{}, err // The agent proved the device. Without a pin, nothing proves what answers at an address.
	}
	found, notFound := a.Direct.Resolve(ctx, device, pinned)
	if fleet.CodeOf(notFound) == fleet.CodeNotFound && last != nil && last.FoundBy == fleet.FoundByAgent {
		return Found{}, err // A person can repair the connection of the agent, but not what discovery finds.
	}
	return found, notFound
}

// agentReturns is how long an agent may take to reconnect after its connection was lost or the server restarted: the
// agent pauses for up to a minute between attempts, and one attempt may take 30 s.
const agentReturns = 90 * time.Second

var errAgentAwaited = &fleet.Error{Code: fleet.CodeUnavailable,
	Message: "the device's agent has not connected again yet",
	Hint:    "Muster waits a minute and a half for the agent, and then looks for the device by discovery."}

// awaitedAfter returns errAgentAwaited, with cutOff in its message: the reason why the server ended the agent's last
// connection. cutOff is "" if the server did not end it.
func awaitedAfter(cutOff string) error {
	if cutOff == "" {
		return errAgentAwaited
	}
	e := *errAgentAwaited
	e.Message += "; its last connection was cut off: " + cutOff
	return &e
}

// awaitsAgent reports whether the agent of a device is expected to connect again soon. It is false for a device with
// an address in its record. While it is true, the resolver asks no discovery server.
func awaitsAgent(device fleet.Device, last *Snapshot, now time.Time) bool {
	if device.APIAddress != "" || last == nil || last.FoundBy != fleet.FoundByAgent {
		return false
	}
	return last.Connection == fleet.Online || // The connection was lost just now.
		now.Sub(last.Since) < agentReturns
}
