package listen

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
	"time"

	"muster/internal/adapter/tunnel"
)

// splitter makes the TLS handshakes of its clients. It gives the connections of agents away, and accepts all others,
// also those whose handshake failed: the server answers them. So the connection of an agent outlives the HTTP server.
type splitter struct {
	net.Listener // its connections are *tls.Conn
	gate         *gate
	handshakes   handshakes

	begin    sync.Once
	accepted chan net.Conn
	failed   chan error
	closed   chan struct{}
	closing  sync.Once
}

func newSplitter(l net.Listener, g *gate) *splitter {
	return &splitter{Listener: l, gate: g, handshakes: newHandshakes(), accepted: make(chan net.Conn),
		failed: make(chan error), closed: make(chan struct{})}
}

// Accept returns the next connection of a client that is not an agent. Its first call starts the handshakes, Close ends
// them.
func (s *splitter) Accept() (net.Conn, error) {
	s.begin.Do(func() { go s.run() })
	select {
	case conn := <-s.accepted:
		return conn, nil
	case err := <-s.failed:
		return nil, err
	case <-s.closed:
		return nil, net.ErrClosed
	}
}

func (s *splitter) Close() error {
	s.closing.Do(func() { close(s.closed) })
	return s.Listener.Close()
}

func (s *splitter) run() {
	for {
		conn, err := s.Listener.Accept()
		if err == nil {
			s.start(conn.(*tls.Conn))
			continue
		}
		select {
		case s.failed <- err:
		case <-s.closed:
			return
		}
	}
}

// start begins a handshake, unless too many are under way from the address. On a port for agents only, an attempt too
// many is refused before its first message is read.
func (s *splitter) start(conn *tls.Conn) {
	network := networkOf(conn.RemoteAddr().String())
	if s.gate.only {
		if _, err := s.gate.begin(network); err != nil {
			_ = conn.NetConn().Close() // no farewell
			return
		}
	}
	end, ok := s.handshakes.begin(network)
	if !ok {
		_ = conn.NetConn().Close() // no farewell
		return
	}
	go s.split(conn, end)
}

// split makes one handshake. The connection has a place among the clients until it is closed.
func (s *splitter) split(conn *tls.Conn, end func()) {
	ctx, cancel := context.WithTimeout(context.Background(), headerTimeout)
	_ = conn.NetConn().SetReadDeadline(time.Now().Add(helloTimeout)) // configFor ends this deadline
	err := conn.HandshakeContext(ctx)
	cancel()
	end()
	switch {
	case err == nil && conn.ConnectionState().NegotiatedProtocol == tunnel.ALPN:
		s.gate.handOver(conn)
		return
	case err != nil && s.gate.only: // agents speak TLS, so there is nothing to answer
		_ = conn.NetConn().Close()
		return
	}
	select {
	case s.accepted <- conn:
	case <-s.closed:
		_ = conn.SetDeadline(time.Now()) // no farewell
		_ = conn.Close()
	}
}
