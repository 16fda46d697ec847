package stsim

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"sync"

	"muster/internal/fleet"
)

// transport is where the connections of a farm come from.
type transport interface {
	open() error
	close() error
	// listen gives what arrives at that address and port; port 0 means a free one.
	listen(at netip.Addr, port int) (net.Listener, int, error)
}

func newTransport(f *Farm) transport {
	switch {
	case f.options.Memory:
		return &memory{queues: map[netip.AddrPort]*queue{}}
	case f.options.Shared:
		return &shared{port: f.options.Port, queues: map[netip.Addr]*queue{}}
	}
	return sockets{}
}

// sockets is one listening socket per daemon.
type sockets struct{}

func (sockets) open() error  { return nil }
func (sockets) close() error { return nil }

func (sockets) listen(at netip.Addr, port int) (net.Listener, int, error) {
	l, err := net.Listen("tcp", netip.AddrPortFrom(at, uint16(port)).String())
	if err != nil {
		return nil, 0, err
	}
	return l, l.Addr().(*net.TCPAddr).Port, nil
}

// shared is one listening socket for all addresses of the farm. A daemon that is down resets its connections: with one
// socket, they cannot be refused.
type shared struct {
	port     int
	listener net.Listener
	done     sync.WaitGroup

	mu     sync.Mutex // guards queues
	queues map[netip.Addr]*queue
}

func (s *shared) open() error {
	if s.listener != nil {
		return nil
	}
	l, err := listenLoopback(s.port)
	if err != nil {
		return fmt.Errorf("open the farm's socket: %w", err)
	}
	s.listener, s.port = l, l.Addr().(*net.TCPAddr).Port
	s.done.Go(s.accept)
	return nil
}

func (s *shared) close() error {
	if s.listener == nil {
		return nil
	}
	err := s.listener.Close()
	s.done.Wait()
	s.listener = nil
	return err
}

func (s *shared) accept() {
	for {
		c, err := s.listener.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			continue
		}
		to := netip.MustParseAddrPort(c.LocalAddr().String()).Addr().Unmap()
		from := netip.MustParseAddrPort(c.RemoteAddr().String()).Addr().Unmap()
		s.mu.Lock()
		q := s.queues[to]
		s.mu.Unlock()
		if q == nil || !from.IsLoopback() || !q.put(c) {
			reset(c)
		}
	}
}

// reset closes a connection the hard way.
func reset(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}

func (s *shared) listen(at netip.Addr, port int) (net.Listener, int, error) {
	if port != 0 && port != s.port {
		return sockets{}.listen(at, port)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.queues[at] != nil {
		return sockets{}.listen(at, 0) // a second port of this daemon: its sync port
	}
	q := newQueue(netip.AddrPortFrom(at, uint16(s.port)), func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.queues, at)
	})
	s.queues[at] = q
	return q, s.port, nil
}

// memory has no sockets: connections come from Farm.Dial.
type memory struct {
	mu     sync.Mutex // guards both
	queues map[netip.AddrPort]*queue
	ports  int
}

func (m *memory) open() error  { return nil }
func (m *memory) close() error { return nil }

func (m *memory) listen(at netip.Addr, port int) (net.Listener, int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if port == 0 {
		m.ports++
		port = 20000 + m.ports%40000
	}
	address := netip.AddrPortFrom(at, uint16(port))
	if m.queues[address] != nil {
		return nil, 0, fmt.Errorf("listen %s: address already in use", address)
	}
	q := newQueue(address, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.queues, address)
	})
	m.queues[address] = q
	return q, port, nil
}

// Dial connects to a daemon of a farm with Options.Memory, where net.Dialer would go to the network. Its signature is
// that of http.Transport.DialContext.
func (f *Farm) Dial(_ context.Context, _, address string) (net.Conn, error) {
	m, ok := f.transport.(*memory)
	if !ok {
		return nil, fleet.Invalidf("memory", "this farm has sockets: dial them")
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return nil, fmt.Errorf("dial %s: no such host", address)
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("dial %s: unknown port", address)
	}
	to := netip.AddrPortFrom(ip, uint16(n))
	m.mu.Lock()
	q := m.queues[to]
	m.mu.Unlock()
	client, server := pipe(to)
	if q == nil || !q.put(server) {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: net.TCPAddrFromAddrPort(to),
			Err: errors.New("connection refused")}
	}
	return client, nil
}

// backlog is how many connections wait to be accepted, as in the kernel.
const backlog = 128

// queue is a listener whose connections another listener accepted.
type queue struct {
	address netip.AddrPort
	waiting chan net.Conn
	closed  chan struct{}
	once    sync.Once
	remove  func()
}

func newQueue(address netip.AddrPort, remove func()) *queue {
	return &queue{address: address, waiting: make(chan net.Conn, backlog), closed: make(chan struct{}), remove: remove}
}

// put hands a connection over; false when the listener is closed or its backlog full.
func (q *queue) put(c net.Conn) bool {
	select {
	case <-q.closed:
		return false
	default:
	}
	select {
	case q.waiting <- c:
		return true
	default:
		return false
	}
}

func (q *queue) Accept() (net.Conn, error) {
	select {
	case c := <-q.waiting:
		return c, nil
	case <-q.closed:
		return nil, net.ErrClosed
	}
}

func (q *queue) Close() error {
	q.once.Do(func() {
		q.remove()
		close(q.closed)
		for {
			select {
			case c := <-q.waiting:
				reset(c)
			default:
				return
			}
		}
	})
	return nil
}

func (q *queue) Addr() net.Addr { return net.TCPAddrFromAddrPort(q.address) }
