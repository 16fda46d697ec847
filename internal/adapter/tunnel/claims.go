package tunnel

import (
	"context"
	"errors"
	"sync"
	"time"

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

// setRival records the address from which another agent connects with the same certificate. isNew is false when a
// rival was already recorded.
func (t *Tunnel) setRival(address string) (isNew bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	isNew = t.rival == ""
	t.rival, t.rivalAt = address, time.Now()
	return isNew
}

// freed is the status of a rival whose device has no other tunnel any more.
var freed = Status{State: Freed, Message: "the other agent with this device certificate has ended"}

// refuseRival tells an agent that its certificate has a tunnel already. It keeps the connection of the rival open
// until one of the two ends, so that the end of the conflict is known within seconds. It keeps one rival for each
// registered device; it closes the connections of further rivals at once.
func (h *Hub) refuseRival(ctx context.Context, t *Tunnel) {
	first := h.of(t.device)
	if first == nil {
		return
	}
	status := Status{State: Cloned, Message: "another agent is connected with the same device certificate",
		Hint: fleet.ClonedNext(first.address, t.address)}
	if t.tell(ctx, status) != nil {
		h.rivalEnded(first, t)
		return
	}
	h.reporter.event(t, EventCloned, status.Message)
	if !h.options.Known(t.device) || !first.keepRival(t) {
		return
	}
	t.leave() // The one kept connection of a device takes no place of those that come back.
	defer h.rivalGone(first)
	for {
		pause := time.NewTimer(jittered(pingEvery))
		select {
		case <-first.gone:
			pause.Stop()
			_ = t.tell(ctx, freed) // One that is not told connects again later.
			return
		case <-ctx.Done():
			pause.Stop()
			return
		case <-pause.C:
			if t.ping(ctx, pingTimeout) != nil {
				return
			}
		}
	}
}

// keepRival records the rival whose connection stays open. It returns false when a different rival is recorded.
func (t *Tunnel) keepRival(rival *Tunnel) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.keptRival != nil {
		return false
	}
	t.keptRival, t.rival, t.rivalAt = rival, rival.address, time.Now()
	return true
}

// rivalGone forgets the rival whose connection was kept.
func (c *claims) rivalGone(t *Tunnel) {
	t.mu.Lock()
	t.keptRival, t.rival = nil, ""
	t.mu.Unlock()
	c.changed(t.device)
}

// rivalEnded forgets a rival whose connection ended before it could be told of the other tunnel. It leaves the record
// of a different rival.
func (c *claims) rivalEnded(t, rival *Tunnel) {
	t.mu.Lock()
	over := t.keptRival == nil && t.rival == rival.address
	if over {
		t.rival = ""
	}
	t.mu.Unlock()
	if over {
		c.changed(t.device)
	}
}

// forgetRival removes a rival whose connection is not kept, once it has not connected for a while.
func (c *claims) forgetRival(t *Tunnel) {
	t.mu.Lock()
	over := t.rival != "" && t.keptRival == nil && time.Since(t.rivalAt) > rivalMemory
	if over {
		t.rival = ""
	}
	t.mu.Unlock()
	if over {
		c.changed(t.device)
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
