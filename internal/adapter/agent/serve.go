package agent

import (
	"encoding/json"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"muster/internal/adapter/tunnel"
	"muster/internal/logkey"
)

const (
	pingEvery    = 30 * time.Second // silence after which a PING is sent, plus or minus a sixth
	pingTimeout  = 10 * time.Second
	maxStreams   = 32
	streamBuffer = 256 << 10 // bytes of one request's body
	connBuffer   = 1 << 20   // bytes of the bodies of all requests
	maxHeader    = 16 << 10
	prefaceTime  = 30 * time.Second
)

// lostPing is what net/http calls a connection whose other end did not answer a PING.
const lostPing = "conn_close_lost_ping"

// serve answers HTTP/2 requests on one connection until the connection ends, and tells how it ended. A frame that
// breaks a rule of HTTP/2 reaches no handler; serve calls broken with the name of the rule.
func serve(conn net.Conn, handler http.Handler, broken func(rule string), log *slog.Logger) error {
	var isLost atomic.Bool
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true) // The connection is already TLS, with the agents' own protocol name.
	server := &http.Server{
		Handler: handler, Protocols: &protocols, ReadHeaderTimeout: prefaceTime, MaxHeaderBytes: maxHeader,
		DisableGeneralOptionsHandler: true, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: maxStreams, MaxReceiveBufferPerStream: streamBuffer,
			MaxReceiveBufferPerConnection: connBuffer, MaxReadFrameSize: 16 << 10,
			SendPingTimeout: pingEvery - pingEvery/6 + rand.N(pingEvery/3), PingTimeout: pingTimeout,
			WriteByteTimeout: pingTimeout, CountError: func(rule string) {
				if rule == lostPing {
					isLost.Store(true)
					return
				}
				broken(rule)
			},
		},
	}
	one := &once{conn: conn, ended: make(chan struct{})}
	_ = server.Serve(one) // Serve returns when the connection ends.
	_ = server.Close()
	if isLost.Load() {
		return errLost
	}
	return errEnded
}

// once is a listener that returns one connection, and ends when that connection ends.
type once struct {
	conn  net.Conn
	given bool
	ended chan struct{}
	end   sync.Once
}

func (o *once) Accept() (net.Conn, error) {
	if o.given {
		<-o.ended
		return nil, net.ErrClosed
	}
	o.given = true
	return endingConn{o.conn, o}, nil
}

func (o *once) Close() error   { return nil }
func (o *once) Addr() net.Addr { return o.conn.LocalAddr() }

// endingConn is a connection that ends its listener when it is closed. It hides that the connection is TLS, because
// http.Server would otherwise set up HTTP/2 by itself.
type endingConn struct {
	net.Conn
	listener *once
}

func (c endingConn) Close() error {
	c.listener.end.Do(func() { close(c.listener.ended) })
	return c.Conn.Close()
}

// handler returns the handler for everything that the manager can request.
func (a *Agent) handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Method + " " + r.RequestURI {
		case http.MethodGet + " " + tunnel.HelloPath:
			a.hello(w)
		case http.MethodPut + " " + tunnel.StatusPath:
			a.status(w, r)
		case http.MethodGet + " " + tunnel.DisksPath:
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(a.disks.message())
		case http.MethodGet + " " + tunnel.DaemonPath:
			a.awaitDaemon(w, r)
		default:
			a.forwarder.ServeHTTP(w, r)
		}
	})
}

func (a *Agent) hello(w http.ResponseWriter) {
	hello := tunnel.Hello{Name: machine(), System: runtime.GOOS + "/" + runtime.GOARCH, Version: a.o.Version,
		Observe: a.o.Observe, List: tunnel.ListVersion, Allow: a.o.Allow}
	if way, err := a.daemon.reach(); err == nil {
		hello.APIPort, hello.Pin = way.home.Port, way.home.Pin
	}
	if !a.record.accepted() {
		hello.Key = a.o.Key.Reveal()
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(hello)
}

// status receives the manager's status of this device. It is shown to people, and has no effect on which requests are
// allowed.
func (a *Agent) status(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, tunnel.MaxMessageBytes))
	var status tunnel.Status
	if err == nil {
		err = json.Unmarshal(text, &status)
	}
	if err != nil {
		a.forwarder.refuse(w, r, refusal{http.StatusBadRequest, tunnel.ErrorForbidden, "the status is not understood"})
		return
	}
	w.WriteHeader(http.StatusNoContent)
	status = tunnel.Status{State: tunnel.State(shortened(string(status.State))), Message: shortened(status.Message),
		Hint: shortened(status.Hint)}
	if !a.record.told(status) || !a.told.room() {
		return
	}
	level := slog.LevelInfo
	if status.State == tunnel.Refused || status.State == tunnel.Cloned {
		level = slog.LevelError
	}
	a.log.Log(r.Context(), level, "the server tells how it stands with this device", logkey.Step, string(status.State),
		logkey.Reason, status.Message, logkey.Next, status.Hint)
}

// machine returns the host name without its domain.
func machine() string {
	name, _ := os.Hostname()
	name, _, _ = strings.Cut(name, ".")
	return name
}
