//muster:needs daemons
package identity_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"

	"muster/api"
	"muster/internal/fleet"
	"muster/test/daemon"
	"muster/test/server"
	"muster/test/wait"
)

func TestMain(m *testing.M) {
	server.Main()
	m.Run()
}

// startServer starts a Muster that finds devices by what is said on the local network and by other daemons: its
// discovery server knows no device.
func startServer(t *testing.T) *server.Server {
	t.Helper()
	knowsNone := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(knowsNone.Close)
	id := fleet.DeviceIDOf(sha256.Sum256(knowsNone.Certificate().Raw))
	return server.Start(t, server.Options{DiscoveryServers: []string{knowsNone.URL + "/?id=" + string(id)},
		DiscoveryAllowLocal: true})
}

// pinOf is the pin that Muster keeps.
func pinOf(t *testing.T, s *server.Server, id fleet.DeviceID) string {
	t.Helper()
	settings, err := s.Client.DeviceSettings(t.Context(), string(id))
	if err != nil {
		t.Fatal(err)
	}
	return settings.Pin
}

// waitPin waits until the pin of the daemon's own certificate is kept.
func waitPin(t *testing.T, s *server.Server, d *daemon.Daemon) {
	t.Helper()
	wait.Until(t, func() string {
		if got := pinOf(t, s, d.ID); got != d.Pin() {
			return fmt.Sprintf("the pin is %q, want %q", got, d.Pin())
		}
		return ""
	})
}

// wantRefused waits for a state that names the attacker's address and certificate, and checks that they got no key.
func wantRefused(t *testing.T, s *server.Server, d *daemon.Daemon, a *attacker, connection string) {
	t.Helper()
	at := net.JoinHostPort(a.Host, fmt.Sprint(a.Port))
	s.WaitState(d.ID, connection+" at the attacker's address", func(state api.DeviceState) bool {
		a.gotNoKey(t)
		if state.Connection == string(fleet.Online) && state.Address == at {
			t.Fatalf("the attacker passed for the device: %+v", state)
		}
		if t.Failed() {
			t.FailNow()
		}
		return state.Connection == connection && state.Address == at &&
			strings.Contains(state.Reason, at) && strings.Contains(state.Reason, fleet.ShortPin(a.Pin))
	})
	a.gotNoKey(t)
}

// One UDP packet, a relay to the genuine sync port and a certificate of one's own: that gave the attacker the key of a
// pinned device, and replaced the pin.
func TestAForgedLocalAnnouncementGetsNoKeyOfAPinnedDevice(t *testing.T) {
	t.Parallel()
	s, d := startServer(t), daemon.Start(t, daemon.Options{TLS: true})
	s.Register(d.ID, d.APIKey, "127.0.0.1", d.Port)
	s.WaitConnection(d.ID, fleet.Online)
	waitPin(t, s, d)
	a := attack(t, d)
	announce(t, d, a.Sync)
	s.Register(d.ID, d.APIKey, "", d.Port) // from now on it is discovered
	wantRefused(t, s, d, a, "pinMismatch")
	if got := pinOf(t, s, d.ID); got != d.Pin() {
		t.Errorf("the pin was replaced: %s", got)
	}
	announce(t, d, d.SyncAddress()) // the genuine one is found beside it
	s.WaitConnection(d.ID, fleet.Online)
	a.gotNoKey(t)
}

func TestAForgedLocalAnnouncementGetsNoKeyOfANewDevice(t *testing.T) {
	t.Parallel()
	s, d := startServer(t), daemon.Start(t, daemon.Options{TLS: true})
	a := attack(t, d)
	announce(t, d, a.Sync)
	s.Register(d.ID, d.APIKey, "", d.Port)
	wantRefused(t, s, d, a, "unconfirmed")
	if got := pinOf(t, s, d.ID); got != "" {
		t.Errorf("%s was pinned", got)
	}
}

// liar is a managed daemon that says where others are: where the attacker wants them to be.
func liar(t *testing.T, d *daemon.Daemon, says map[string]any) (port int) {
	t.Helper()
	genuine := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: d.HostPort()})
	front := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if lie, lies := says[r.URL.Path]; lies {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(lie)
			return
		}
		genuine.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		front.CloseClientConnections()
		front.Close()
	})
	return front.Listener.Addr().(*net.TCPAddr).Port
}

func TestALyingManagedDaemonGetsNoKeyOfAnother(t *testing.T) {
	t.Parallel()
	d, bad := daemon.Start(t, daemon.Options{TLS: true}), daemon.Start(t, daemon.Options{})
	a := attack(t, d)
	relay, _ := url.Parse(a.Sync)
	for path, lie := range map[string]any{
		"/rest/system/discovery": map[string]any{string(d.ID): map[string]any{"addresses": []string{a.Sync}}},
		"/rest/system/connections": map[string]any{"connections": map[string]any{
			string(d.ID): map[string]any{"address": relay.Host, "connected": true, "type": "tcp-client"}}},
	} {
		t.Run(path, func(t *testing.T) {
			s := startServer(t)
			s.Register(bad.ID, bad.APIKey, "127.0.0.1", liar(t, bad, map[string]any{path: lie}))
			s.WaitConnection(bad.ID, fleet.Online)
			s.Register(d.ID, d.APIKey, "", d.Port)
			wantRefused(t, s, d, a, "unconfirmed")
			s.Register(d.ID, d.APIKey, "127.0.0.1", d.Port)
			s.WaitConnection(d.ID, fleet.Online)
			waitPin(t, s, d)
			s.Register(d.ID, d.APIKey, "", d.Port)
			wantRefused(t, s, d, a, "pinMismatch")
			if got := pinOf(t, s, d.ID); got != d.Pin() {
				t.Errorf("the pin was replaced: %s", got)
			}
		})
	}
}

// onPath is an address by which a daemon is reached, until somebody on the way takes it over.
type onPath struct {
	host string
	port int

	mu  sync.Mutex // guards what follows
	ctx context.Context
	cut context.CancelFunc
	to  string
}

func newPath(t *testing.T, d *daemon.Daemon) *onPath {
	t.Helper()
	l := listen(t, net.JoinHostPort(otherHost(), "0"))
	at := l.Addr().(*net.TCPAddr)
	p := &onPath{host: at.IP.String(), port: at.Port}
	p.lead(t, d.HostPort())
	forward(t, l, p.target)
	forward(t, listen(t, net.JoinHostPort(p.host, "22000")), func() (context.Context, string) {
		return t.Context(),
			syncOf(d)
	})
	return p
}

func (p *onPath) target() (context.Context, string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ctx, p.to
}

// lead cuts the connections that there are; those that follow lead elsewhere.
func (p *onPath) lead(t *testing.T, to string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cut != nil {
		p.cut()
	}
	p.to = to
	p.ctx, p.cut = context.WithCancel(t.Context())
}

// Whoever sits on the way to a pinned device hands its sync port through and answers on the API's port.
func TestAnOnPathProxyInFrontOfAPinnedDeviceGetsNoKey(t *testing.T) {
	t.Parallel()
	s, d := startServer(t), daemon.Start(t, daemon.Options{TLS: true})
	path, a := newPath(t, d), attack(t, d)
	s.Register(d.ID, d.APIKey, path.host, path.port)
	s.WaitConnection(d.ID, fleet.Online)
	waitPin(t, s, d)
	path.lead(t, net.JoinHostPort(a.Host, fmt.Sprint(a.Port)))
	state := s.WaitState(d.ID, "pinMismatch", func(state api.DeviceState) bool {
		a.gotNoKey(t)
		if t.Failed() {
			t.FailNow()
		}
		return state.Connection == string(fleet.PinMismatch)
	})
	if !strings.Contains(state.Reason, fleet.ShortPin(a.Pin)) ||
		!strings.Contains(state.Reason, fleet.ShortPin(d.Pin())) {
		t.Errorf("the reason names not both certificates: %s", state.Reason)
	}
	if got := pinOf(t, s, d.ID); got != d.Pin() {
		t.Errorf("the pin was replaced: %s", got)
	}
	path.lead(t, d.HostPort())
	s.WaitConnection(d.ID, fleet.Online)
	a.gotNoKey(t)
}

// Another address in the record is no reason to believe another certificate.
func TestAnotherAddressInTheRecordKeepsThePin(t *testing.T) {
	t.Parallel()
	s, d := startServer(t), daemon.Start(t, daemon.Options{TLS: true})
	s.Register(d.ID, d.APIKey, "127.0.0.1", d.Port)
	s.WaitConnection(d.ID, fleet.Online)
	waitPin(t, s, d)
	a := attack(t, d)
	s.Register(d.ID, d.APIKey, a.Host, a.Port)
	wantRefused(t, s, d, a, "pinMismatch")
	if got := pinOf(t, s, d.ID); got != d.Pin() {
		t.Errorf("the pin was replaced: %s", got)
	}
}
