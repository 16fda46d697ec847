package listen

import (
	"crypto/tls"
	"errors"
	"hash/maphash"
	"net/netip"
	"slices"
	"sync"
	"time"

	"muster/internal/tunnel"
)

// Agents serves the connection of an agent, after its handshake, until that has ended. It calls accepted when the
// agent's device turns out to be accepted.
type Agents func(conn *tls.Conn, accepted func())

// gate lets agents in by the port of the API. Only a client that asks for the agents' protocol is asked for a
// certificate. During the handshake its connection counts as one of the API's, of which agents have a quarter at most;
// then it takes a place among the connections to daemons.
type gate struct {
	config     *tls.Config // for agents
	only       bool        // there are no other clients
	place      func() (release func(), ok bool)
	handshakes chan struct{} // holds a token for each under way
	attempts   attempts

	mu     sync.Mutex // guards agents
	agents Agents
}

func newGate(o Options, shown *certificate) *gate {
	return &gate{
		config: &tls.Config{
			GetCertificate: shown.get, MinVersion: tls.VersionTLS13, NextProtos: []string{tunnel.ALPN},
			ClientAuth: tls.RequireAnyClientCert, SessionTicketsDisabled: true, // each connection proves the device anew
		},
		only: o.OnlyAgents, place: o.AgentPlace, handshakes: make(chan struct{}, max(o.Clients/4, 1)),
		attempts: attempts{seed: maphash.MakeSeed()},
	}
}

var (
	errNoAgent  = errors.New("only agents are served here")
	errTooMany  = errors.New("too many agents connect at the same time")
	errTooOften = errors.New("too many attempts from this address")
)

// configFor is called with the first message of each client.
func (g *gate) configFor(hello *tls.ClientHelloInfo) (*tls.Config, error) {
	if err := hello.Conn.SetReadDeadline(time.Time{}); err != nil { // of the first message
		return nil, err
	}
	if !slices.Contains(hello.SupportedProtos, tunnel.ALPN) {
		if g.only {
			return nil, errNoAgent
		}
		return nil, nil // the socket's own
	}
	if !g.attempts.charge(networkOf(hello.Conn.RemoteAddr().String())) {
		return nil, errTooOften
	}
	select {
	case g.handshakes <- struct{}{}:
	default:
		return nil, errTooMany
	}
	if conn, ok := hello.Conn.(*clientConn); ok {
		conn.beginHandshake(func() { <-g.handshakes })
	}
	return g.config, nil
}

// handOver gives the connection of an agent away, and blocks until it has ended.
func (g *gate) handOver(conn *tls.Conn) {
	defer conn.NetConn().Close()
	client, ok := conn.NetConn().(*clientConn)
	if !ok {
		return
	}
	g.mu.Lock()
	agents := g.agents
	g.mu.Unlock()
	release, ok := g.place()
	if !ok || !client.becomeAgent(release) || agents == nil {
		return
	}
	network := networkOf(conn.RemoteAddr().String())
	agents(conn, func() { g.attempts.refund(network) })
}

// ServeAgents has the connections of agents served. Before that they are closed.
func (s *Socket) ServeAgents(agents Agents) {
	if s.gate == nil {
		return
	}
	s.gate.mu.Lock()
	defer s.gate.mu.Unlock()
	s.gate.agents = agents
}

// AcceptAgents serves a socket that is for agents only, until it is closed.
func (s *Socket) AcceptAgents() error {
	for {
		conn, err := s.Accept()
		if err != nil {
			return err
		}
		_ = conn.Close() // none of an agent
	}
}

// beginHandshake notes that the client is an agent. The given function ends the handshake.
func (c *clientConn) beginHandshake(end func()) {
	c.mu.Lock()
	closed := c.place == nil
	if !closed {
		c.handshake = end
	}
	c.mu.Unlock()
	if closed {
		end()
	}
}

func (c *clientConn) endHandshake() {
	c.mu.Lock()
	end := c.handshake
	c.handshake = nil
	c.mu.Unlock()
	if end != nil {
		end()
	}
}

// becomeAgent has the connection take another place, and last. It is false where it is closed already.
func (c *clientConn) becomeAgent(place func()) bool {
	c.endHandshake()
	c.mu.Lock()
	before := c.place
	if before != nil {
		c.place, c.end = place, time.Time{}
	}
	c.mu.Unlock()
	if before == nil {
		place()
		return false
	}
	before()
	return c.Conn.SetDeadline(time.Time{}) == nil
}

const (
	attemptBurst = 200
	attemptRate  = 10 // a second
)

// attempts bounds how often agents connect from one address, as a handshake costs a millisecond. Those of accepted
// devices do not count in the end. Addresses share buckets, so that many of them need no more memory.
type attempts struct {
	seed maphash.Seed

	mu      sync.Mutex // guards buckets
	buckets [1024]bucket
}

type bucket struct {
	used float64
	at   time.Time
}

func (a *attempts) of(network netip.Prefix) *bucket {
	return &a.buckets[maphash.Comparable(a.seed, network)%uint64(len(a.buckets))]
}

// charge counts an attempt. It is false where there were too many.
func (a *attempts) charge(network netip.Prefix) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	b, now := a.of(network), time.Now()
	b.used = max(0, b.used-now.Sub(b.at).Seconds()*attemptRate)
	b.at = now
	if b.used+1 > attemptBurst {
		return false
	}
	b.used++
	return true
}

func (a *attempts) refund(network netip.Prefix) {
	a.mu.Lock()
	defer a.mu.Unlock()
	b := a.of(network)
	b.used = max(0, b.used-1)
}

// networkOf is what counts as one address: an IPv6 host may have any of 2^64.
func networkOf(address string) netip.Prefix {
	at, _ := netip.ParseAddrPort(address) // the zero address of what is no TCP
	ip := at.Addr().Unmap().WithZone("")
	bits := ip.BitLen()
	if ip.Is6() {
		bits = 64
	}
	network, _ := ip.Prefix(bits)
	return network
}
