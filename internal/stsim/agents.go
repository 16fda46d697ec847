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
	"strconv"
	"strings"
	"sync"
	"time"

	"muster/internal/adapter/tunnel"
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
			Version: "simulated", APIPort: d.Port(), List: d.agentList(), Key: d.farm.options.EnrollKey.Reveal()})
	})
	mux.HandleFunc("PUT "+tunnel.StatusPath, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("GET "+tunnel.DisksPath, func(w http.ResponseWriter, _ *http.Request) {
		if told := d.disks.Load(); told != nil {
			_ = json.NewEncoder(w).Encode(told.disks)
		}
	})
	mux.HandleFunc("GET "+tunnel.DaemonPath, func(w http.ResponseWriter, r *http.Request) {
		ticker := time.NewTicker(agentLeastPause)
		defer ticker.Stop()
		for !d.answers() {
			select {
			case <-ticker.C:
			case <-r.Context().Done():
				return
			}
		}
		w.WriteHeader(http.StatusNoContent)
	})
	forward := func(w http.ResponseWriter, r *http.Request) {
		d.mu.Lock()
		e, p := d.endpoint, d.process
		d.mu.Unlock()
		if code := refusal(r, d.agentList()); code != "" {
			w.Header().Set(tunnel.ErrorHeader, code)
			http.Error(w, "the agent does not let this through", http.StatusForbidden)
			return
		}
		if told := d.disks.Load(); told != nil {
			w.Header().Set(tunnel.DisksHeader, strconv.FormatInt(told.number, 10))
		}
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
	}
	mux.HandleFunc("/rest/", forward)
	mux.HandleFunc("/metrics", forward)
	return mux
}

// refusal is why an agent with a list of this version and no switches does not let a request through, "" when it does.
func refusal(r *http.Request, list int) string {
	passage, err := tunnel.Admit(r.Method, r.RequestURI)
	switch {
	case err != nil, passage.Rule.Since > list:
		return tunnel.ErrorForbidden
	case passage.Rule.Switch != "":
		return tunnel.ErrorSwitch
	}
	return ""
}

// SetAgentList makes the daemon's agent one of an older version, from its next connection on.
func (d *Daemon) SetAgentList(version int) { d.oldList.Store(int32(version)) } //nolint:gosec // a small number

// agentList is the version of the list of what the daemon's agent lets through.
func (d *Daemon) agentList() int {
	if old := d.oldList.Load(); old > 0 {
		return int(old)
	}
	return tunnel.ListVersion
}

// agentDisks are the facts about disks that a daemon's agent tells.
type agentDisks struct {
	number int64
	disks  tunnel.Disks
}

// SetDisks has the daemon's agent tell these facts about the disks of its machine.
func (d *Daemon) SetDisks(disks tunnel.Disks) {
	number := int64(1)
	if before := d.disks.Load(); before != nil {
		number += before.number
	}
	d.disks.Store(&agentDisks{number, disks})
}

func (d *Daemon) answers() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.endpoint != nil && d.process != nil
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
