// Package listen opens the socket of the API: its address, its certificate, how many connections clients may have at
// a time, and how long each of them may take.
package listen

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"syscall"
	"time"

	"muster/internal/fleet"
)

// Options tell where and how to listen.
type Options struct {
	Address         string // HOST:PORT
	Home            string // directory of the generated certificate
	TLSOff          bool
	TLSCert, TLSKey string   // files; "": a certificate is generated where one is needed
	Names           []string // names by which clients may address the server, for the generated certificate
	Log             *slog.Logger

	Clients int // regular connections at a time
	Reserve int // further connections, which last only for a moment
	// Reserved marks the context of requests that come over a connection of the reserve.
	Reserved func(context.Context) context.Context

	// AgentPlace returns a place for the lasting connection of an agent, which then does not count as one of Clients any
	// more. Nil: this socket does not serve agents.
	AgentPlace func() (release func(), ok bool)
	// OnlyAgents has all clients refused that are not agents.
	OnlyAgents bool
}

// Socket is a socket on which the API listens.
type Socket struct {
	net.Listener
	URL string // address at which a person on this machine reaches the server

	certificate *certificate // nil: the socket has plain HTTP
	gate        *gate        // nil: the socket does not serve agents
}

// Listen opens the API's socket: plain HTTP on loopback or with TLSOff, TLS everywhere else.
func Listen(o Options) (*Socket, error) {
	host, _, err := net.SplitHostPort(o.Address)
	if err != nil {
		return nil, &fleet.Error{Code: fleet.CodeInvalid, Message: fmt.Sprintf("--listen %q is no HOST:PORT", o.Address),
			Hint: "For example --listen 127.0.0.1:2525, or --listen :2525 for every address of this machine."}
	}
	plain, err := net.Listen("tcp", o.Address)
	if err != nil {
		return nil, &fleet.Error{Code: fleet.CodeUnavailable, Message: fmt.Sprintf("cannot listen on %s: %v", o.Address,
			err),
			Hint: listenHint(err), Err: err}
	}
	plain = boundClients(&lackListener{Listener: plain, log: o.Log, now: time.Now}, o)
	if o.TLSCert == "" && !o.OnlyAgents && (o.TLSOff || isLoopback(host)) {
		return &Socket{Listener: plain, URL: urlOf("http", plain.Addr())}, nil
	}
	shown, err := newCertificate(o, host)
	if err != nil {
		plain.Close()
		return nil, err
	}
	config := &tls.Config{
		GetCertificate: shown.get, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
	}
	s := &Socket{URL: urlOf("https", plain.Addr()), certificate: shown}
	if o.AgentPlace != nil {
		s.gate = newGate(o, shown)
		config.GetConfigForClient = s.gate.configFor
	}
	s.Listener = tls.NewListener(plain, config)
	if s.gate != nil {
		s.Listener = newSplitter(s.Listener, s.gate)
	}
	return s, nil
}

// ServesAgents reports whether agents can connect to this socket.
func (s *Socket) ServesAgents() bool { return s.gate != nil }

// Run follows the files of the certificate until ctx ends.
func (s *Socket) Run(ctx context.Context) error {
	if s.certificate == nil || !s.certificate.followed() {
		<-ctx.Done()
		return ctx.Err()
	}
	return s.certificate.run(ctx)
}

// Served returns the certificate that new connections are shown, nil for plain HTTP.
func (s *Socket) Served() *fleet.Served {
	if s.certificate == nil {
		return nil
	}
	return s.certificate.served()
}

// Impairment tells what is wrong with the certificate, nil where nothing is.
func (s *Socket) Impairment() *fleet.Impairment {
	if s.certificate == nil {
		return nil
	}
	return s.certificate.impairment(time.Now())
}

// listenHint tells what can be done about an address on which the server cannot listen.
func listenHint(err error) string {
	const choose = " Choose another address with --listen."
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return "Another program listens there, perhaps another Muster." + choose
	case errors.Is(err, syscall.EACCES):
		return "Ports below 1024 are for privileged programs." + choose
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return "This machine does not have that address." + choose
	}
	return "For example --listen 127.0.0.1:2525, or --listen :2525 for every address of this machine."
}

// urlOf returns the URL at which a socket is reached on this machine. A wildcard is not an address that can be called.
func urlOf(scheme string, at net.Addr) string {
	address, err := netip.ParseAddrPort(at.String())
	if err == nil && address.Addr().IsUnspecified() {
		return fmt.Sprintf("%s://localhost:%d", scheme, address.Port())
	}
	return scheme + "://" + at.String()
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}
