package listen

import (
	"hash/maphash"
	"net/netip"
	"sync"
	"time"
)

// What one address, and one registered device, may begin: some at once, and so many a second for long.
const (
	attemptBurst = 200
	attemptRate  = 10
	returnBurst  = 60
	returnRate   = 1
)

// attempts bounds how often connections of agents begin, as a handshake costs a millisecond. Keys share buckets, so
// that many of them need no more memory.
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

// room tells whether one more attempt may begin.
func (a *attempts[Key]) room(key Key) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.now(key).used+1 <= a.burst
}

// charge counts an attempt. It is false where there were too many already: further ones count no more than twice that.
func (a *attempts[Key]) charge(key Key) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	b := a.now(key)
	b.used = min(b.used+1, 2*a.burst)
	return b.used <= a.burst
}

// now is the bucket of a key, as it is now. The caller holds mu.
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

// networkOf is what counts as one address: an IPv6 host may have any of 2^64.
func networkOf(address string) netip.Prefix {
	at, _ := netip.ParseAddrPort(address) // the zero address of what is no TCP
	ip := at.Addr().Unmap().WithZone("")
	bits := ip.BitLen()
	if ip.Is6() {
		bits = 64
	}
	network, _ := ip.Prefix(bits)
	return network
}
