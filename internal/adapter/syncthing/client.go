// Package syncthing is the REST client of one Syncthing daemon. It verifies the daemon before it sends the API key,
// keeps every answer within limits of size, depth and time, and turns failures into errors for people. It stores
// nothing, repeats no write and makes no decisions; mirror and reconcile do.
//
// When the device's agent is connected, requests go through the agent's tunnel, one stream for each. Between calls the
// client then remembers only the tunnel, and what was verified through it.
//
// Otherwise the client opens connections itself. While a daemon is followed or visited, one connection stays open, and
// long polls and short requests take turns on it. A request that cannot wait for the long poll uses a second
// connection; there is at most one at a time, and it is closed after use. The client sends a request on every
// connection as soon as it is open, because a silent connection would stall the daemon. Every connection counts in the
// budget of connections; see Places.
package syncthing

import (
	"cmp"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"muster/internal/fleet"
)

// freshFor is how long after its last answer a connection may carry a write. A daemon closes an idle connection after
// 15 s.
const freshFor = 5 * time.Second

// Target is the address and the identity of a daemon; see fleet.
type Target = fleet.Target

// Options are shared by the clients of all daemons.
type Options struct {
	Limits Limits // zero fields mean DefaultLimits

	// BigAnswers is shared by all clients. Its capacity is how many answers over 256 KiB may be read at the same time,
	// so that many faulty daemons together cannot exhaust the memory. Nil: no limit.
	BigAnswers chan struct{}

	// Discovered is called before a connection to a discovered address, with the resolved IP, like net.Dialer.Control.
	// An error prevents the connection. Nil: every address is allowed.
	Discovered func(network, address string, c syscall.RawConn) error

	// Measured is called after each request with its purpose, duration and error. It must be fast.
	Measured func(during string, took time.Duration, err error)

	// Agent returns the tunnel of a device whose target was introduced by its agent. The tunnel accepts requests for
	// any host. When the agent itself refuses a request, the error is a *fleet.Error. Each connection of the agent has
	// a value of its own, so that values can be compared.
	Agent func(fleet.DeviceID) (http.RoundTripper, error)

	// Places limits the number of connections to all daemons together. Nil: no limit.
	Places Places

	// Dial replaces net.Dialer and Discovered. It is for simulated daemons without sockets.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Client sends requests to one daemon. It is safe for concurrent use and has at most two connections open.
type Client struct {
	calls
	target   Target
	limits   *Limits
	big      chan struct{}
	dialer   func(ctx context.Context, network, address string) (net.Conn, error)
	sessions tls.ClientSessionCache
	measured func(during string, took time.Duration, err error)
	places   Places
	agent    func(fleet.DeviceID) (http.RoundTripper, error)

	kept chan *conn // contains the kept connection while it is not in use; contains nil before it is opened
	// the kept connection on which status or events were last read; owned by the goroutine that took the connection
	// from kept
	told      *conn
	second    chan struct{} // contains one token per open second connection
	answering atomic.Bool   // the daemon answered the last request

	alwaysFull atomic.Bool // the daemon does not resume sessions with the key exchange of resume

	mu  sync.Mutex // guards the fields below
	pin string     // the pin of the target, or the certificate that was trusted on first use
	// fingerprint of the certificate that may have been sent the key before one was pinned; see claim
	claimed  string
	verified string            // fingerprint of the certificate behind which the device ID was right
	shown    fleet.Certificate // certificate of the last connection
	through  http.RoundTripper // tunnel through which the device ID was right
	other    fleet.DeviceID    // device that answered in place of the target; see TestAccess
	keeping  bool              // Keep or Visit was called, and neither CloseIdle nor Close since
	place    place             // place of the kept connection among all
	closed   bool
}

// New makes a client. It sends nothing.
func New(t Target, o Options) *Client {
	c := &Client{
		target: t, limits: o.Limits.withDefaults(), big: o.BigAnswers, pin: t.Pin,
		measured: o.Measured, agent: o.Agent,
		places: o.Places, kept: make(chan *conn, 1), second: make(chan struct{}, 1),
	}
	if c.places == nil || t.Introduced == fleet.ByAgent { // A tunnel has its own place in the budget.
		c.places = unbounded{}
	}
	dialer := net.Dialer{Timeout: c.limits.Dial, KeepAlive: time.Minute}
	if t.Introduced != fleet.ByPerson {
		dialer.Control = o.Discovered
	}
	if c.dialer = o.Dial; c.dialer == nil {
		c.dialer = dialer.DialContext
	}
	c.sessions = tls.NewLRUClientSessionCache(1)
	c.calls = calls{measured(c.do, c.measured), c.limits}
	c.kept <- nil
	return c
}

// Shown returns the GUI certificate of the last connection. proven is true when the device has answered behind this
// certificate.
func (c *Client) Shown() (shown fleet.Certificate, proven bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.shown, c.shown.Fingerprint != "" && c.shown.Fingerprint == c.verified
}

// do sends a call over the kept connection when that is free or the call can wait, else over a second one. It never
// sends a write over a kept connection: if the daemon closes it at that moment, it is unknown whether the write
// arrived.
func (c *Client) do(ctx context.Context, k *call) ([]byte, error) {
	if k.writes() || !c.keeps() {
		return c.apart(ctx, k)
	}
	select {
	case cn := <-c.kept:
		return c.onKept(ctx, cn, k)
	default:
	}
	if !k.canWait {
		return c.apart(ctx, k)
	}
	select {
	case cn := <-c.kept:
		return c.onKept(ctx, cn, k)
	case <-ctx.Done():
		return nil, interrupted(ctx)
	}
}

// closed is put into kept in place of a connection that was closed after its last answer.
var closed = &conn{broken: true}

// onKept sends a call over the kept connection. Event numbers are valid for one run of the daemon, so a poll uses only
// the connection over which that run last answered.
func (c *Client) onKept(ctx context.Context, cn *conn, k *call) (answer []byte, err error) {
	defer func() { c.giveBack(cn) }()
	if k.stripper != nil && c.told != nil && c.told != cn {
		return nil, reconnected(k)
	}
	answer, err = c.run(ctx, &cn, k)
	if err == nil && (k.stripper != nil || k.path == statusPath) {
		c.told = cmp.Or(cn, closed)
	}
	return answer, err
}

func (c *Client) apart(ctx context.Context, k *call) ([]byte, error) {
	s, err := c.Session(ctx)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return s.do(ctx, k)
}

// run sends a call over *cn, and opens the connection when *cn is nil. After a failure that leaves the state of the
// connection unknown, *cn is nil. When the daemon had closed the connection, as it does after 15 s without traffic,
// run repeats a read once. It does not repeat a write, nor a poll, because the caller of a poll must know that events
// may be missing.
func (c *Client) run(ctx context.Context, cn **conn, k *call) ([]byte, error) {
	reused := *cn != nil
	answer, err := c.once(ctx, cn, k)
	if reused && *cn == nil && isStale(err) && !k.writes() && k.stripper == nil && ctx.Err() == nil {
		return c.once(ctx, cn, k)
	}
	return answer, err
}

func (c *Client) once(ctx context.Context, cn **conn, k *call) ([]byte, error) {
	if *cn == nil {
		opened, err := c.openInTurn(ctx)
		if err != nil {
			return nil, err
		}
		*cn = opened
	}
	answer, err := c.exchange(ctx, *cn, k)
	c.answering.Store(err == nil || !(*cn).broken || isStale(err))
	if (*cn).broken {
		(*cn).close()
		*cn = nil
	}
	return answer, err
}

// Session is the second connection to a daemon, for several calls that cannot wait for the poll. The first call opens
// the connection, so that it is never silent. A Session is for one goroutine and must be closed soon.
type Session struct {
	calls
	client *Client
	conn   *conn
	place  func() // releases the connection's place in the budget; nil before the first call
}

// Session waits until no other second connection to this daemon is in use.
func (c *Client) Session(ctx context.Context) (*Session, error) {
	select {
	case c.second <- struct{}{}:
	case <-ctx.Done():
		return nil, interrupted(ctx)
	}
	s := &Session{client: c}
	s.calls = calls{measured(s.do, c.measured), c.limits}
	return s, nil
}

func (s *Session) do(ctx context.Context, k *call) ([]byte, error) {
	if k.writes() && s.conn != nil && time.Since(s.conn.lastUsed) > freshFor {
		s.conn.close()
		s.conn = nil
	}
	if s.place == nil {
		place, err := s.client.places.Second(ctx)
		if err != nil {
			return nil, err
		}
		s.place = place
	}
	return s.client.run(ctx, &s.conn, k)
}

// Close closes the connection, so that the next Session can start.
func (s *Session) Close() {
	if s.conn != nil {
		s.conn.close()
		s.conn = nil
	}
	if s.place != nil {
		s.place()
		s.place = nil
	}
	if s.client != nil {
		<-s.client.second
		s.client = nil
	}
}

func isLoopback(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}
