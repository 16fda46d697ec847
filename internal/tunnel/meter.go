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

// What an agent may send beside the bodies that are read: frames that nobody asked for cost time.
const (
	spareBytes   = 128 << 10                  // at once
	spareRate    = 4 << 10                    // bytes a second
	requestBytes = headerBytes + streamWindow // for each request: its header, and what is not read of its body
	mostCredit   = maxStreams * requestBytes
)

// meter counts what goes through a connection, and cuts off an agent that sends far more than it was asked for.
type meter struct {
	net.Conn // TLS
	tcp      net.Conn
	hub      *Hub
	failed   context.CancelCauseFunc // is told why nothing more can be read
	spare    *rate.Limiter

	mu     sync.Mutex // guards what follows
	credit int64      // bytes that were asked for
	open   int64      // requests whose answers did not come to their end
}

func newMeter(conn *tls.Conn, hub *Hub, failed context.CancelCauseFunc) *meter {
	return &meter{Conn: conn, tcp: conn.NetConn(), hub: hub, failed: failed,
		spare: rate.NewLimiter(spareRate, spareBytes)}
}

// begin says that one more answer was asked for.
func (m *meter) begin() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.open = min(m.open+1, maxStreams)
	m.credit = min(m.credit+requestBytes, mostCredit)
}

// finish says that an answer came to its end: nothing more of it is awaited. Of one that was given up some may come.
func (m *meter) finish() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.open = max(m.open-1, 0)
	m.credit = min(m.credit, m.open*requestBytes)
}

// allow says that there is room for so many bytes more of an answer.
func (m *meter) allow(n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.credit = min(m.credit+n, mostCredit)
}

// charge takes what was received from the credit, and gives what goes beyond.
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

// Close is called by HTTP/2 where it cannot go on. It ends the connection without a word: what is at the other end may
// read nothing.
func (m *meter) Close() error {
	m.failed(errProtocol)
	return m.tcp.Close()
}
