package stsim

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"time"

	"muster/internal/tunnel"
)

const (
	agentFirstPause = time.Second
	agentLastPause  = time.Minute
	agentLeastPause = 100 * time.Millisecond
)

// RunAgents has an agent for each daemon connect to a server at HOST:PORT until ctx ends. They do not look who the
// server is: simulated daemons have nothing to lose.
func (f *Farm) RunAgents(ctx context.Context, server string) error {
	var all sync.WaitGroup
	for _, d := range f.daemons {
		all.Go(func() { _ = d.RunAgent(ctx, server) })
	}
	all.Wait()
	return ctx.Err()
}

// RunAgent is RunAgents for one daemon. It connects again and again. Its pauses are those of a
// real agent: they grow, and are of any length up to that.
func (d *Daemon) RunAgent(ctx context.Context, server string) error {
	for pause := agentFirstPause; ; pause = min(2*pause, agentLastPause) {
		if d.serveAgent(ctx, server) {
			pause = agentFirstPause
		}
		timer := time.NewTimer(agentLeastPause + rand.N(pause))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}

// serveAgent connects once, and serves until that connection ends. It tells whether the server was reached.
func (d *Daemon) serveAgent(ctx context.Context, server string) (reached bool) {
	dialer := tls.Dialer{Config: &tls.Config{
		InsecureSkipVerify: true, NextProtos: []string{tunnel.ALPN}, //nolint:gosec // see RunAgents
		Certificates: []tls.Certificate{*d.certificate}, MinVersion: tls.VersionTLS13,
	}}
	conn, err := dialer.DialContext(ctx, "tcp", server)
	if err != nil {
		return false
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true) // it is TLS already
	one := &oneConn{ended: make(chan struct{})}
	one.Conn = &endingConn{Conn: conn, ended: one.ended}
	httpServer := &http.Server{Handler: d.agentHandler(), Protocols: &protocols, ReadHeaderTimeout: time.Minute,
		ErrorLog: log.New(io.Discard, "", 0)}
	_ = httpServer.Serve(one)
	_ = httpServer.Close()
	return true
}

// agentHandler answers for the agent itself, and hands everything else to the daemon, with its key.
func (d *Daemon) agentHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+tunnel.HelloPath, func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(tunnel.Hello{Name: d.name, System: runtime.GOOS + "/" + runtime.GOARCH,
			Version: "simulated", APIPort: d.Port()})
	})
	mux.HandleFunc("PUT "+tunnel.StatusPath, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("/rest/", func(w http.ResponseWriter, r *http.Request) {
		d.mu.Lock()
		e, p := d.endpoint, d.process
		d.mu.Unlock()
		if e == nil || p == nil {
			w.Header().Set(tunnel.ErrorHeader, tunnel.ErrorUnreachable)
			http.Error(w, "the daemon is down", http.StatusBadGateway)
			return
		}
		ctx, cancel := context.WithCancel(r.Context())
		defer context.AfterFunc(p.ctx, cancel)() //nolint:contextcheck // requests end with the daemon
		defer cancel()
		r = r.WithContext(ctx)
		r.Host = strings.TrimPrefix(d.URL(), "https://")
		r.Header.Set("X-API-Key", d.APIKey())
		e.ServeHTTP(w, r)
	})
	return mux
}

// oneConn is a listener that has one connection, and ends with it.
type oneConn struct {
	net.Conn
	given bool
	ended chan struct{}
}

func (o *oneConn) Accept() (net.Conn, error) {
	if o.given {
		<-o.ended
		return nil, errors.New("its connection has ended")
	}
	o.given = true
	return o.Conn, nil
}

func (o *oneConn) Close() error   { return nil }
func (o *oneConn) Addr() net.Addr { return o.LocalAddr() }

// endingConn tells when it is closed. It hides that it is TLS.
type endingConn struct {
	net.Conn
	ended chan struct{}
	once  sync.Once
}

func (c *endingConn) Close() error {
	c.once.Do(func() { close(c.ended) })
	return c.Conn.Close()
}
