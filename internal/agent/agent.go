// Package agent is the agent's end of the connection between a Syncthing daemon and the manager. It dials the manager
// with the device's own certificate, and hands the manager's requests to the daemon of its machine: those on a list,
// and to nothing else. The manager's end is internal/tunnel.
package agent

import (
	"context"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"muster/internal/fleet"
	"muster/internal/logkey"
	"muster/internal/tunnel"
)

const (
	connectTime = 30 * time.Second // until the server is reached and both ends are proven
	firstPause  = time.Second      // before the next attempt, at most; it doubles
	leastPause  = 100 * time.Millisecond
	lastPause   = time.Minute
	goodFor     = 30 * time.Second // a connection that lasted so long begins the pauses anew
)

// Options are what `muster agent` can be told.
type Options struct {
	Server       string // URL, or host with or without a port
	Home         string // of the Syncthing daemon
	CA           string // file with what vouches for the server; "": the system's authorities
	Fingerprints []string
	Key          fleet.Secret // enrol key; zero: there is none
	Observe      bool         // let nothing change the daemon
	Version      string
	Log          *slog.Logger // nil: no log

	// Proxy finds the proxy for a request; nil: that of the environment.
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
	told      *lines        // of statuses and refusals
	woke      chan struct{} // holds a token after the machine slept
}

// New reads the home of the daemon and checks what it was told. Nothing is connected before Run.
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
	a := &Agent{o: o, log: o.Log, server: server, daemon: daemon, woke: make(chan struct{}, 1)}
	a.record = newRecord(Report{
		Version: o.Version, Server: server.URL(), Home: o.Home, Device: daemon.way.home.ID, Name: machine(),
		Observe: o.Observe,
	})
	a.told = newLines(o.Log, 20)
	a.forwarder = &forwarder{daemon: daemon, observe: o.Observe, log: o.Log,
		changed: a.record.change, answered: a.record.answered,
		refused: a.told, writes: newLines(o.Log, 100),
		hide: func(secret string) string { return fleet.Hidden(hideKey, secret) }}
	return a, nil
}

// Report is how it stands with the agent now.
func (a *Agent) Report() Report { return a.record.report() }

// Run keeps a connection to the manager until ctx ends. It gives up only where a person has to act before the first
// connection: the server is not known.
func (a *Agent) Run(ctx context.Context) error {
	go a.watchSleep(ctx)
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
		switch {
		case state == tunnel.Refused, state == tunnel.Cloned:
			pause = lastPause
		case time.Since(began) > goodFor:
			pause = firstPause
		}
		wait := leastPause + rand.N(pause) // the agents of a whole fleet lose their server at the same moment
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

// sleep waits. It gives false where the machine slept meanwhile: the network may be another one.
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

// session connects, and serves until the connection ends. It gives the state that the manager told last.
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
	serve(secured, a.handler(), a.forwarder.broken, a.log)
	a.told.tellLeftOut()
	a.forwarder.writes.tellLeftOut()
	return a.Report().State, errEnded
}

var errEnded = &fleet.Error{Code: fleet.CodeUnavailable, Message: "the connection ended"}

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

// explained adds what can be done about an error of the handshake.
func explained(err error, device *x509.Certificate) error {
	var told *fleet.Error
	switch {
	case errors.As(err, &told):
		return err
	case time.Now().After(device.NotAfter):
		return &fleet.Error{Code: fleet.CodeInvalid, Message: "the device's own certificate has ended", Err: err,
			Hint: "Syncthing made it, and does not renew it: the device needs another identity."}
	case strings.Contains(err.Error(), "no application protocol"): // crypto/tls has no value for this alert
		return notForAgents(err)
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET), strings.Contains(err.Error(), "internal error"):
		return &fleet.Error{Code: fleet.CodeUnavailable, Err: err,
			Message: "the server, or a proxy in front of it, ended the connection before this device was proven",
			Hint: "A server does so while too many agents connect, or too many connections come from one address; the agent " +
				"tries again. If it goes on, check that --server is the address that `muster serve` prints."}
	}
	return err
}
