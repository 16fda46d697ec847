package tunnel

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/http2"

	"muster/internal/fleet"
)

// Tunnel is the connection to one device's agent. It passes requests to the daemon while the device is accepted.
type Tunnel struct {
	hub     *Hub
	device  fleet.DeviceID
	address string // HOST:PORT of the agent, or of a proxy in front of it
	network string // the network of that address, which quotas count as one address
	since   time.Time
	hello   Hello // does not change after the claim, except for Key, which mu guards

	conn      *meter
	client    *http2.ClientConn //nolint:staticcheck // see introduce
	end       context.CancelCauseFunc
	gone      chan struct{} // closed when the hub has removed the tunnel
	changed   chan struct{} // holds a token while a status must be sent to the agent
	streams   chan struct{} // holds one token per request under way
	roundTrip atomic.Int64  // round-trip time of the last PING, in nanoseconds

	disksReader  disksReader
	daemonReturn daemonReturn

	leave   func() // leaves the quota; may be called twice, but only by the goroutine of Serve
	isKnown func() // tells the listener that the device is registered; may be called twice

	mu      sync.Mutex // guards the fields below, and Key in hello
	status  Status
	rival   string
	rivalAt time.Time
	// keptRival is the tunnel of the rival whose connection stays open; nil: no connection is kept.
	keptRival *Tunnel
	disks     *fleet.DiskFacts // nil until the agent reports facts
}

func (h *Hub) newTunnel(conn *tls.Conn, end context.CancelCauseFunc) (*Tunnel, error) {
	device, err := deviceOf(conn.ConnectionState())
	if err != nil {
		return nil, err
	}
	t := &Tunnel{
		hub:          h,
		device:       device,
		address:      conn.RemoteAddr().String(),
		network:      networkOf(addressOf(conn.RemoteAddr())).String(),
		since:        time.Now(),
		end:          end,
		gone:         make(chan struct{}),
		changed:      make(chan struct{}, 1),
		streams:      make(chan struct{}, maxStreams),
		disksReader:  newDisksReader(),
		daemonReturn: newDaemonReturn(),
	}
	t.conn = newMeter(conn, h, end)
	return t, nil
}

// deviceOf returns the device that the connection's certificate proves. The ID is the certificate's digest, so its
// dates and issuer do not matter.
func deviceOf(state tls.ConnectionState) (fleet.DeviceID, error) {
	switch {
	case state.NegotiatedProtocol != ALPN, state.Version < tls.VersionTLS13, state.DidResume:
		return "", fmt.Errorf("%w: not TLS 1.3 with a new session of %s", errProtocol, ALPN)
	case len(state.PeerCertificates) == 0:
		return "", fmt.Errorf("%w: no client certificate", errProtocol)
	}
	return fleet.DeviceIDOf(sha256.Sum256(state.PeerCertificates[0].Raw)), nil
}

// networkOf returns the network that quotas count as one address. A host with IPv6 may use any of 2^64 addresses.
func networkOf(ip netip.Addr) netip.Prefix {
	ip = ip.Unmap().WithZone("")
	bits := ip.BitLen()
	if ip.Is6() {
		bits = 64
	}
	network, _ := ip.Prefix(bits) // the zero prefix when there is no address
	return network
}

func addressOf(a net.Addr) netip.Addr {
	at, _ := netip.ParseAddrPort(a.String()) // the zero address when this is not TCP
	return at.Addr()
}

// introduce starts HTTP/2 and reads the agent's Hello. It uses golang.org/x/net/http2, because net/http cannot send a
// PING on a single connection.
func (t *Tunnel) introduce(
	ctx context.Context,
	transport *http2.Transport, //nolint:staticcheck // see above
	within time.Duration,
) (err error) {
	t.client, err = transport.NewClientConn(t.conn) //nolint:staticcheck // see above
	if err != nil {
		return fmt.Errorf("%w: %w", errProtocol, err)
	}
	text, err := t.exchange(ctx, http.MethodGet, HelloPath, nil, limits{MaxMessageBytes, within})
	if err == nil {
		err = json.Unmarshal(text, &t.hello)
	}
	if err != nil {
		return fmt.Errorf("%w: ask for its hello: %w", errProtocol, err)
	}
	t.hello = t.hello.bounded()
	return nil
}

// close closes the TCP connection at once.
func (t *Tunnel) close() { _ = t.conn.tcp.Close() }

// info describes the tunnel as it is now.
func (t *Tunnel) info() Info {
	t.mu.Lock()
	defer t.mu.Unlock()
	hello := t.hello
	hello.Key = ""
	return Info{Request: Request{t.device, hello, t.address}, Since: t.since, Status: t.status,
		RoundTrip: time.Duration(t.roundTrip.Load()), Rival: t.rival}
}

// decided sets the first status of a new tunnel, unless the tunnel has got a newer one meanwhile.
func (t *Tunnel) decided(status Status) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.hello.Key = ""
	if t.status.State == "" {
		t.replaceStatus(status)
	}
}

// setStatus sets a status, and has it sent to the agent when it differs from the last one.
func (t *Tunnel) setStatus(status Status) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.status != status {
		t.replaceStatus(status)
	}
}

// replaceStatus sets a status and has it sent to the agent. The caller holds mu.
func (t *Tunnel) replaceStatus(status Status) {
	t.status = status
	select {
	case t.changed <- struct{}{}:
	default:
	}
}

func (t *Tunnel) currentStatus() Status {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.status
}

// TooOldFor names what this agent does not allow because it is older than the server; "": nothing.
func (t *Tunnel) TooOldFor() string { return TooOldFor(t.hello.List) }

// Address returns the address from which the agent connected.
func (t *Tunnel) Address() string { return t.address }

// ping sends a PING and waits for the answer.
func (t *Tunnel) ping(ctx context.Context, within time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	began := time.Now()
	if err := t.client.Ping(ctx); err != nil {
		return err
	}
	t.roundTrip.Store(int64(time.Since(began)))
	return nil
}

func (t *Tunnel) tell(ctx context.Context, status Status) error {
	text, err := json.Marshal(status)
	if err != nil {
		return err
	}
	_, err = t.exchange(ctx, http.MethodPut, StatusPath, text, limits{MaxMessageBytes, tellTimeout})
	return err
}

// limits bound one answer of an agent.
type limits struct {
	bytes int64
	time  time.Duration
}

// exchange sends a request that the agent itself answers.
func (t *Tunnel) exchange(ctx context.Context, method, path string, body []byte, most limits) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, most.time)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, "https://agent"+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	response, err := t.send(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode/100 != 2 {
		return nil, fmt.Errorf("%s %s: %d", method, path, response.StatusCode)
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, most.bytes+1))
	if err == nil && int64(len(text)) > most.bytes {
		err = fmt.Errorf("%s %s: the answer is larger than %d bytes", method, path, most.bytes)
	}
	return text, err
}

// RoundTrip sends a request to the device's daemon while the device is accepted. It sends the path unchanged; the
// agent sets the host. The caller must close the body of the answer.
func (t *Tunnel) RoundTrip(request *http.Request) (*http.Response, error) {
	if t.currentStatus().State != Accepted {
		return nil, errRefused
	}
	if err := t.hello.check(request); err != nil {
		return nil, err
	}
	response, err := t.send(request)
	if err != nil {
		return nil, err
	}
	t.disksReader.note(response.Header.Get(DisksHeader))
	t.daemonReturn.note(response.Header.Get(ErrorHeader))
	if err := refused(request, response); err != nil {
		return nil, err
	}
	return response, nil
}

func (t *Tunnel) send(request *http.Request) (*http.Response, error) {
	select {
	case t.streams <- struct{}{}:
	case <-request.Context().Done():
		return nil, context.Cause(request.Context())
	}
	t.conn.begin()
	response, err := t.client.RoundTrip(request)
	if err != nil {
		<-t.streams
		return nil, err
	}
	response.Body = &body{ReadCloser: response.Body, tunnel: t}
	return response, nil
}

// body is the body of an answer. It occupies one of the tunnel's streams until it is closed.
type body struct {
	io.ReadCloser
	tunnel   *Tunnel
	finished sync.Once
	closed   sync.Once
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.tunnel.conn.allow(int64(n))
	if errors.Is(err, io.EOF) {
		b.finished.Do(b.tunnel.conn.finish)
	}
	return n, err
}

func (b *body) Close() error {
	err := b.ReadCloser.Close()
	b.closed.Do(func() { <-b.tunnel.streams })
	return err
}
