package tunnel

import (
	"context"
	"time"

	"muster/internal/fleet"
)

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

// setRival records the address from which another agent connects with the same certificate. isNew is false when a
// rival was already recorded.
func (t *Tunnel) setRival(address string) (isNew bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	isNew = t.rival == ""
	t.rival, t.rivalAt = address, time.Now()
	return isNew
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
