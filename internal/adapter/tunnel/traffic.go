package tunnel

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// How much an agent may send besides the bodies that the manager reads. Frames that nobody requested cost time.
const (
	spareBytes = 128 << 10 // bytes at once
	spareRate  = 4 << 10   // bytes per second
	// for each request: its header, and the part of its body that was not read
	requestBytes = headerBytes + streamWindow
	mostCredit   = maxStreams * requestBytes
)

// meter counts the bytes on a connection. It cuts off an agent that sends far more than was requested.
type meter struct {
	net.Conn // the TLS connection
	tcp      net.Conn
	hub      *Hub
	failed   context.CancelCauseFunc // called with the reason when reading ends
	spare    *rate.Limiter

	mu     sync.Mutex // guards the fields below
	credit int64      // bytes that the agent may still send
	open   int64      // requests whose answers are not complete
}

func newMeter(conn *tls.Conn, hub *Hub, failed context.CancelCauseFunc) *meter {
	return &meter{Conn: conn, tcp: conn.NetConn(), hub: hub, failed: failed,
		spare: rate.NewLimiter(spareRate, spareBytes)}
}

// begin raises the credit for one more answer.
func (m *meter) begin() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.open = min(m.open+1, maxStreams)
	m.credit = min(m.credit+requestBytes, mostCredit)
}

// finish records that an answer is complete, and lowers the credit to what the open requests need. It is not called for
// a request that was given up, because a part of its answer may still arrive.
func (m *meter) finish() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.open = max(m.open-1, 0)
	m.credit = min(m.credit, m.open*requestBytes)
}

// allow raises the credit by n bytes of an answer's body.
func (m *meter) allow(n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.credit = min(m.credit+n, mostCredit)
}

// charge takes n received bytes from the credit. It returns by how much they exceed the credit.
func (m *meter) charge(n int64) (beyond int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.credit -= n
	beyond = max(-m.credit, 0)
	m.credit = max(m.credit, 0)
	return beyond
}

func (m *meter) Read(p []byte) (int, error) {
	n, err := m.Conn.Read(p)
	m.hub.received.Add(int64(n))
	if beyond := m.charge(int64(n)); beyond > 0 && !m.spare.AllowN(time.Now(), int(beyond)) {
		m.failed(errFlood)
		return 0, errFlood
	}
	if err != nil {
		m.failed(fmt.Errorf("%w: %w", errClosed, err))
	}
	return n, err
}

func (m *meter) Write(p []byte) (int, error) {
	n, err := m.Conn.Write(p)
	m.hub.sent.Add(int64(n))
	if err != nil {
		m.failed(fmt.Errorf("%w: %w", errClosed, err))
	}
	return n, err
}

// Close is called when HTTP/2 cannot continue. It closes the TCP connection without a closing message, because the
// other end may not be reading.
func (m *meter) Close() error {
	m.failed(errProtocol)
	return m.tcp.Close()
}
