package agent

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"muster/internal/adapter/tunnel"
	"muster/internal/fleet"
)

// closedPort is an address at which nothing listens.
func closedPort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// silent takes connections and never answers.
func silent(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { conn.Close() })
		}
	}()
	return listener.Addr().String()
}

// The agent said "context deadline exceeded", "first record does not look like a TLS handshake", or offered to trust
// the certificate of a proxy: nobody knew what to do.
func TestEveryWayNotToReachTheServerSaysWhatToDo(t *testing.T) {
	t.Parallel()
	d := newFakeDaemon(t, nil)
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	withTLS := func(config *tls.Config) string {
		ending := httptest.NewUnstartedServer(http.NotFoundHandler())
		ending.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
		ending.TLS = config
		ending.StartTLS()
		t.Cleanup(ending.Close)
		return ending.Listener.Addr().String()
	}
	noALPN := newFakeManager(t, tunnel.ALPN)
	noALPN.listener.Close()
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{noALPN.own}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				_ = conn.(*tls.Conn).Handshake()
				t.Cleanup(func() { conn.Close() })
			}()
		}
	}()
	oldTLS := &tls.Config{MaxVersion: tls.VersionTLS12}
	for name, test := range map[string]struct {
		server, proxy, says, hint string
	}{
		"nothing listens":     {closedPort(t), "", "the server cannot be reached", "--listen"},
		"plain HTTP":          {plain.Listener.Addr().String(), "", "speaks plain HTTP", "--tls-cert"},
		"TLS ends at a proxy": {withTLS(nil), "", "does not speak with agents", "must pass TLS through"},
		"no protocol at all":  {listener.Addr().String(), "", "does not speak with agents", "must pass TLS through"},
		"an older TLS":        {withTLS(oldTLS), "", "does not speak with agents", "must pass TLS through"},
		"no answer":           {silent(t), "", "did not answer within", "firewall"},
		"a closed proxy":      {"muster.example", closedPort(t), "the proxy", "HTTPS_PROXY"},
		"a silent proxy":      {"muster.example", silent(t), "the proxy", "HTTPS_PROXY"},
		"no proxy at all":     {"muster.example", listener.Addr().String(), "the proxy", "HTTPS_PROXY"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, err := New(Options{Server: test.server, Home: d.home, Proxy: func(*http.Request) (*url.URL, error) {
				if test.proxy == "" {
					return nil, nil
				}
				return &url.URL{Scheme: "http", Host: test.proxy}, nil
			}})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			_, err = a.connect(ctx)
			var told *fleet.Error
			if !errors.As(err, &told) || !strings.Contains(told.Message, test.says) || !strings.Contains(told.Hint, test.hint) {
				t.Fatalf("got %v, want %q and a hint with %q", err, test.says, test.hint)
			}
			if strings.Contains(told.Hint, "--fingerprint") {
				t.Errorf("the hint has a stranger trusted: %s", told.Hint)
			}
		})
	}
}

// "Ask an administrator to accept it" stood below "the server cannot be reached", for days.
func TestAHintEndsWithItsCause(t *testing.T) {
	r := newRecord(Report{})
	r.connected()
	status := tunnel.Status{State: tunnel.Refused, Message: "an administrator rejected this device", Hint: "Ask them."}
	r.told(status)
	if hint := r.disconnected(errEnded, time.Time{}); hint != status.Hint || r.report().Message != status.Message {
		t.Errorf("the server's own reason is lost: %q", hint)
	}
	if hint := r.disconnected(errors.New("no route"), time.Time{}); hint != "" || r.report().Message != "" {
		t.Errorf("got %q and %q for another cause", hint, r.report().Message)
	}
}

// The second of two agents with one identity stayed away for up to a minute after the first one had ended.
func TestAnAgentReturnsAtOnceAfterTheOtherOneEnded(t *testing.T) {
	for _, test := range []struct {
		state  tunnel.State
		lasted time.Duration
		want   time.Duration
	}{
		{tunnel.Freed, 0, firstPause},
		{tunnel.Cloned, goodFor + 1, lastPause},
		{tunnel.Refused, goodFor + 1, lastPause},
		{tunnel.Accepted, goodFor + 1, firstPause},
		{tunnel.Accepted, goodFor, 8 * time.Second},
	} {
		if got := pauseAfter(test.state, test.lasted, 8*time.Second); got != test.want {
			t.Errorf("%+v: got %v", test, got)
		}
	}
}

func TestAPrintedCommandIsQuoted(t *testing.T) {
	o := Options{Home: "/home/ann's files", Allow: []string{"revert", "override"}}
	want := `muster agent --server https://m:2525 --fingerprint sha256:ab --home '/home/ann'\''s files' --allow revert,override`
	if got := o.command("https://m:2525", "sha256:ab"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
