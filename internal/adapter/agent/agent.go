// Package agent is the part of Muster that runs beside a Syncthing daemon (`muster agent`). It dials the manager and
// proves the device with the device's own certificate. It passes the manager's requests to the daemon of its machine,
// but only requests that are on a fixed list. The manager's end of the connection is internal/adapter/tunnel.
package agent

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"muster/internal/adapter/tunnel"
	"muster/internal/fleet"
	"muster/internal/logkey"
)

const (
	connectTime = 30 * time.Second // limit for reaching the server, and for both ends to prove themselves
	firstPause  = time.Second      // longest pause before the second attempt; it doubles with each further attempt
	leastPause  = 100 * time.Millisecond
	lastPause   = time.Minute
	goodFor     = 30 * time.Second // a connection that lasted this long resets the pause to firstPause
)

// Options are the settings of `muster agent`.
type Options struct {
	Server string // URL, or host with or without a port
	Home   string // home directory of the Syncthing daemon
	// file with certificates that may sign the server's; "": the system's certificate authorities
	CA           string
	Fingerprints []string
	Key          fleet.Secret // enrol key; zero: no key
	KeyFile      string       // The enrol key was read from it; "": from none. Printed commands repeat it.
	Observe      bool         // the agent refuses every request that changes the daemon
	// The tunnel.Switches that are on. Each allows one kind of write that the agent refuses by default.
	Allow   []string
	Version string
	Log     *slog.Logger // nil: the agent does not log

	// Proxy returns the proxy for a request; nil: the environment names it.
	Proxy func(*http.Request) (*url.URL, error)
}

// Agent connects one daemon with one manager.
type Agent struct {
	o         Options
	log       *slog.Logger
	server    *server
	daemon    *daemon
	forwarder *forwarder
	record    *record
	disks     *disks
	told      *logLimit     // limits how often statuses and refusals are logged
	woke      chan struct{} // holds a token after the machine woke from sleep
}

// New reads the home directory of the daemon and checks the options. It opens no connection; Run does.
func New(o Options) (*Agent, error) {
	server, err := newServer(o)
	if err != nil {
		return nil, err
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Proxy == nil {
		o.Proxy = environmentProxy
	}
	daemon, err := newDaemon(o.Home, o.Log)
	if err != nil {
		return nil, err
	}
	device, err := daemon.certificate()
	if err != nil {
		return nil, err
	}
	hideKey, err := x509.MarshalPKCS8PrivateKey(device.PrivateKey)
	if err != nil {
		return nil, notAHome(o.Home, err)
	}
	a := &Agent{o: o, log: o.Log, server: server, daemon: daemon, woke: make(chan struct{}, 1), disks: newDisks(daemon)}
	a.record = newRecord(Report{
		Version: o.Version, Server: server.URL(), Home: o.Home, Device: daemon.way.home.ID, Name: machine(),
		Observe: o.Observe,
	})
	a.told = newLogLimit(o.Log, 20)
	a.forwarder = &forwarder{daemon: daemon, disks: a.disks, observe: o.Observe, allow: o.Allow, log: o.Log,
		changed: a.record.change, answered: a.record.answered,
		refused: a.told, writes: newLogLimit(o.Log, 100),
		hide: func(secret string) string { return fleet.Hidden(hideKey, secret) }}
	return a, nil
}

// Report returns the current state of the agent.
func (a *Agent) Report() Report { return a.record.report() }

// Run keeps a connection to the manager until ctx ends. It returns an error only when no connection has succeeded yet
// and a person must act: the server's certificate is not trusted.
func (a *Agent) Run(ctx context.Context) error {
	go a.watchSleep(ctx)
	go a.disks.watch(ctx)
	pause := firstPause
	for connected := false; ; {
		began := time.Now()
		state, err := a.session(ctx, func() { connected = true })
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var unknown *unknownServer
		if errors.As(err, &unknown) && !connected {
			return err
		}
		pause = pauseAfter(state, time.Since(began), pause)
		// All agents of a fleet lose their server at the same moment, so each waits a random time.
		wait := leastPause + rand.N(pause)
		next := time.Now().Add(wait).UTC()
		hint := a.record.disconnected(err, next)
		a.log.Warn("not connected to the server", logkey.Address, a.server.URL(), logkey.Err(err), logkey.Next, hint,
			logkey.Until, next)
		if a.sleep(ctx, wait) {
			pause = min(2*pause, lastPause)
		} else {
			pause = firstPause
		}
	}
}

// pauseAfter returns the longest pause after a connection that lasted for a time. The manager sent state last.
func pauseAfter(state tunnel.State, lasted, pause time.Duration) time.Duration {
	switch {
	case state == tunnel.Refused, state == tunnel.Cloned:
		return lastPause
	case state == tunnel.Freed, lasted > goodFor:
		return firstPause
	}
	return pause
}

// sleep waits. It returns false when the machine slept meanwhile, because the machine may be in another network now.
func (a *Agent) sleep(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-a.woke:
		return false
	case <-ctx.Done():
	case <-timer.C:
	}
	return true
}

// session connects, and serves until the connection ends. It returns the last state that the manager sent.
func (a *Agent) session(ctx context.Context, connected func()) (tunnel.State, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	secured, err := a.connect(ctx)
	if err != nil {
		return "", err
	}
	connected()
	a.log.Info("connected to the server", logkey.Address, a.server.URL(), logkey.Device, a.Report().Device)
	a.record.connected()
	go func() {
		select {
		case <-a.woke:
			a.log.Info("the machine slept: the connection is made anew")
		case <-ctx.Done():
		}
		_ = secured.Close()
	}()
	err = serve(secured, a.handler(), a.forwarder.broken, a.log)
	a.told.tellLeftOut()
	a.forwarder.writes.tellLeftOut()
	return a.Report().State, err
}

var (
	errEnded = &fleet.Error{Code: fleet.CodeUnavailable, Message: "the connection ended"}
	errLost  = &fleet.Error{
		Code:    fleet.CodeUnavailable,
		Message: fmt.Sprintf("the connection was lost: the server did not answer a sign of life within %v", pingTimeout),
		Hint: "The network in between, or the machine of the server, is gone or was for a while. The agent connects again " +
			"by itself.",
	}
)

func (a *Agent) connect(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	device, err := a.daemon.certificate()
	if err != nil {
		return nil, err
	}
	plain, err := a.server.dial(ctx, a.o.Proxy)
	if err != nil {
		return nil, err
	}
	secured, err := a.server.handshake(ctx, plain, device)
	if err != nil {
		_ = plain.Close()
		return nil, explained(err, device.Leaf)
	}
	return secured, nil
}

// explained adds a hint to an error of the handshake.
func explained(err error, device *x509.Certificate) error {
	var told *fleet.Error
	var header tls.RecordHeaderError
	switch {
	case errors.As(err, &told):
		return err
	case errors.As(err, &header):
		return notTLS(string(header.RecordHeader[:]) == "HTTP/", err)
	case errors.Is(err, context.DeadlineExceeded):
		return &fleet.Error{Code: fleet.CodeUnavailable, Err: err,
			Message: fmt.Sprintf("the server took the connection, and did not answer within %v", connectTime),
			Hint: "Check that --server is the address that `muster serve` prints, and that no firewall or proxy in between " +
				"holds TLS back. The agent tries again."}
	case time.Now().After(device.NotAfter):
		return &fleet.Error{Code: fleet.CodeInvalid, Message: "the device's own certificate has ended", Err: err,
			Hint: "Syncthing made it, and does not renew it: the device needs another identity."}
	// crypto/tls has no error values for these.
	case strings.Contains(err.Error(), "no application protocol"), strings.Contains(err.Error(), "protocol version"):
		return notForAgents(err)
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET), strings.Contains(err.Error(), "internal error"):
		return &fleet.Error{Code: fleet.CodeUnavailable, Err: err,
			Message: "the server, or a proxy in front of it, ended the connection before this device was proven",
			Hint: "A server does so while too many agents connect, or too many connections come from one address; the agent " +
				"tries again. If it goes on, check that --server is the address that `muster serve` prints."}
	}
	return err
}

// notTLS makes the error for a server that does not speak TLS at this address.
func notTLS(isHTTP bool, err error) error {
	message := "what answers at this address does not speak TLS"
	if isHTTP {
		message = "what answers at this address speaks plain HTTP, without TLS"
	}
	return &fleet.Error{Code: fleet.CodeUnsupported, Message: message, Err: err,
		Hint: "Agents need TLS. If `muster serve` listens there, start it with --tls-cert and --tls-key, or with another " +
			"--listen than its own machine's: it then makes a certificate. Or give the address that it prints for agents. A " +
			"proxy in front of it must pass TLS through."}
}
