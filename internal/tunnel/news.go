package tunnel

import (
	"errors"

	"muster/internal/fleet"
)

// News is what became of an agent's connection.
type News struct {
	Device  fleet.DeviceID
	Address string // HOST:PORT from where the agent connected
	Name    string // of its machine, as it tells
	State   NewsState
	Reason  string // for a person; "" where the state says it all
}

// NewsState says what became of a connection.
type NewsState string

// What becomes of connections whose agents have introduced themselves.
const (
	NewsAccepted     NewsState = "accepted"     // the device is reached by its agent from now on
	NewsWaiting      NewsState = "waiting"      // for an administrator
	NewsRefused      NewsState = "refused"      // by an administrator, or its key is not valid, or there is no place
	NewsCloned       NewsState = "cloned"       // another agent is connected with the same certificate
	NewsDisconnected NewsState = "disconnected" // one that was accepted, or waited
)

// tell passes news on.
func (h *Hub) tell(t *Tunnel, state NewsState, reason string) {
	if h.o.News != nil {
		h.o.News(News{Device: t.device, Address: t.address, Name: t.hello.Name, State: state, Reason: reason})
	}
}

// tellStatus passes on what the agent was told.
func (h *Hub) tellStatus(t *Tunnel, status Status) {
	switch status.State {
	case Accepted:
		h.tell(t, NewsAccepted, "")
	case Waiting:
		h.tell(t, NewsWaiting, "")
	case Refused, Cloned:
		h.tell(t, NewsRefused, status.Message)
	}
}

// tellEnd passes on that the connection of an agent ended that was accepted, or waited.
func (h *Hub) tellEnd(t *Tunnel, status Status, err error) {
	if status.State == Accepted || status.State == Waiting {
		h.tell(t, NewsDisconnected, reasonOf(err))
	}
}

// reasonOf is why a connection ended, in words that hold nothing of what the agent sent.
func reasonOf(err error) string {
	for _, e := range endings {
		if e.err != nil && errors.Is(err, e.err) {
			return e.err.Error()
		}
	}
	return "the connection failed"
}
