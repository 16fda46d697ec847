package stsim

import (
	"crypto/tls"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// What the first byte of a connection says.
const (
	tlsRecord = 0x16
	silence   = 0x00 // stands for a byte that did not come
)

// sniffer accepts connections as the daemon does (lib/tlsutil, DowngradingListener): it reads the first byte inside
// Accept to tell TLS from plain http, so a connection that sends nothing holds up all others.
type sniffer struct {
	net.Listener
	daemon *Daemon
	tls    *tls.Config

	mu    sync.Mutex // guards conns
	conns map[*conn]struct{}
}

func (s *sniffer) Accept() (net.Conn, error) {
	for {
		raw, err := s.Listener.Accept()
		if err != nil {
			return nil, err
		}
		s.daemon.counters.accepted.Add(1)
		if s.daemon.faultsFor("").Refuse {
			_ = raw.Close()
			continue
		}
		c := s.wrap(raw)
		switch c.sniff(s.daemon.farm.options.Timing.Sniff) {
		case tlsRecord:
			return tls.Server(c, s.tls), nil
		case silence: // the daemon leaves it to its http server to be disappointed
			s.daemon.counters.silent.Add(1)
		}
		return c, nil
	}
}

func (s *sniffer) wrap(raw net.Conn) *conn {
	c := &conn{Conn: raw, from: s}
	s.daemon.counters.open.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns[c] = struct{}{}
	return c
}

// resetAll resets every connection that is open.
func (s *sniffer) resetAll() {
	s.mu.Lock()
	open := make([]*conn, 0, len(s.conns))
	for c := range s.conns {
		open = append(open, c)
	}
	s.mu.Unlock()
	for _, c := range open {
		reset(c.Conn)
	}
}

// conn is an accepted connection whose first byte has been read.
type conn struct {
	net.Conn
	from   *sniffer
	first  byte
	peeked bool
	closed atomic.Bool
}

// sniff reads the first byte, to be read again.
func (c *conn) sniff(limit time.Duration) byte {
	_ = c.SetReadDeadline(time.Now().Add(limit))
	defer func() { _ = c.SetReadDeadline(time.Time{}) }()
	var first [1]byte
	if _, err := c.Conn.Read(first[:]); err != nil {
		return silence
	}
	c.first, c.peeked = first[0], true
	return first[0]
}

func (c *conn) Read(b []byte) (int, error) {
	if c.peeked && len(b) > 0 {
		b[0], c.peeked = c.first, false
		return 1, nil
	}
	return c.Conn.Read(b)
}

func (c *conn) Close() error {
	if c.closed.CompareAndSwap(false, true) {
		c.from.daemon.counters.open.Add(-1)
		c.from.mu.Lock()
		delete(c.from.conns, c)
		c.from.mu.Unlock()
	}
	return c.Conn.Close()
}
