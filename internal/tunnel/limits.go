package tunnel

import (
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/net/http2"
)

const (
	pingEvery        = 30 * time.Second // give or take a sixth
	pingTimeout      = 10 * time.Second
	duplicateTimeout = 2 * time.Second // for the older of two tunnels to answer
	rivalMemory      = 10 * time.Minute
	helloTimeout     = 10 * time.Second
	tellTimeout      = 10 * time.Second
	admitTimeout     = 30 * time.Second
	writeTimeout     = 10 * time.Second // for one more byte to be taken by the agent

	maxStreams   = 16        // of one tunnel at a time
	headerBytes  = 64 << 10  // of one answer
	streamWindow = 64 << 10  // bytes of one answer that were not read yet
	connWindow   = 256 << 10 // of all answers of one tunnel
)

// Limits bound what agents can cost that nobody has accepted.
type Limits struct {
	Unaccepted           int // tunnels of devices that are not accepted
	UnacceptedPerAddress int // of them, from one IPv4 address or one IPv6 network of 64 bits
}

// DefaultLimits leave room for the machines of an office that are installed at the same time.
var DefaultLimits = Limits{Unaccepted: 256, UnacceptedPerAddress: 32}

func (l Limits) withDefaults() Limits {
	if l.Unaccepted == 0 {
		l.Unaccepted = DefaultLimits.Unaccepted
	}
	if l.UnacceptedPerAddress == 0 {
		l.UnacceptedPerAddress = DefaultLimits.UnacceptedPerAddress
	}
	return l
}

// newTransport makes what all tunnels have in common. Their buffers are small: there are thousands of them, and most
// carry a poll that hangs.
func newTransport() *http2.Transport { //nolint:staticcheck // see Tunnel.connect
	shared := &http.Transport{
		DisableCompression: true, MaxResponseHeaderBytes: headerBytes,
		HTTP2: &http.HTTP2Config{
			MaxReceiveBufferPerConnection: connWindow, MaxReceiveBufferPerStream: streamWindow,
			MaxReadFrameSize: 16 << 10, WriteByteTimeout: writeTimeout,
		},
	}
	transport, err := http2.ConfigureTransports(shared) //nolint:staticcheck // likewise
	if err != nil {
		panic(err) // only where the transport is configured already
	}
	return transport
}

// crowd counts the tunnels of devices that are not accepted.
type crowd struct {
	limits Limits

	mu        sync.Mutex // guards what follows
	all       int
	byAddress map[netip.Prefix]int
}

func newCrowd(l Limits) *crowd { return &crowd{limits: l, byAddress: map[netip.Prefix]int{}} }

// enter counts one more. It is an error where there are too many already.
func (c *crowd) enter(from netip.Addr) (leave func(), err error) {
	network := networkOf(from)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all >= c.limits.Unaccepted || c.byAddress[network] >= c.limits.UnacceptedPerAddress {
		return nil, errCrowded
	}
	c.all++
	c.byAddress[network]++
	return func() { c.leave(network) }, nil
}

func (c *crowd) leave(network netip.Prefix) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all--
	if c.byAddress[network]--; c.byAddress[network] == 0 {
		delete(c.byAddress, network)
	}
}

// networkOf is what counts as one address: an IPv6 host may have any of 2^64.
func networkOf(ip netip.Addr) netip.Prefix {
	ip = ip.Unmap().WithZone("")
	bits := ip.BitLen()
	if ip.Is6() {
		bits = 64
	}
	network, _ := ip.Prefix(bits) // the zero prefix of no address
	return network
}

func addressOf(a net.Addr) netip.Addr {
	at, _ := netip.ParseAddrPort(a.String()) // the zero address of what is no TCP
	return at.Addr()
}

func jittered(d time.Duration) time.Duration { return d - d/6 + rand.N(d/3) }
