package listen

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"time"
)

// reservedLife is how long a connection of the reserve may last.
const reservedLife = 30 * time.Second

// clientListener bounds the connections of clients. When the regular ones are all taken, further clients get one of
// the reserve, which lasts for a moment and carries no event stream: there is always one soon for `muster stop` and
// /healthz. Clients beyond the reserve wait in the kernel's queue.
type clientListener struct {
	net.Listener
	regular, reserve chan struct{} // hold a token for each connection
	reserved         func(context.Context) context.Context
	closed           chan struct{}
	closing          sync.Once
}

func boundClients(l net.Listener, o Options) *clientListener {
	return &clientListener{
		Listener: l, regular: make(chan struct{}, o.Clients), reserve: make(chan struct{}, o.Reserve),
		reserved: o.Reserved, closed: make(chan struct{}),
	}
}

func (l *clientListener) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	regular := func() { <-l.regular }
	select {
	case l.regular <- struct{}{}:
		return &clientConn{Conn: accepted, listener: l, place: regular}, nil
	default:
	}
	c := &clientConn{Conn: accepted, listener: l, place: regular}
	select {
	case l.regular <- struct{}{}:
	case l.reserve <- struct{}{}:
		c.place, c.end = func() { <-l.reserve }, time.Now().Add(reservedLife)
		_ = accepted.SetDeadline(c.end)
	case <-l.closed:
		_ = accepted.Close()
		return nil, net.ErrClosed
	}
	return c, nil
}

func (l *clientListener) Close() error {
	l.closing.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// crowded tells whether more than half of the regular connections are taken.
func (l *clientListener) crowded() bool { return len(l.regular) > cap(l.regular)/2 }

// clientConn is one connection of a client, with its place.
type clientConn struct {
	net.Conn
	listener *clientListener

	mu        sync.Mutex // guards what follows
	place     func()     // gives it back; nil once the connection is closed
	end       time.Time  // of a connection of the reserve; zero: it has none
	handshake func()     // ends that of an agent; nil where there is none under way
	attempt   attempt    // of an agent, once its handshake began
}

func (c *clientConn) Close() error {
	err := c.Conn.Close()
	c.endHandshake()
	c.mu.Lock()
	place := c.place
	c.place = nil
	c.mu.Unlock()
	if place != nil {
		place()
	}
	return err
}

// isReserved tells whether the connection lasts for a moment only.
func (c *clientConn) isReserved() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.end.IsZero()
}

// within keeps a deadline before the end of the connection.
func (c *clientConn) within(t time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.end.IsZero() && (t.IsZero() || t.After(c.end)) {
		return c.end
	}
	return t
}

func (c *clientConn) SetDeadline(t time.Time) error      { return c.Conn.SetDeadline(c.within(t)) }
func (c *clientConn) SetReadDeadline(t time.Time) error  { return c.Conn.SetReadDeadline(c.within(t)) }
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

// closeWhenCrowded keeps no connection for further requests while there are few left.
func closeWhenCrowded(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, ok := r.Context().Value(connKey{}).(*clientConn); ok && (c.isReserved() || c.listener.crowded()) {
			w.Header().Set("Connection", "close")
		}
		handler.ServeHTTP(w, r)
	})
}
