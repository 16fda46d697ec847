package tunnel

import (
	"math/rand/v2"
	"net/http"
	"time"

	"golang.org/x/net/http2"
)

const (
	pingEvery        = 30 * time.Second // plus or minus a sixth
	pingTimeout      = 10 * time.Second
	duplicateTimeout = 2 * time.Second // limit for the older of two tunnels to answer a PING
	rivalMemory      = 10 * time.Minute
	helloTimeout     = 10 * time.Second // limit for the agent of a registered device to send its Hello
	tellTimeout      = 10 * time.Second
	admitTimeout     = 30 * time.Second
	writeTimeout     = 10 * time.Second // limit for the agent to accept one more byte

	maxStreams   = 16        // requests of one tunnel at the same time
	headerBytes  = 64 << 10  // bytes of the header of one answer
	streamWindow = 64 << 10  // unread bytes of one answer
	connWindow   = 256 << 10 // unread bytes of all answers of one tunnel
)

// newTransport makes the HTTP/2 settings that all tunnels share. The buffers are small because there are thousands of
// tunnels, most of which only carry a long poll.
func newTransport() *http2.Transport { //nolint:staticcheck // see Tunnel.introduce
	shared := &http.Transport{
		DisableCompression: true, MaxResponseHeaderBytes: headerBytes,
		HTTP2: &http.HTTP2Config{
			MaxReceiveBufferPerConnection: connWindow, MaxReceiveBufferPerStream: streamWindow,
			MaxReadFrameSize: 16 << 10, WriteByteTimeout: writeTimeout,
		},
	}
	transport, err := http2.ConfigureTransports(shared) //nolint:staticcheck // likewise
	if err != nil {
		panic(err) // The only possible error is that the transport is already configured.
	}
	return transport
}

func jittered(d time.Duration) time.Duration { return d - d/6 + rand.N(d/3) }
