package listen

import (
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"net/netip"
	"slices"
	"sync"
	"syscall"
	"time"

	"muster/internal/tunnel"
)

// Agents serves the connection of an agent, after its handshake, until that has ended. It calls known when the agent's
// device turns out to be registered.
type Agents func(conn *tls.Conn, known func())

// gate lets agents in by the port of the API. Only a client that asks for the agents' protocol is asked for a
// certificate. During the handshake its connection counts as one of the API's, of which agents have a quarter at most,
// or all on a port of their own; then it takes a place among the connections to daemons.
//
// A handshake that ends without the proof of a registered device counts as an attempt of its address, and of all
// strangers. The agents of a site share one address, and come back at the same time. A registered device that connects
// in a loop does count.
type gate struct {
	config     *tls.Config // for agents
	only       bool        // there are no other clients
	place      func() (release func(), ok bool)
	handshakes chan struct{} // holds a token for each under way
	attempts   *attempts[netip.Prefix]
	strangers  *strangers
	returns    *attempts[[sha256.Size]byte] // of registered devices, by the digest of the certificate

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
			ClientAuth: tls.RequireAnyClientCert, SessionTicketsDisabled: true, // each connection proves the device anew
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
	device := sha256.Sum256(conn.ConnectionState().PeerCertificates[0].Raw)
	agents(conn, func() {
		if g.returns.charge(device) {
			client.attempt.proved()
		}
	})
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

// acceptPause is as long as net/http waits at most.
const acceptPause = time.Second

// AcceptAgents serves a socket that is for agents only, until it is closed.
func (s *Socket) AcceptAgents() error {
	for {
		conn, err := s.Accept()
		switch {
		case err == nil:
			_ = conn.Close() // none of an agent
		case errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE):
			time.Sleep(acceptPause) // until descriptors are free again
		default:
			return err
		}
	}
}

// beginHandshake notes that the client is an agent. The given function ends the handshake.
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
