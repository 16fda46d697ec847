package listen

import (
	"net/netip"
	"sync"
)

// What all addresses together may begin from which no registered device came, and how many of the others are known.
const (
	strangerBurst = 256
	strangerRate  = 50
	mostProven    = 1 << 16
)

// strangers bound an attack that comes from thousands of addresses, of which each stays within its own bound. Addresses
// from which a registered device came are not counted: the devices behind them come back meanwhile.
type strangers struct {
	*attempts[struct{}]

	mu     sync.Mutex // guards proven
	proven map[netip.Prefix]bool
}

func newStrangers() *strangers {
	return &strangers{attempts: newAttempts[struct{}](strangerBurst, strangerRate), proven: map[netip.Prefix]bool{}}
}

func (s *strangers) include(network netip.Prefix) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.proven[network]
}

// prove notes that a registered device came from a network. Another one is forgotten where there are too many.
func (s *strangers) prove(network netip.Prefix) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.proven) >= mostProven && !s.proven[network] {
		for other := range s.proven {
			delete(s.proven, other)
			break
		}
	}
	s.proven[network] = true
}

// attempt is one connection of an agent until it proves a registered device.
type attempt struct {
	gate     *gate
	network  netip.Prefix
	stranger bool // it counts among those of all strangers
}

// begin tells whether an agent may begin a handshake. Nothing is counted before that ends: the agents of a site come
// back together, and each proves a device.
func (g *gate) begin(network netip.Prefix) (attempt, error) {
	a := attempt{g, network, g.strangers.include(network)}
	if !g.attempts.room(network) {
		return a, errTooOften
	}
	if a.stranger && !g.strangers.room(struct{}{}) {
		return a, errStrangers
	}
	return a, nil
}

// count is called when the handshake has ended, however it did.
func (a attempt) count() {
	a.gate.attempts.charge(a.network)
	if a.stranger {
		a.gate.strangers.charge(struct{}{})
	}
}

// proved takes back what was counted: the connection is that of a registered device.
func (a attempt) proved() {
	a.gate.attempts.refund(a.network)
	if a.stranger {
		a.gate.strangers.refund(struct{}{})
		a.gate.strangers.prove(a.network)
	}
}
