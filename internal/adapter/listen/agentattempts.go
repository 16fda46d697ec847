package listen

import (
	"hash/maphash"
	"net/netip"
	"sync"
	"time"
)

// How many connections one address, and one registered device, may begin: so many at once, and so many a second for
// long.
const (
	attemptBurst = 200
	attemptRate  = 10
	returnBurst  = 60
	returnRate   = 1
)

// attempts bounds how often connections of agents begin, because a handshake costs a millisecond. Keys share buckets,
// so that many keys need no more memory.
type attempts[Key comparable] struct {
	seed        maphash.Seed
	burst, rate float64

	mu      sync.Mutex // guards buckets
	buckets [1024]bucket
}

type bucket struct {
	used float64
	at   time.Time
}

func newAttempts[Key comparable](burst, rate float64) *attempts[Key] {
	return &attempts[Key]{seed: maphash.MakeSeed(), burst: burst, rate: rate}
}

func (a *attempts[Key]) of(key Key) *bucket {
	return &a.buckets[maphash.Comparable(a.seed, key)%uint64(len(a.buckets))]
}

// room reports whether one more attempt may begin.
func (a *attempts[Key]) room(key Key) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.now(key).used+1 <= a.burst
}

// charge counts an attempt. It returns false when there were too many already. Attempts count up to twice the bound.
func (a *attempts[Key]) charge(key Key) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	b := a.now(key)
	b.used = min(b.used+1, 2*a.burst)
	return b.used <= a.burst
}

// now returns the bucket of a key, with the attempts that still count at this moment. The caller holds mu.
func (a *attempts[Key]) now(key Key) *bucket {
	b, now := a.of(key), time.Now()
	b.used = max(0, b.used-now.Sub(b.at).Seconds()*a.rate)
	b.at = now
	return b
}

func (a *attempts[Key]) refund(key Key) {
	a.mu.Lock()
	defer a.mu.Unlock()
	b := a.of(key)
	b.used = max(0, b.used-1)
}

// networkOf returns the network of an address. Addresses of one network count as one, because an IPv6 host may have any
// of 2^64.
func networkOf(address string) netip.Prefix {
	at, _ := netip.ParseAddrPort(address) // zero when it is not the address of a TCP connection
	ip := at.Addr().Unmap().WithZone("")
	bits := ip.BitLen()
	if ip.Is6() {
		bits = 64
	}
	network, _ := ip.Prefix(bits)
	return network
}

// How many connections may begin from all addresses together from which no registered device ever came, and how many
// other addresses are remembered.
const (
	strangerBurst = 256
	strangerRate  = 50
	mostProven    = 1 << 16
)

// strangers bounds an attack that comes from thousands of addresses, each of which stays within its own bound.
// Addresses from which a registered device came are not counted, so that the devices behind them can come back during
// the attack.
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

// prove notes that a registered device came from a network. When too many networks are remembered, some other is
// forgotten.
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

// attempt is one connection of an agent, until it proves a registered device.
type attempt struct {
	gate     *gate
	network  netip.Prefix
	stranger bool // The attempt counts among those of all strangers.
}

// begin reports whether an agent may begin a handshake. Nothing is counted before the handshake ends, because the
// agents of a site come back together, and each proves a device.
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

// count counts the attempt. It is called when the handshake has ended, with or without success.
func (a attempt) count() {
	a.gate.attempts.charge(a.network)
	if a.stranger {
		a.gate.strangers.charge(struct{}{})
	}
}

// proved takes back what count counted, because the connection is that of a registered device.
func (a attempt) proved() {
	a.gate.attempts.refund(a.network)
	if a.stranger {
		a.gate.strangers.refund(struct{}{})
		a.gate.strangers.prove(a.network)
	}
}
