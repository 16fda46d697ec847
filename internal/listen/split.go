package listen

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
	"time"

	"muster/internal/tunnel"
)

// splitter makes the TLS handshakes of its clients, gives away the connections of agents, and accepts all others:
// failed ones too, which the server answers. A connection of an agent outlives the server that way.
type splitter struct {
	net.Listener // of *tls.Conn
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

// Accept begins to accept with its first call, and ends with Close.
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

// start begins a handshake where its address has not too many under way. On a port of agents an attempt too many is
// refused before its first message is read.
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

// split makes a handshake. Its connection has a place among the clients until it is closed.
func (s *splitter) split(conn *tls.Conn, end func()) {
	ctx, cancel := context.WithTimeout(context.Background(), headerTimeout)
	_ = conn.NetConn().SetReadDeadline(time.Now().Add(helloTimeout)) // configFor ends it
	err := conn.HandshakeContext(ctx)
	cancel()
	end()
	switch {
	case err == nil && conn.ConnectionState().NegotiatedProtocol == tunnel.ALPN:
		s.gate.handOver(conn)
		return
	case err != nil && s.gate.only: // an agent speaks TLS: there is nothing to answer
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
