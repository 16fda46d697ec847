package tunnel

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"muster/internal/fleet"
)

// lossyConn is one end of a connection whose network is gone: what is written is lost, and nobody is told.
type lossyConn struct {
	net.Conn
	gone *atomic.Bool
}

func (c lossyConn) Write(p []byte) (int, error) {
	if c.gone.Load() {
		return len(p), nil
	}
	return c.Conn.Write(p)
}

// A laptop that changed its network left a connection that looked alive.
func TestTheManagerFindsADeadConnection(t *testing.T) {
	t.Parallel()
	own, device := certificateOf(t), certificateOf(t)
	synctest.Test(t, func(t *testing.T) {
		var gone atomic.Bool
		here, there := net.Pipe()
		hub := New(Options{Known: func(fleet.DeviceID) bool { return true },
			Admit: func(context.Context, Request) (Status, error) { return Status{State: Accepted}, nil }})
		agent := tls.Client(lossyConn{there, &gone}, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{ALPN},
			Certificates: []tls.Certificate{device}, MinVersion: tls.VersionTLS13})
		manager := tls.Server(lossyConn{here, &gone}, &tls.Config{Certificates: []tls.Certificate{own},
			NextProtos: []string{ALPN}, ClientAuth: tls.RequireAnyClientCert, SessionTicketsDisabled: true})
		mux := http.NewServeMux()
		mux.HandleFunc(HelloPath, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") })
		mux.HandleFunc(StatusPath, func(http.ResponseWriter, *http.Request) {})
		go serveHTTP2(agent, mux, make(chan struct{}))
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			if err := manager.HandshakeContext(t.Context()); err != nil {
				t.Error(err)
				return
			}
			hub.Serve(manager, func() {})
		}()
		time.Sleep(5 * time.Minute) // of the bubble's clock: while the network is there the connection stays
		if _, err := hub.Connected(idOf(device)); err != nil {
			t.Fatalf("a healthy connection: %v", err)
		}
		gone.Store(true)
		began := time.Now()
		<-ended
		if took, most := time.Since(began), pingEvery+pingEvery/6+pingTimeout; took > most {
			t.Errorf("a dead connection was found after %v, want at most %v", took, most)
		}
		if n := hub.Counts().Ended["silent"]; n != 1 {
			t.Errorf("%d connections ended because nothing was heard, want 1: %v", n, hub.Counts().Ended)
		}
		_ = there.Close()
	})
}
