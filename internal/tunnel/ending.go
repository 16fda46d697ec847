package tunnel

import "errors"

// Why tunnels end.
var (
	errProtocol = errors.New("it does not speak the agents' protocol")
	errCrowded  = errors.New("too many agents that are not accepted are connected")
	errCloned   = errors.New("another agent is connected with the same certificate")
	errReplaced = errors.New("a newer connection of the same device took its place")
	errRefused  = errors.New("its device is not admitted")
	errSilent   = errors.New("it does not answer a ping")
	errFlood    = errors.New("it sends far more than it was asked for")
	errStopped  = errors.New("the server stops")
	errClosed   = errors.New("it closed the connection")
)

// endings are the reasons that are counted, the first that fits. What fits none is "failed".
var endings = [...]struct {
	name string
	err  error
}{
	{"flood", errFlood}, {"protocol", errProtocol}, {"crowded", errCrowded}, {"cloned", errCloned},
	{"replaced", errReplaced}, {"refused", errRefused}, {"silent", errSilent}, {"stopped", errStopped},
	{"closed", errClosed}, {"failed", nil},
}

// cutOffFor is what an agent did for which its tunnel was cut off; nil where there is nothing to tell.
func cutOffFor(err error) error {
	for _, reason := range []error{errFlood, errProtocol, errSilent} {
		if errors.Is(err, reason) {
			return reason
		}
	}
	return nil
}

func (h *Hub) count(err error) {
	for i, e := range endings {
		if e.err == nil || errors.Is(err, e.err) {
			h.ended[i].Add(1)
			return
		}
	}
}

// Counts are the numbers of a hub.
type Counts struct {
	Tunnels        map[State]int    // connected now
	Ended          map[string]int64 // since the start, by reason
	Received, Sent int64            // bytes since the start, without TLS
}

// Counts are the numbers of this moment.
func (h *Hub) Counts() Counts {
	c := Counts{Tunnels: map[State]int{Waiting: 0, Accepted: 0}, Ended: map[string]int64{},
		Received: h.received.Load(), Sent: h.sent.Load()}
	for i, e := range endings {
		c.Ended[e.name] = h.ended[i].Load()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range h.tunnels {
		if t.status.State != "" {
			c.Tunnels[t.status.State]++
		}
	}
	return c
}
