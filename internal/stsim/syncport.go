package stsim

import (
	"context"
	"crypto/tls"
	"net"
	"strconv"
	"time"

	"muster/internal/core/stconfig"
)

// listenSync opens the sync port: a TLS handshake there shows the device certificate, whose hash is the ID. Nothing
// else of the sync protocol is spoken. The caller holds mu.
func (d *Daemon) listenSync(p *process) error {
	if !d.farm.options.Sync {
		return nil
	}
	l, port, err := d.farm.transport.listen(d.address, d.syncPort)
	if err != nil {
		return err
	}
	if d.syncPort == 0 {
		d.syncPort = port
		listen := stconfig.List(stconfig.Text("tcp://" + net.JoinHostPort(d.Host(), strconv.Itoa(port))))
		d.doc = d.doc.With("options", d.doc.Get("options").With("listenAddresses", listen))
	}
	config := &tls.Config{
		Certificates: []tls.Certificate{*d.certificate}, NextProtos: []string{"bep/1.0"},
		ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS12,
	}
	context.AfterFunc(p.ctx, func() { _ = l.Close() })
	p.run(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			p.run(func() { greet(p, c, config) })
		}
	})
	return nil
}

// helloLimit is how long a connection may take until it says who it is.
const helloLimit = 10 * time.Second

// greet shakes hands and waits until the other side leaves.
func greet(p *process, c net.Conn, config *tls.Config) {
	defer context.AfterFunc(p.ctx, func() { _ = c.Close() })()
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(helloLimit))
	t := tls.Server(c, config)
	if t.Handshake() == nil {
		_, _ = t.Read(make([]byte, 1))
	}
}
