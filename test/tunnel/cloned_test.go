package tunnel_test

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"muster/api"
	"muster/internal/adapter/agent"
	"muster/internal/adapter/tunnel"
	"muster/internal/fleet"
	"muster/test/server"
	"muster/test/wait"
)

// copyHome is the home of the daemon on another machine, as a disk image has it.
func (w *world) copyHome() string {
	w.t.Helper()
	home := w.t.TempDir()
	for _, name := range []string{"cert.pem", "key.pem", "https-cert.pem", "https-key.pem", "config.xml"} {
		text, err := os.ReadFile(filepath.Join(w.daemon.Home, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(home, name), text, 0o600)
		}
		if err != nil {
			w.t.Fatal(err)
		}
	}
	return home
}

// trusting is a client that trusts the server.
func (w *world) trusting() *http.Client {
	w.t.Helper()
	text, err := os.ReadFile(w.cert)
	if err != nil {
		w.t.Fatal(err)
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(text)
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted},
		DisableKeepAlives: true}}
}

// metrics has those of the server whose names begin so.
func (w *world) metrics(names string) (all []string) {
	w.t.Helper()
	request, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, w.URL+"/metrics", nil)
	if err != nil {
		w.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+w.Token)
	response, err := w.trusting().Do(request)
	if err != nil {
		w.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, names) {
			all = append(all, strings.TrimSpace(line))
		}
	}
	return all
}

// The first agent goes on being managed, the second one is told, and people see both addresses.
func TestACopiedHomeIsShownWithBothAddresses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Register(w.daemon.ID, w.daemon.APIKey, "", w.daemon.Port, "office")
	w.startAgent(false)
	w.waitFoundBy(fleet.FoundByAgent)
	var log server.Log
	stop := server.StartAgent(t, agent.Options{Server: w.URL, Home: w.copyHome(), CA: w.cert, Version: "copy",
		Log: slog.New(slog.NewTextHandler(&log, nil))})
	state := w.WaitState(w.daemon.ID, "cloned", func(s api.DeviceState) bool {
		return s.Connection == string(fleet.Cloned)
	})
	if !strings.HasPrefix(state.Next, "Perhaps two agents run on one machine") {
		t.Errorf("from one address a person reads first %q", state.Next)
	}
	stop()
	w.WaitConnection(w.daemon.ID, fleet.Online) // It took ten minutes.
	if state.FoundBy != fleet.FoundByAgent || !strings.Contains(state.Reason, "the one at "+state.Address+",") ||
		strings.Count(state.Reason, "127.0.0.1:") != 2 || !strings.Contains(state.Next, "another device ID") {
		t.Errorf("got %+v", state)
	}
	if !strings.Contains(log.String(), "cloned") {
		t.Errorf("the agent of the copy is not told: %s", log.String())
	}
	w.Template("set", "options.maxSendKbps", "1234", "office")
	w.waitOption("maxSendKbps", 1234)
	wait.Until(t, func() string { // the connection of the copy may end after its agent did
		return lacks(strings.Join(w.metrics("muster_tunnel"), "\n"))
	})
}

// The agent that was kept out comes back by itself once the other one has ended.
func TestTheSecondOfTwoAgentsTakesOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Register(w.daemon.ID, w.daemon.APIKey, "", w.daemon.Port, "office")
	w.startAgent(false)
	w.waitFoundBy(fleet.FoundByAgent)
	var log server.Log
	server.StartAgent(t, agent.Options{Server: w.URL, Home: w.copyHome(), CA: w.cert, Version: "copy",
		Log: slog.New(slog.NewTextHandler(&log, nil))})
	wait.For(t, "the second agent is told of the first", func() bool {
		return strings.Contains(log.String(), "step="+string(tunnel.Cloned))
	})
	w.stop()
	wait.For(t, "the second agent is told that it is accepted", func() bool {
		return strings.Contains(log.String(), "step=accepted")
	})
	if !strings.Contains(log.String(), "step="+string(tunnel.Freed)) {
		t.Errorf("it came back after a long pause: %s", log.String())
	}
	w.WaitConnection(w.daemon.ID, fleet.Online)
}

// lacks is what metrics do not tell of a tunnel and of one that a copy of its home wanted, "" where they tell it.
func lacks(metrics string) string {
	for _, want := range []string{`muster_tunnels{state="accepted"} 1`, `muster_tunnels{state="waiting"} 0`,
		`muster_tunnels_ended_total{reason="cloned"} `, `muster_tunnel_bytes_total{direction="received"} `,
		`muster_tunnel_ping_seconds_count `} {
		if !strings.Contains(metrics, want) {
			return "the metrics have no " + want + ":\n" + metrics
		}
	}
	for _, never := range []string{`muster_tunnels_ended_total{reason="cloned"} 0`,
		`muster_tunnel_bytes_total{direction="received"} 0`} {
		if strings.Contains(metrics, never) {
			return "the metrics have " + never
		}
	}
	return ""
}
