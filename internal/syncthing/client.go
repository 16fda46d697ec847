// Package syncthing is the REST client of one Syncthing daemon. It proves who answers before the API key is sent,
// keeps every answer within limits of size, depth and time, and turns failures into errors that a person understands.
// It keeps nothing, repeats no write and decides nothing: that is the business of mirror and reconcile.
//
// A daemon whose agent has connected is reached through that tunnel: each request is one stream of it. What is kept
// from call to call is then only which tunnel that is, and what was proven through it.
//
// While a daemon is followed or visited, the client keeps one connection, which long poll and short requests use in
// turn. What cannot wait for the poll opens a second one, one per daemon at a time, never kept. Every connection
// speaks first: a silent one would stall the daemon. All have a place in the budget of connections; see Places.
package syncthing

import (
	"cmp"
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"muster/internal/fleet"
)

// freshFor is how long after its last answer a connection may still carry a write. A daemon closes it after 15 s.
const freshFor = 5 * time.Second

// Target is a daemon to talk to; see fleet.
type Target = fleet.Target

// Options are the same for all daemons.
type Options struct {
	Limits Limits // zero members are the defaults
	Log    *slog.Logger

	// BigAnswers is shared by all clients: its capacity is how many answers over 256 KiB are read at a time, so that
	// many lying daemons together do not fill the memory. Nil means no such bound.
	BigAnswers chan struct{}

	// Discovered is asked before a connection to an address that was discovered, with the IP that its name led to, as
	// net.Dialer.Control. Nil allows all.
	Discovered func(network, address string, c syscall.RawConn) error

	// Measured is told what each request to a daemon was for, how long it took and what came of it. It must be quick.
	Measured func(during string, took time.Duration, err error)

	// Agent gives the tunnel of a device whose target was introduced by its agent. It takes requests for any host, and
	// answers with a *fleet.Error where the agent itself refuses them. The value stands for one connection of the agent.
	Agent func(fleet.DeviceID) (http.RoundTripper, error)

	// Places bounds the connections to all daemons together. Nil means no such bound.
	Places Places

	// Dial replaces net.Dialer, and Discovered with it: for daemons that are simulated without sockets.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Client talks to one daemon. It is safe for use by several goroutines and holds at most two connections.
type Client struct {
	calls
	target   Target
	limits   Limits
	log      *slog.Logger
	big      chan struct{}
	dialer   func(ctx context.Context, network, address string) (net.Conn, error)
	sessions tls.ClientSessionCache
	measured func(during string, took time.Duration, err error)
	places   Places
	agent    func(fleet.DeviceID) (http.RoundTripper, error)

	kept      chan *conn    // holds the kept connection while it is not in use, nil before it is opened
	told      *conn         // the kept one on which the daemon last told its status or events; of who holds kept
	second    chan struct{} // holds one token per running second connection
	answering atomic.Bool   // the daemon answered the last time

	alwaysFull atomic.Bool // the daemon does not resume sessions with the key exchange of resume

	mu       sync.Mutex        // guards what follows
	pin      string            // as in target, or that of the first use
	claimed  string            // fingerprint to which the key may have been sent before anything was pinned; see claim
	verified string            // fingerprint of the certificate behind which myID was right
	shown    fleet.Certificate // by the last connection
	through  http.RoundTripper // the tunnel through which myID was right
	keeping  bool              // Keep or Visit was called, and neither CloseIdle nor Close since
	place    place             // of the kept connection
	closed   bool
}

// New makes a client; nothing is sent before the first call.
func New(t Target, o Options) *Client {
	log := o.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	c := &Client{
		target: t, limits: o.Limits.withDefaults(), log: log.With("device", t.Device), big: o.BigAnswers, pin: t.Pin,
		measured: o.Measured, agent: o.Agent,
		places: o.Places, kept: make(chan *conn, 1), second: make(chan struct{}, 1),
	}
	if c.places == nil || t.Introduced == fleet.ByAgent { // its tunnel has a place
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

// Shown is the GUI certificate that the last connection showed, proven or not. proven tells that the device answered
// behind it.
func (c *Client) Shown() (shown fleet.Certificate, proven bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.shown, c.shown.Fingerprint != "" && c.shown.Fingerprint == c.verified
}

// do runs a call on the kept connection when that is free or the call can wait for it, else on a second one. A write
// never runs on a kept connection: when the daemon has just closed it, it is not known whether the write arrived.
func (c *Client) do(ctx context.Context, k call) ([]byte, error) {
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

// closed stands for a connection that was given up with its last answer.
var closed = &conn{broken: true}

// onKept runs a call on the kept connection. A poll is about one run of the daemon, so it goes over the connection on
// which that run was last heard of, and over no other.
func (c *Client) onKept(ctx context.Context, cn *conn, k call) (answer []byte, err error) {
	defer func() { c.giveBack(cn) }()
	if k.sifter != nil && c.told != nil && c.told != cn {
		return nil, reconnected(k)
	}
	answer, err = c.run(ctx, &cn, k)
	if err == nil && (k.sifter != nil || k.path == statusPath) {
		c.told = cmp.Or(cn, closed)
	}
	return answer, err
}

func (c *Client) apart(ctx context.Context, k call) ([]byte, error) {
	s, err := c.Session(ctx)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return s.do(ctx, k)
}

// run opens a connection where there is none and runs the call on it. After any failure that leaves the connection in
// doubt *cn is nil. A read is repeated once when the daemon had closed the connection, as it does after 15 s without
// traffic; a write is not, and neither is a poll: its caller has to know that events may be missing.
func (c *Client) run(ctx context.Context, cn **conn, k call) ([]byte, error) {
	reused := *cn != nil
	answer, err := c.once(ctx, cn, k)
	if reused && *cn == nil && isStale(err) && !k.writes() && k.sifter == nil && ctx.Err() == nil {
		return c.once(ctx, cn, k)
	}
	return answer, err
}

func (c *Client) once(ctx context.Context, cn **conn, k call) ([]byte, error) {
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

// Session is the second connection to a daemon, for several calls in a row that cannot wait for the poll. It is opened
// by the first call, so that it is never silent. It is for one goroutine. Close it soon.
type Session struct {
	calls
	client *Client
	conn   *conn
	place  func() // gives back the place of the connection; nil before the first call
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

func (s *Session) do(ctx context.Context, k call) ([]byte, error) {
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

// Close ends the connection and lets the next one begin.
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
