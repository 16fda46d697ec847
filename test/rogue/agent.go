// Package rogue contains agents that break the rules of a tunnel, and large numbers of clients that only cost the
// server time. It is for tests only.
package rogue

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"io"
	"math/big"
	"net"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"muster/internal/adapter/tunnel"
	"muster/internal/fleet"
)

// Identity is a device that has no daemon.
type Identity struct {
	ID          fleet.DeviceID
	certificate tls.Certificate
}

// NewIdentity makes the certificate of a device.
func NewIdentity() (Identity, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Identity{}, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().AddDate(1, 0, 0), DNSNames: []string{"syncthing"}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return Identity{fleet.DeviceIDOf(sha256.Sum256(der)),
		tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}}, err
}

// dial connects as an agent does that does not look who the server is.
func (i Identity) dial(ctx context.Context, server string) (net.Conn, error) {
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, NextProtos: []string{tunnel.ALPN},
		Certificates: []tls.Certificate{i.certificate}, MinVersion: tls.VersionTLS13}}
	return dialer.DialContext(ctx, "tcp", server)
}

const dialPause = 500 * time.Millisecond

// agent speaks HTTP/2 frame by frame.
type agent struct {
	*http2.Framer
	conn      net.Conn
	behaviour Behaviour

	mu      sync.Mutex // guards what is written, and encoder
	text    bytes.Buffer
	encoder *hpack.Encoder
}

// Run connects with a correct hello, and tries until it is connected. It answers each request for the daemon as the
// behaviour says, and returns when the connection has ended.
func (i Identity) Run(ctx context.Context, server string, behaviour Behaviour) error {
	conn, err := i.dial(ctx, server)
	for ; err != nil; conn, err = i.dial(ctx, server) {
		select {
		case <-time.After(dialPause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if _, err := io.ReadFull(conn, make([]byte, len(http2.ClientPreface))); err != nil {
		return err
	}
	a := &agent{Framer: http2.NewFramer(conn, conn), conn: conn, behaviour: behaviour}
	a.encoder = hpack.NewEncoder(&a.text)
	a.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	a.AllowIllegalWrites = true
	if err := a.WriteSettings(); err != nil {
		return err
	}
	return a.serve()
}

func (a *agent) serve() error {
	var behaviours sync.WaitGroup
	defer behaviours.Wait()
	defer a.conn.Close()
	for {
		frame, err := a.ReadFrame()
		if err != nil {
			return err
		}
		switch f := frame.(type) {
		case *http2.PingFrame:
			if !f.IsAck() {
				a.write(func() error { return a.WritePing(true, f.Data) })
			}
		case *http2.SettingsFrame:
			if !f.IsAck() {
				a.write(a.WriteSettingsAck)
			}
		case *http2.MetaHeadersFrame:
			switch path := f.PseudoValue("path"); {
			case path == tunnel.HelloPath:
				a.answer(f.StreamID, `{"name":"rogue","apiPort":8384}`)
			case path == tunnel.StatusPath:
				a.answer(f.StreamID, "")
			case a.behaviour.reads == nothing:
				<-a.behaviour.end
				return nil
			case a.behaviour.reads == slowly:
				return a.drip()
			default:
				behaviours.Go(func() { a.behaviour.do(a, f.StreamID) })
			}
		}
	}
}

// drip reads a byte a second until the connection is closed.
func (a *agent) drip() error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for one := make([]byte, 1); ; {
		select {
		case <-tick.C:
			if _, err := a.conn.Read(one); err != nil {
				return err
			}
		case <-a.behaviour.end:
			return nil
		}
	}
}

// write writes a frame, and tells whether it could.
func (a *agent) write(frame func() error) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return frame() == nil
}

// headers begins an answer, in as many frames as its fields need.
func (a *agent) headers(stream uint32, end bool, fields ...string) bool {
	return a.write(func() error {
		a.text.Reset()
		for i := 0; i+1 < len(fields); i += 2 {
			_ = a.encoder.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
		}
		const most = 16 << 10
		block := a.text.Bytes()
		first := block[:min(len(block), most)]
		err := a.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: first, EndStream: end,
			EndHeaders: len(first) == len(block)})
		for rest := block[len(first):]; len(rest) > 0 && err == nil; {
			piece := rest[:min(len(rest), most)]
			rest = rest[len(piece):]
			err = a.WriteContinuation(stream, len(rest) == 0, piece)
		}
		return err
	})
}

func (a *agent) data(stream uint32, end bool, text string) bool {
	return a.write(func() error { return a.WriteData(stream, end, []byte(text)) })
}

func (a *agent) answer(stream uint32, text string) {
	a.headers(stream, false, ":status", "200")
	a.data(stream, true, text)
}

// endless writes a frame again and again until the connection is closed.
func (a *agent) endless(frame func() error) {
	for a.write(frame) {
	}
}
