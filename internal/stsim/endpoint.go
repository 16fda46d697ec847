package stsim

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"muster/internal/core/stconfig"
)

// endpoint is the API between two restarts of it. What it checks is fixed when it starts, as in the daemon.
type endpoint struct {
	daemon   *Daemon
	process  *process
	gui      stconfig.Value
	address  string // gui.address, or that of the command line
	listener *sniffer
	server   *http.Server
}

// openAPI starts to listen where gui.address says. The caller holds mu.
func (d *Daemon) openAPI(p *process) error {
	gui := d.doc.Get("gui")
	address := gui.Get("address").Str()
	if d.farm.options.Fixed {
		address = net.JoinHostPort(d.address.String(), strconv.Itoa(d.apiPort))
	}
	host, port, err := d.apiAddress(address)
	if err != nil {
		return err
	}
	raw, port, err := d.farm.transport.listen(host, port)
	if err != nil {
		return err
	}
	if d.apiPort == 0 {
		d.learnPort(port)
		gui = d.doc.Get("gui")
	}
	e := &endpoint{daemon: d, process: p, gui: gui, address: address}
	e.listener = &sniffer{Listener: raw, daemon: d, tls: d.tlsConfig(), conns: map[*conn]struct{}{}}
	idle := d.farm.options.Timing.Idle
	e.server = &http.Server{
		Handler: e, ReadHeaderTimeout: idle, IdleTimeout: idle, ErrorLog: log.New(io.Discard, "", 0),
		BaseContext: func(net.Listener) context.Context { return p.ctx },
	}
	d.readings.follow(e.server)
	if d.Version() == V1 { // speaks HTTP/1.1 only
		e.server.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){}
	}
	d.endpoint = e
	p.run(func() { _ = e.server.Serve(e.listener) })
	return nil
}

// learnPort puts the port that the kernel chose into the configuration: from now on it is the daemon's own.
func (d *Daemon) learnPort(port int) {
	d.apiPort = port
	address := net.JoinHostPort(d.address.String(), strconv.Itoa(port))
	d.doc = d.doc.With("gui", d.doc.Get("gui").With("address", stconfig.Text(address)))
}

// tlsConfig is made anew with every start of the API, so that no session outlives a certificate.
func (d *Daemon) tlsConfig() *tls.Config {
	c := &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return d.gui.get() },
	}
	if d.Version() == V2 {
		c.NextProtos = []string{"h2", "http/1.1"}
	}
	return c
}

// apiAddress is where gui.address leads in the daemon's own world: loopback and "all addresses" are its own address,
// any other is none of its machine's.
func (d *Daemon) apiAddress(address string) (netip.Addr, int, error) {
	if err := checkAddress(address); err != nil {
		return netip.Addr{}, 0, err
	}
	if strings.HasPrefix(address, "/") {
		return netip.Addr{}, 0, errors.New("a Unix socket is out of a simulated daemon's reach")
	}
	host, service, _ := net.SplitHostPort(address)
	port, err := net.LookupPort("tcp", service)
	if err != nil {
		return netip.Addr{}, 0, err
	}
	if host == "" || host == "localhost" {
		return d.address, port, nil
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Addr{}, 0, fmt.Errorf("lookup %s: no such host", host)
	}
	if own := ip.Unmap(); own == d.address || ip.IsUnspecified() || own == netip.MustParseAddr("127.0.0.1") ||
		ip == netip.IPv6Loopback() {
		return d.address, port, nil
	}
	return netip.Addr{}, 0, fmt.Errorf("listen tcp %s: bind: cannot assign requested address", address)
}

// checkAddress is the daemon's check of a gui.address before it takes it. Names are not looked up: no simulated daemon
// asks a name server.
func checkAddress(address string) error {
	if strings.HasPrefix(address, "/") {
		return nil // a Unix socket
	}
	host, service, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	if n, err := strconv.Atoi(service); err == nil && (n < 0 || n > 65535) {
		return &net.AddrError{Err: "invalid port", Addr: service}
	}
	if _, err := net.LookupPort("tcp", service); err != nil {
		return err
	}
	if _, err := netip.ParseAddr(host); err != nil && host != "" && host != "localhost" {
		return &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	return nil
}

func (e *endpoint) close(how manner, drain time.Duration) {
	switch how {
	case gentle:
		ctx, cancel := context.WithTimeout(context.Background(), drain)
		defer cancel()
		if err := e.server.Shutdown(ctx); err == nil {
			return
		}
	case broken:
		_ = e.listener.Close()
		e.listener.resetAll()
	}
	_ = e.server.Close()
}

// restartAPI closes the API and opens it where the configuration now says. Several requests while it is at it become
// one more restart.
func (d *Daemon) restartAPI() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.restartAPILocked()
}

func (d *Daemon) restartAPILocked() {
	switch {
	case d.process == nil || !d.apiOn:
	case d.apiRestarting:
		d.apiRestartAgain = true
	default:
		d.apiRestarting = true
		p := d.process
		p.run(func() { d.cycleAPI(p) })
	}
}

func (d *Daemon) cycleAPI(p *process) {
	timing := d.farm.options.Timing
	for {
		d.mu.Lock()
		e := d.endpoint
		if d.process == p {
			d.endpoint = nil
		}
		pause := d.supervisor.pause(time.Now(), timing.Backoff)
		d.mu.Unlock()
		if e != nil {
			e.close(gentle, timing.Drain)
		}
		if !p.wait(pause) || !d.reopenAPI(p) {
			return
		}
	}
}

// reopenAPI reports whether another restart is due: one was asked for meanwhile, or the address does not work.
func (d *Daemon) reopenAPI(p *process) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.process != p {
		return false
	}
	if err := d.openAPI(p); err != nil {
		d.farm.log.Debug("simulated API does not listen", "device", d.id, "err", err)
		p.after(d.farm.options.Timing.Backoff, d.restartAPI)
	}
	d.apiRestarting, d.apiRestartAgain = d.apiRestartAgain, false
	return d.apiRestarting
}

// wait reports whether the time passed before the process ended.
func (p *process) wait(pause time.Duration) bool {
	if pause == 0 {
		return p.ctx.Err() == nil
	}
	t := time.NewTimer(pause)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-p.ctx.Done():
		return false
	}
}
