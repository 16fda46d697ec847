package listen

import (
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"net/netip"
	"slices"
	"sync"
	"time"

	"muster/internal/adapter/tunnel"
)

// Agents serves the connection of one agent, after its handshake, until the connection has ended. It calls known when
// the agent's device turns out to be registered.
type Agents func(conn *tls.Conn, known func())

// gate accepts agents at the port of the API. Only a client that asks for the agents' protocol is asked for a
// certificate. During the handshake its connection counts as one of the API's. Agents may have a quarter of these, or
// all of them on a port of their own. After the handshake the connection takes a place among the connections to
// daemons.
//
// A handshake that ends without the proof of a registered device counts as an attempt of its address, and of all
// strangers. A handshake that proves one does not, because the agents of a site share one address and come back at
// the same time. A registered device that connects in a loop is counted by its certificate.
type gate struct {
	config     *tls.Config // TLS for agents
	only       bool        // The socket has no other clients than agents.
	place      func() (release func(), ok bool)
	handshakes chan struct{} // holds a token for each handshake of an agent under way
	attempts   *attempts[netip.Prefix]
	strangers  *strangers
	returns    *attempts[[sha256.Size]byte] // connections of registered devices, by the digest of the certificate

	mu     sync.Mutex // guards agents
	agents Agents
}

func newGate(o Options, shown *certificate) *gate {
	handshakes := o.Clients + o.Reserve
	if !o.OnlyAgents {
		handshakes = max(o.Clients/4, 1)
	}
	return &gate{
		config: &tls.Config{
			GetCertificate: shown.get, MinVersion: tls.VersionTLS13, NextProtos: []string{tunnel.ALPN},
			ClientAuth: tls.RequireAnyClientCert, SessionTicketsDisabled: true, // Each connection must prove its device.
		},
		only: o.OnlyAgents, place: o.AgentPlace, handshakes: make(chan struct{}, handshakes),
		attempts: newAttempts[netip.Prefix](attemptBurst, attemptRate), strangers: newStrangers(),
		returns: newAttempts[[sha256.Size]byte](returnBurst, returnRate),
	}
}

var (
	errNoAgent   = errors.New("only agents are served here")
	errTooMany   = errors.New("too many agents connect at the same time")
	errTooOften  = errors.New("too many attempts from this address")
	errStrangers = errors.New("too many attempts from addresses that no registered device came from")
)

// configFor returns the TLS configuration for a client. crypto/tls calls it with the client's first message.
func (g *gate) configFor(hello *tls.ClientHelloInfo) (*tls.Config, error) {
	if err := hello.Conn.SetReadDeadline(time.Time{}); err != nil { // ends the deadline for the first message
		return nil, err
	}
	if !slices.Contains(hello.SupportedProtos, tunnel.ALPN) {
		if g.only {
			return nil, errNoAgent
		}
		return nil, nil // the configuration of the socket
	}
	attempt, err := g.begin(networkOf(hello.Conn.RemoteAddr().String()))
	if err != nil {
		return nil, err
	}
	select {
	case g.handshakes <- struct{}{}:
	default:
		return nil, errTooMany
	}
	if conn, ok := hello.Conn.(*clientConn); ok {
		conn.beginHandshake(attempt, func() {
			<-g.handshakes
			attempt.count()
		})
	}
	return g.config, nil
}

// handOver gives the connection of an agent to Agents, and blocks until it has ended.
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
	device := sha256.Sum256(conn.ConnectionState().PeerCertificates[0].Raw)
	agents(conn, func() {
		if g.returns.charge(device) {
			client.attempt.proved()
		}
	})
}

// ServeAgents sets who serves the connections of agents. Before that such connections are closed.
func (s *Socket) ServeAgents(agents Agents) {
	if s.gate == nil {
		return
	}
	s.gate.mu.Lock()
	defer s.gate.mu.Unlock()
	s.gate.agents = agents
}

// acceptPause is the pause after an error of Accept. It is as long as net/http waits at most.
const acceptPause = time.Second

// AcceptAgents serves a socket that is for agents only, until it is closed.
func (s *Socket) AcceptAgents() error {
	for {
		conn, err := s.Accept()
		switch {
		case err == nil:
			_ = conn.Close() // not the connection of an agent
		case isLack(err):
			time.Sleep(acceptPause) // until descriptors are free again
		default:
			return err
		}
	}
}

// beginHandshake notes that the client is an agent. The function end ends the handshake.
func (c *clientConn) beginHandshake(a attempt, end func()) {
	c.mu.Lock()
	closed := c.place == nil
	if !closed {
		c.attempt, c.handshake = a, end
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

// becomeAgent returns the connection another place, so that it may last. It returns false when the connection is closed
// already.
func (c *clientConn) becomeAgent(place func()) bool {
	c.asks()
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
