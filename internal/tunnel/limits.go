package tunnel

import (
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"time"

	"golang.org/x/net/http2"
)

const (
	pingEvery        = 30 * time.Second // give or take a sixth
	pingTimeout      = 10 * time.Second
	duplicateTimeout = 2 * time.Second // for the older of two tunnels to answer
	rivalMemory      = 10 * time.Minute
	helloTimeout     = 10 * time.Second // of a registered device
	tellTimeout      = 10 * time.Second
	admitTimeout     = 30 * time.Second
	writeTimeout     = 10 * time.Second // for one more byte to be taken by the agent

	maxStreams   = 16        // of one tunnel at a time
	headerBytes  = 64 << 10  // of one answer
	streamWindow = 64 << 10  // bytes of one answer that were not read yet
	connWindow   = 256 << 10 // of all answers of one tunnel
)

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
