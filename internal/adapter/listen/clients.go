package listen

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// These bound the connections of one network that have asked nothing yet. Connections beyond this bound must send the
// head of their request within hurriedHead. Without this bound one machine could take all places with heads that it
// sends slowly. An honest client sends its head at once, so a burst of requests through one proxy loses none.
// Connections that wait for their next request are not counted: while few places are left they are closed after each
// request.
const (
	silentShare = 4 // One network may have this part of the regular connections.
	leastSilent = 8
	hurriedHead = 2 * time.Second
)

// reservedLife is how long a connection of the reserve may last.
const reservedLife = 30 * time.Second

// clientListener bounds the connections of clients. When all regular ones are taken, further clients get a connection
// of the reserve, which lasts only for a moment and carries no event stream. So there is always one soon for `muster
// stop` and /healthz. Clients beyond the reserve wait in the kernel's queue.
type clientListener struct {
	net.Listener
	regular, reserve chan struct{} // hold a token for each connection
	reserved         func(context.Context) context.Context
	closed           chan struct{}
	closing          sync.Once

	mu     sync.Mutex
	silent map[netip.Prefix]int // connections that have asked nothing yet; guarded by mu
}

func boundClients(l net.Listener, o Options) *clientListener {
	return &clientListener{
		Listener: l, regular: make(chan struct{}, o.Clients), reserve: make(chan struct{}, o.Reserve),
		reserved: o.Reserved, closed: make(chan struct{}), silent: map[netip.Prefix]int{},
	}
}

func (l *clientListener) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &clientConn{
		Conn: accepted, listener: l, network: networkOf(accepted.RemoteAddr().String()), silent: true,
	}
	hurried := l.countSilent(c.network)
	placed, err := l.placed(c)
	if err == nil && hurried {
		c.hurry()
	}
	return placed, err
}

// placed gives a connection its place, once there is one.
func (l *clientListener) placed(c *clientConn) (net.Conn, error) {
	c.place = func() { <-l.regular }
	select {
	case l.regular <- struct{}{}:
		return c, nil
	default:
	}
	select {
	case l.regular <- struct{}{}:
	case l.reserve <- struct{}{}:
		c.place, c.end = func() { <-l.reserve }, time.Now().Add(reservedLife)
		_ = c.Conn.SetDeadline(c.end)
	case <-l.closed:
		c.place = nil
		_ = c.Close()
		return nil, net.ErrClosed
	}
	return c, nil
}

// countSilent counts one more connection of a network that has asked nothing yet, and tells whether these are too many.
func (l *clientListener) countSilent(network netip.Prefix) (tooMany bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.silent[network]++
	return l.silent[network] > max(cap(l.regular)/silentShare, leastSilent)
}

// hurry has the connection end soon unless it asks something before.
func (c *clientConn) hurry() {
	c.mu.Lock()
	c.headBy = time.Now().Add(hurriedHead)
	c.mu.Unlock()
	_ = c.SetReadDeadline(time.Time{})
}

// asks tells that the connection asks something, or is the one of an agent, or is over.
func (c *clientConn) asks() {
	c.mu.Lock()
	was, hurried, reads := c.silent, !c.headBy.IsZero(), c.reads
	c.silent, c.headBy = false, time.Time{}
	c.mu.Unlock()
	if !was {
		return
	}
	if hurried {
		_ = c.SetReadDeadline(reads)
	}
	c.listener.mu.Lock()
	defer c.listener.mu.Unlock()
	if c.listener.silent[c.network]--; c.listener.silent[c.network] == 0 {
		delete(c.listener.silent, c.network)
	}
}

func (l *clientListener) Close() error {
	l.closing.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// crowded reports whether more than half of the regular connections are taken.
func (l *clientListener) crowded() bool { return len(l.regular) > cap(l.regular)/2 }

// clientConn is one connection of a client, with its place.
type clientConn struct {
	net.Conn
	listener *clientListener
	network  netip.Prefix

	mu        sync.Mutex // guards what follows
	place     func()     // gives the place back; nil once the connection is closed
	end       time.Time  // end of a connection of the reserve; zero: a regular one
	handshake func()     // ends the handshake of an agent; nil where none is under way
	attempt   attempt    // attempt of an agent, once its handshake began
	silent    bool       // it has asked nothing yet
	headBy    time.Time  // the deadline of its first request; zero: none
	reads     time.Time  // the deadline of reads that the server wants; zero: none
}

func (c *clientConn) Close() error {
	err := c.Conn.Close()
	c.endHandshake()
	c.asks()
	c.mu.Lock()
	place := c.place
	c.place = nil
	c.mu.Unlock()
	if place != nil {
		place()
	}
	return err
}

// isReserved reports whether the connection is one of the reserve, which lasts only for a moment.
func (c *clientConn) isReserved() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.end.IsZero()
}

// within returns a deadline, or the end of the connection where that comes first.
func (c *clientConn) within(t time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return earlier(t, c.end)
}

// earlier returns the earlier one of two deadlines; zero: none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func (c *clientConn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

func (c *clientConn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	c.reads = t
	hurried := c.headBy
	c.mu.Unlock()
	return c.Conn.SetReadDeadline(earlier(c.within(t), hurried))
}

func (c *clientConn) SetWriteDeadline(t time.Time) error { return c.Conn.SetWriteDeadline(c.within(t)) }

type connKey struct{}

// withConn puts a client's connection into the context of its requests.
func withConn(ctx context.Context, conn net.Conn) context.Context {
	if secured, ok := conn.(*tls.Conn); ok {
		conn = secured.NetConn()
	}
	c, ok := conn.(*clientConn)
	if !ok {
		return ctx
	}
	if c.isReserved() {
		ctx = c.listener.reserved(ctx)
	}
	return context.WithValue(ctx, connKey{}, c)
}

// closeWhenCrowded has connections closed after their request while few places are left.
func closeWhenCrowded(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, ok := r.Context().Value(connKey{}).(*clientConn); ok {
			c.asks()
			if c.isReserved() || c.listener.crowded() {
				w.Header().Set("Connection", "close")
			}
		}
		handler.ServeHTTP(w, r)
	})
}
