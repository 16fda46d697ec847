package tunnel

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"muster/internal/fleet"
)

// Info describes one tunnel.
type Info struct {
	Request   // its Key is empty
	Since     time.Time
	Status    Status
	RoundTrip time.Duration // round-trip time of the last PING; 0 before the first
	Rival     string        // address from which another agent recently connected with the same certificate; "": none
}

// Connected returns the tunnel over which a device is managed, or an error when it has none.
func (c *claims) Connected(device fleet.DeviceID) (*Tunnel, error) {
	if t := c.of(device); t != nil && t.currentStatus().State == Accepted {
		return t, nil
	}
	e := &fleet.Error{Code: fleet.CodeUnavailable, Message: "the device's agent is not connected",
		Hint: "Check that `muster agent` runs on the daemon's machine: `muster agent status`."}
	if reason := c.CutOff(device); reason != "" {
		e.Message += "; its last connection was cut off: " + reason
	}
	return nil, e
}

// CutOff returns why the last tunnel of a device was cut off, when its agent misbehaved or did not answer; else "".
func (c *claims) CutOff(device fleet.DeviceID) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if reason := c.cutOff[device]; reason != nil {
		return reason.Error()
	}
	return ""
}

// Info describes the tunnel of a device, accepted or not. It returns false when there is none.
func (c *claims) Info(device fleet.DeviceID) (Info, bool) {
	if t := c.of(device); t != nil {
		return t.info(), true
	}
	return Info{}, false
}

// Waiting describes the tunnels of devices that wait to be accepted, ordered by device ID.
func (c *claims) Waiting() []Info {
	c.mu.Lock()
	defer c.mu.Unlock()
	var waiting []Info
	for _, id := range slices.SortedFunc(maps.Keys(c.tunnels), cmp.Compare[fleet.DeviceID]) {
		if is := c.tunnels[id].info(); is.Status.State == Waiting {
			waiting = append(waiting, is)
		}
	}
	return waiting
}

// Disks returns what the agent of a connected and accepted device last reported of its disks; nil: it has reported
// nothing.
func (c *claims) Disks(device fleet.DeviceID) *fleet.DiskFacts {
	if t, err := c.Connected(device); err == nil {
		return t.facts()
	}
	return nil
}

// states counts the tunnels by the state of their devices.
func (c *claims) states() map[State]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	count := map[State]int{Waiting: 0, Accepted: 0}
	for _, t := range c.tunnels {
		if state := t.currentStatus().State; state != "" {
			count[state]++
		}
	}
	return count
}

// Counts are the numbers of a hub for metrics.
type Counts struct {
	Tunnels        map[State]int    // open tunnels, by the state of their device
	Ended          map[string]int64 // ended tunnels since the start of the server, by reason
	Received, Sent int64            // bytes since the start of the server, without TLS overhead
}

// Counts returns the current numbers.
func (h *Hub) Counts() Counts {
	c := Counts{Tunnels: h.states(), Ended: map[string]int64{}, Received: h.received.Load(), Sent: h.sent.Load()}
	for i, e := range endings {
		c.Ended[e.name] = h.reporter.ended[i].Load()
	}
	return c
}
