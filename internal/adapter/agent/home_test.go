package agent

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"muster/internal/fleet"
)

// emptyUser has no Syncthing at any of the usual places.
func emptyUser(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, value := range map[string]string{"HOME": dir, "STHOMEDIR": "", "STCONFDIR": "", "XDG_CONFIG_HOME": "",
		"XDG_STATE_HOME": ""} {
		t.Setenv(name, value)
	}
	return dir
}

// Where there was no Syncthing at all the error was about a home without a name.
func TestWithoutAnySyncthingTheErrorNamesThePlaces(t *testing.T) {
	dir := emptyUser(t)
	home := DefaultHome()
	if home != filepath.Join(dir, ".config/syncthing") {
		t.Errorf("the home is %q", home)
	}
	_, err := ReadHome(home)
	if err == nil || !strings.Contains(err.Error(), filepath.Join(dir, ".config/syncthing")) ||
		!strings.Contains(err.Error(), filepath.Join(dir, ".local/state/syncthing")) {
		t.Errorf("got %v, want the places that were searched", err)
	}
	if _, err := ReadHome(filepath.Join(dir, "other")); err == nil || strings.Contains(err.Error(), ".local/state") {
		t.Errorf("of another folder: got %v", err)
	}
}

func TestTheOtherHomesAreNamed(t *testing.T) {
	dir := emptyUser(t)
	both := []string{filepath.Join(dir, ".config/syncthing"), filepath.Join(dir, ".local/state/syncthing")}
	for _, home := range both {
		if err := os.MkdirAll(home, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(home, configFile), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if others := OtherHomes(DefaultHome()); len(others) != 1 || others[0] != both[1] {
		t.Errorf("got %v", others)
	}
}

// A config.xml that was cut off gave an error of the XML reader, and nothing to do.
func TestABrokenConfigurationIsExplained(t *testing.T) {
	t.Parallel()
	d := newFakeDaemon(t, nil)
	if err := os.WriteFile(filepath.Join(d.home, configFile), []byte("<configuration><gui"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := ReadHome(d.home)
	var told *fleet.Error
	if !errors.As(err, &told) || told.Code != fleet.CodeInvalid || !strings.Contains(told.Message, d.home) ||
		told.Hint == "" {
		t.Errorf("got %v", err)
	}
}

// A server that has no room sends an alert, or ends the connection: the agent told that of TLS, and nothing to do.
func TestAServerThatEndsTheHandshakeIsExplained(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for n := 0; ; n++ {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			if n == 0 { // as crypto/tls does where a client is not let in
				_, _ = conn.Read(make([]byte, 4<<10))
				_, _ = conn.Write([]byte{21, 3, 3, 0, 2, 2, 80})
			}
			_ = conn.Close()
		}
	}()
	a, err := New(Options{Server: listener.Addr().String(), Home: newFakeDaemon(t, nil).home, Proxy: noProxy})
	if err != nil {
		t.Fatal(err)
	}
	for _, how := range []string{"an alert", "no farewell"} {
		_, err = a.connect(t.Context())
		var told *fleet.Error
		if !errors.As(err, &told) || told.Code != fleet.CodeUnavailable || told.Hint == "" {
			t.Errorf("%s: got %v", how, err)
		}
	}
}

// A request that the manager gave up was logged as one that the daemon did not answer in time.
func TestARequestThatTheManagerGaveUpIsNoTroubleOfTheDaemon(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{})
	d := newFakeDaemon(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(asked)
		<-r.Context().Done()
	}))
	var log bytes.Buffer
	a, err := New(Options{Server: "muster.example", Home: d.home, Proxy: noProxy,
		Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	ctx, giveUp := context.WithCancel(t.Context())
	go func() { <-asked; giveUp() }()
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/rest/system/status", nil)
	func() {
		defer func() { _ = recover() }() // the stream is reset
		a.forwarder.ServeHTTP(httptest.NewRecorder(), r)
	}()
	if log.Len() > 0 || a.Report().Daemon != "" {
		t.Errorf("it is trouble of the daemon %q, and the log has:\n%s", a.Report().Daemon, log.String())
	}
}
