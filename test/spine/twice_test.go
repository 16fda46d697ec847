package spine_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"muster/api"
	"muster/client"
	"muster/internal/app"
	"muster/internal/core/stconfig"
	"muster/internal/stsim"
	"muster/test/simulated"
	"muster/test/wait"
)

// inProcess is a server in the process of the test, with one simulated daemon that only it manages.
type inProcess struct {
	client *client.Client
	daemon *stsim.Daemon
	stop   func()
}

func startInProcess(t *testing.T, database string) inProcess {
	t.Helper()
	farm := simulated.Start(t, stsim.Options{})
	home := t.TempDir()
	a, err := app.New(t.Context(), app.Options{
		Home: home, Listen: "127.0.0.1:0", Database: database, DiscoveryServers: []string{"none"},
		Worker: []string{os.Args[0], "worker"}, Log: slog.New(slog.DiscardHandler), Out: io.Discard,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	stopped := false
	stop := func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			t.Errorf("stop: %v", err)
		}
	}
	t.Cleanup(stop)
	token, err := os.ReadFile(filepath.Join(home, "admin-token"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(a.URL(), strings.TrimSpace(string(token)))
	if err != nil {
		t.Fatal(err)
	}
	s := inProcess{c, farm.Daemon(0), stop}
	id, key, address, port := string(s.daemon.ID()), s.daemon.APIKey(), s.daemon.Host(), int64(s.daemon.Port())
	if _, _, err := c.PutDevice(t.Context(), id, api.PutDevice{APIKey: &key, APIAddress: &address,
		APIPort: &port}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.TagDevice(t.Context(), id, "all"); err != nil {
		t.Fatal(err)
	}
	return s
}

// sends has the server bring its daemon a value.
func (s inProcess) sends(t *testing.T, value int) {
	t.Helper()
	op, key, text := "set", "options.maxSendKbps", fmt.Sprint(value)
	made, err := s.client.CreateTemplate(t.Context(), api.PutTemplate{Op: &op, Key: &key, Template: &text})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.client.TagTemplate(t.Context(), made.ID, "all"); err != nil {
		t.Fatal(err)
	}
	at, err := stconfig.ParseKey(key)
	if err != nil {
		t.Fatal(err)
	}
	wait.Until(t, func() string {
		if got := string(stconfig.Lookup(s.daemon.Config(), at).JSON()); got != text {
			return "the daemon has " + got + ", not " + text
		}
		return ""
	})
}

// Nothing of a server is kept for the process as a whole: two of them run beside each other, each over its own
// database and with its own daemon, and one goes on when the other ends.
func TestTwoServersRunInOneProcess(t *testing.T) {
	first := startInProcess(t, "")
	second := startInProcess(t, postgres(t).Database(t))
	first.sends(t, 11)
	second.sends(t, 22)
	for i, s := range []inProcess{first, second} {
		templates, err := s.client.Templates(t.Context(), client.List{})
		if err != nil || len(templates) != 1 {
			t.Errorf("server %d has %d templates, %v", i+1, len(templates), err)
		}
	}
	first.stop()
	second.sends(t, 33)
}
