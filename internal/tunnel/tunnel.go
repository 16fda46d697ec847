package tunnel

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/http2"

	"muster/internal/fleet"
)

// Tunnel is the connection of one device's agent. Requests go through it while the device is accepted.
type Tunnel struct {
	hub     *Hub
	device  fleet.DeviceID
	address string     // HOST:PORT of the agent, or of what is in front of it
	remote  netip.Addr // the host of that
	since   time.Time
	hello   Hello // complete before the hub lists the tunnel, but for the key, which mu guards

	conn      *meter
	client    *http2.ClientConn //nolint:staticcheck // see connect
	end       context.CancelCauseFunc
	gone      chan struct{} // closed when the hub does not list the tunnel any more
	changed   chan struct{} // holds a token while the agent is to be told its status
	streams   chan struct{} // holds a token for each request under way
	roundTrip atomic.Int64  // of the last PING, in nanoseconds

	known   bool   // its device was registered when it connected
	leave   func() // gives back its place in a crowd; twice is fine. It is for the goroutine of Serve alone
	isKnown func() // tells the listener; twice is fine

	// guarded by Hub.mu:
	status  Status
	rival   string
	rivalAt time.Time
}

func (h *Hub) newTunnel(conn *tls.Conn, end context.CancelCauseFunc) (*Tunnel, error) {
	device, err := deviceOf(conn.ConnectionState())
	if err != nil {
		return nil, err
	}
	t := &Tunnel{hub: h, device: device, address: conn.RemoteAddr().String(), remote: addressOf(conn.RemoteAddr()),
		since: time.Now(), end: end, gone: make(chan struct{}), changed: make(chan struct{}, 1),
		streams: make(chan struct{}, maxStreams)}
	t.conn = newMeter(conn, h, end)
	return t, nil
}

// connect begins HTTP/2. The standard library's client of one connection has no PING.
func (t *Tunnel) connect(transport *http2.Transport) (err error) { //nolint:staticcheck // see above
	t.client, err = transport.NewClientConn(t.conn) //nolint:staticcheck // see above
	return err
}

// close ends the connection at once.
func (t *Tunnel) close() { _ = t.conn.tcp.Close() }

// info is the tunnel as it is now. The caller holds Hub.mu.
func (t *Tunnel) info() Info {
	hello := t.hello
	hello.Key = ""
	return Info{Request: Request{t.device, hello, t.address}, Since: t.since, Status: t.status,
		RoundTrip: time.Duration(t.roundTrip.Load()), Rival: t.rival}
}

// setStatus has the agent told. The caller holds Hub.mu.
func (t *Tunnel) setStatus(status Status) {
	t.status = status
	select {
	case t.changed <- struct{}{}:
	default:
	}
}

// Address is from where the agent connected.
func (t *Tunnel) Address() string { return t.address }

// ping asks for a sign of life.
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

func (t *Tunnel) askHello(ctx context.Context, within time.Duration) error {
	text, err := t.exchange(ctx, http.MethodGet, HelloPath, nil, within)
	if err == nil {
		err = json.Unmarshal(text, &t.hello)
	}
	if err != nil {
		return fmt.Errorf("%w: ask for its hello: %w", errProtocol, err)
	}
	t.hello = t.hello.bounded()
	return nil
}

func (t *Tunnel) tell(ctx context.Context, status Status) error {
	text, err := json.Marshal(status)
	if err != nil {
		return err
	}
	_, err = t.exchange(ctx, http.MethodPut, StatusPath, text, tellTimeout)
	return err
}

// exchange asks something of the agent itself.
func (t *Tunnel) exchange(
	ctx context.Context, method, path string, body []byte, within time.Duration,
) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
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
	text, err := io.ReadAll(io.LimitReader(response.Body, MaxMessageBytes+1))
	if err == nil && len(text) > MaxMessageBytes {
		err = fmt.Errorf("%s %s: the answer is larger than %d bytes", method, path, MaxMessageBytes)
	}
	return text, err
}

// RoundTrip sends a request to the device's daemon while the device is accepted. The path is sent as it is, the host is
// for the agent to set. The body of the answer is to be closed.
func (t *Tunnel) RoundTrip(request *http.Request) (*http.Response, error) {
	t.hub.mu.Lock()
	accepted := t.status.State == Accepted
	t.hub.mu.Unlock()
	if !accepted {
		return nil, errRefused
	}
	response, err := t.send(request)
	if err != nil {
		return nil, err
	}
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

// body is that of an answer. It has a place among the streams until it is closed.
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
