package listen

import (
	"net/netip"
	"sync"
	"time"
)

const (
	// helloTimeout is the time limit for the first message of a client, which costs the client nothing to send at once.
	helloTimeout = 3 * time.Second
	// handshakesPerAddress is how many handshakes may be under way from one IPv4 address or one IPv6 network of 64 bits.
	handshakesPerAddress = 16
)

// handshakes counts the handshakes that are under way, by network. Without it, silent connections of one machine
// could take all places. Connections from this machine are not counted, because a proxy on it carries clients from
// everywhere.
type handshakes struct {
	mu *sync.Mutex // guards of
	of map[netip.Prefix]int
}

func newHandshakes() handshakes { return handshakes{mu: &sync.Mutex{}, of: map[netip.Prefix]int{}} }

// begin counts one more handshake. It returns false when there are too many already. end ends the count.
func (h handshakes) begin(network netip.Prefix) (end func(), ok bool) {
	if network.Addr().IsLoopback() {
		return func() {}, true
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.of[network] >= handshakesPerAddress {
		return nil, false
	}
	h.of[network]++
	return func() { h.end(network) }, true
}

func (h handshakes) end(network netip.Prefix) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.of[network]--; h.of[network] == 0 {
		delete(h.of, network)
	}
}
