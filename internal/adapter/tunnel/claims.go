package tunnel

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"muster/internal/fleet"
)

// claims record which tunnel is that of a device. When two agents connect with the same certificate, the older tunnel
// stays as long as it answers; the other agent is called its rival.
type claims struct {
	changed func(fleet.DeviceID)

	mu      sync.Mutex // guards the fields below; while it is locked, a Tunnel's own mutex may be locked
	tunnels map[fleet.DeviceID]*Tunnel
	// for accepted devices: why the last tunnel was cut off because its agent misbehaved
	cutOff map[fleet.DeviceID]error
}

func newClaims(changed func(fleet.DeviceID)) *claims {
	return &claims{changed: changed, tunnels: map[fleet.DeviceID]*Tunnel{}, cutOff: map[fleet.DeviceID]error{}}
}

// claim makes t the tunnel of its device. If the device has a tunnel already and that one answers a PING in time,
// claim returns an error instead.
func (c *claims) claim(ctx context.Context, t *Tunnel) error {
	for {
		c.mu.Lock()
		old := c.tunnels[t.device]
		if old == nil {
			c.tunnels[t.device] = t
			c.mu.Unlock()
			return nil
		}
		c.mu.Unlock()
		if old.ping(ctx, duplicateTimeout) == nil {
			if old.setRival(t.address) {
				c.changed(t.device)
			}
			return errCloned
		}
		old.end(errReplaced)
		select {
		case <-old.gone:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// release ends the claim of a tunnel, and records why the tunnel ended. It returns the last status of the device.
func (c *claims) release(t *Tunnel, err error) Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	status := t.currentStatus()
	if reason := cutOffFor(err); reason != nil && status.State == Accepted {
		c.cutOff[t.device] = reason
	} else {
		delete(c.cutOff, t.device)
	}
	if c.tunnels[t.device] == t {
		delete(c.tunnels, t.device)
	}
	close(t.gone)
	return status
}

// cutOffFor returns the part of err that says how the agent misbehaved, or nil when the tunnel ended for another
// reason.
func cutOffFor(err error) error {
	for _, reason := range []error{errFlood, errProtocol, errSilent} {
		if errors.Is(err, reason) {
			return reason
		}
	}
	return nil
}

// of returns the tunnel of a device, or nil.
func (c *claims) of(device fleet.DeviceID) *Tunnel {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tunnels[device]
}

// Tell sends a new status to the agent of a device, if the agent is connected.
func (c *claims) Tell(device fleet.DeviceID, status Status) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.tunnels[device]; t != nil {
		t.setStatus(status)
	}
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
