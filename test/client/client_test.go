// Package client tests the REST client for daemons against real daemons.
//
//muster:needs daemons
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"muster/internal/adapter/syncthing"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
	"muster/test/daemon"
	"muster/test/wait"
)

func target(d *daemon.Daemon) syncthing.Target {
	return syncthing.Target{Device: d.ID, APIKey: fleet.NewSecret(d.APIKey), Address: d.HostPort(),
		Introduced:    fleet.ByPerson,
		SyncAddresses: []string{d.SyncAddress()}}
}

func open(t *testing.T, target syncthing.Target) *syncthing.Client {
	t.Helper()
	c := syncthing.New(target, syncthing.Options{})
	c.Keep()
	t.Cleanup(c.Close)
	return c
}

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func wantCode(t *testing.T, err error, code fleet.Code) *fleet.Error {
	t.Helper()
	var e *fleet.Error
	if !errors.As(err, &e) || e.Code != code {
		t.Fatalf("got %v (%s), want %s", err, fleet.CodeOf(err), code)
	}
	if e.Message == "" {
		t.Fatalf("%s without a message", code)
	}
	return e
}

func TestReadsWhatADaemonSays(t *testing.T) {
	for name, options := range map[string]daemon.Options{"HTTPS only": {TLS: true}, "HTTP and HTTPS": {}} {
		t.Run(name, func(t *testing.T) {
			d := daemon.Start(t, options)
			folder := "Fotos / 2026 %?#+ü"
			d.AddFolder(folder)
			c, ctx := open(t, target(d)), t.Context()

			status := must(c.Status(ctx))(t)
			var said struct {
				Tilde, PathSeparator, StartTime string
				Sys, Uptime                     int64
			}
			d.GetJSON("/rest/system/status", &said)
			if status.MyID != d.ID || status.Tilde != said.Tilde || status.PathSeparator != said.PathSeparator ||
				status.StartTime != said.StartTime || status.GoRoutines < 10 || status.Alloc < 1<<20 || status.DiscoveryEnabled {
				t.Errorf("status %+v, the daemon says %+v", status, said)
			}
			if shown, proven := c.Shown(); !proven || shown.Fingerprint != d.Pin() {
				t.Errorf("learnt pin %q, want %q", shown, d.Pin())
			}

			version := must(c.Version(ctx))(t)
			var v struct{ Version, LongVersion, OS, Arch, Codename string }
			d.GetJSON("/rest/system/version", &v)
			if version.Version != v.Version || version.LongVersion != v.LongVersion || version.OS != v.OS ||
				version.Arch != v.Arch || version.Codename != v.Codename {
				t.Errorf("version %+v, the daemon says %+v", version, v)
			}

			if got, want := must(c.Config(ctx))(t), d.Get("/rest/config"); !bytes.Equal(got, want) {
				t.Errorf("the configuration is not byte for byte the daemon's: %d and %d bytes", len(got), len(want))
			}
			if got := must(c.SystemConfig(ctx))(t); !json.Valid(got) {
				t.Errorf("/rest/system/config: %.100s", got)
			}

			summary := must(c.Summary(ctx, folder))(t)
			if summary.Folder != folder || summary.State == "" {
				t.Errorf("summary %+v", summary)
			}
			_, err := c.Summary(ctx, "no such folder")
			wantCode(t, err, fleet.CodeNotFound)

			if got := must(c.Ignores(ctx, folder))(t); len(got) != 0 {
				t.Errorf("ignores of a new folder: %q", got)
			}
			lines := []string{"*.tmp", "// <b>", "(?i)ü"}
			if err := c.SetIgnores(ctx, folder, lines); err != nil {
				t.Fatal(err)
			}
			if got := must(c.Ignores(ctx, folder))(t); !slices.Equal(got, lines) {
				t.Errorf("ignores %q, want %q", got, lines)
			}
			if _, err = c.Ignores(ctx, "no such folder"); err == nil {
				t.Error("ignores of an unknown folder were read as if there were none")
			}
		})
	}
}

func TestWritesAndSeesTheEventWhileAPollHangs(t *testing.T) {
	d := daemon.Start(t, daemon.Options{TLS: true})
	c, ctx := open(t, target(d)), t.Context()
	primed := must(c.Events(ctx, 0, 1, 0))(t)
	var since int64
	for _, e := range primed {
		since = e.ID
	}
	type answer struct {
		events []fleet.DaemonEvent
		err    error
	}
	polled := make(chan answer, 1)
	go func() {
		events, err := c.Events(ctx, since, 0, 50*time.Second)
		polled <- answer{events, err}
	}()
	if err := c.Write(ctx, "PATCH", "/rest/config/options", []byte(`{"maxSendKbps":123}`)); err != nil {
		t.Fatal(err)
	}
	got := <-polled
	if got.err != nil || len(got.events) == 0 {
		t.Fatalf("the poll gave %v, %v", got.events, got.err)
	}
	if e := got.events[0]; e.ID != since+1 || e.Type != "ConfigSaved" || e.Data != nil {
		t.Fatalf("first event %d %s with %d bytes of data, want ConfigSaved %d without", e.ID, e.Type, len(e.Data), since+1)
	}
	var options struct{ MaxSendKbps int }
	d.GetJSON("/rest/config/options", &options)
	if options.MaxSendKbps != 123 {
		t.Fatalf("maxSendKbps is %d", options.MaxSendKbps)
	}
	if got.events[0].Config != stconfig.SumOfText(must(c.Config(ctx))(t)) {
		t.Error("the configuration in the event has another sum than the one that is read")
	}

	e := wantCode(t, c.Write(ctx, "PATCH", "/rest/config/options", []byte(`{"maxSendKbps":"many"}`)), fleet.CodeRejected)
	if !bytes.Contains([]byte(e.Message), []byte("json")) {
		t.Errorf("the daemon's reason is not in %q", e.Message)
	}
	wantCode(t, c.Write(ctx, "PUT", "/rest/config/devices", []byte(`[{"deviceID":"nobody"}]`)), fleet.CodeRejected)
}

func TestAWriteToTheGUIRestartsTheAPIAndReadsGoOn(t *testing.T) {
	d := daemon.Start(t, daemon.Options{})
	c, ctx := open(t, target(d)), t.Context()
	must(c.Status(ctx))(t)
	// The daemon answers and restarts its API at the same time. On a busy machine the answer is lost.
	if err := c.Write(ctx, "PATCH", "/rest/config/gui", []byte(`{"theme":"dark"}`)); err != nil {
		wantCode(t, err, fleet.CodeUnavailable)
	}
	wait.For(t, "the API to come back with the change", func() bool {
		var config struct{ GUI struct{ Theme string } }
		text, err := c.Config(ctx)
		return err == nil && json.Unmarshal(text, &config) == nil && config.GUI.Theme == "dark"
	})
}

func TestASessionReadsWritesAndReadsBackOnOneConnection(t *testing.T) {
	d := daemon.Start(t, daemon.Options{TLS: true})
	c, ctx := open(t, target(d)), t.Context()
	s := must(c.Session(ctx))(t)
	before := must(s.Config(ctx))(t)
	if err := s.Write(ctx, "PATCH", "/rest/config/options", []byte(`{"maxRecvKbps":9}`)); err != nil {
		t.Fatal(err)
	}
	if after := must(s.Config(ctx))(t); bytes.Equal(before, after) {
		t.Fatal("the change is not in what was read back")
	}
	waiting, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := c.Session(waiting); !errors.Is(err, context.Canceled) {
		t.Fatalf("a second session beside the first: %v", err)
	}
	s.Close()
	must(c.Session(ctx))(t).Close()
}

func TestKeysAndIdentities(t *testing.T) {
	d := daemon.Start(t, daemon.Options{TLS: true})
	guarded := daemon.Start(t, daemon.Options{GUIUser: "anna", GUIPassword: "secret"})
	ctx := t.Context()

	t.Run("wrong key", func(t *testing.T) {
		for _, d := range []*daemon.Daemon{d, guarded} {
			wrong := target(d)
			wrong.APIKey = fleet.NewSecret("not-the-key")
			_, err := open(t, wrong).Status(ctx)
			wantCode(t, err, fleet.CodeKeyRefused)
		}
	})
	t.Run("right key with a GUI user", func(t *testing.T) {
		must(open(t, target(guarded)).Status(ctx))(t)
	})
	t.Run("another daemon at the address", func(t *testing.T) {
		other := target(d)
		other.Device = guarded.ID
		_, err := open(t, other).Config(ctx)
		wantCode(t, err, fleet.CodeWrongDevice)
	})
	t.Run("another daemon at the address, which says nothing without a key", func(t *testing.T) {
		other := target(guarded)
		other.Device = d.ID
		_, err := open(t, other).Config(ctx)
		wantCode(t, err, fleet.CodeWrongDevice)
	})
	t.Run("the pinned certificate", func(t *testing.T) {
		pinned := target(d)
		pinned.Pin, pinned.Introduced, pinned.SyncAddresses = d.Pin(), fleet.ByAnybody, nil
		must(open(t, pinned).Status(ctx))(t)
	})
	t.Run("another certificate than the pinned one", func(t *testing.T) {
		pinned := target(d)
		pinned.Pin, pinned.SyncAddresses = guarded.Pin(), []string{guarded.SyncAddress()}
		_, err := open(t, pinned).Status(ctx)
		wantCode(t, err, fleet.CodeWrongPin)
	})
	t.Run("a discovered address that the sync port proves", func(t *testing.T) {
		found := target(d)
		found.Introduced = fleet.ByServer
		c := open(t, found)
		must(c.Status(ctx))(t)
		if shown, proven := c.Shown(); !proven || shown.Fingerprint != d.Pin() {
			t.Fatalf("pin %q, want %q", shown, d.Pin())
		}
	})
	t.Run("a discovered address whose sync port is another device's", func(t *testing.T) {
		found := target(d)
		found.Introduced, found.SyncAddresses = fleet.ByServer, []string{guarded.SyncAddress()}
		_, err := open(t, found).Status(ctx)
		wantCode(t, err, fleet.CodeWrongDevice)
	})
	t.Run("a discovered address that nothing proves", func(t *testing.T) {
		found := target(d)
		found.Introduced, found.SyncAddresses = fleet.ByServer, []string{"quic://127.0.0.1:1", "relay://127.0.0.1:2"}
		_, err := open(t, found).Status(ctx)
		wantCode(t, err, fleet.CodeUnavailable)
	})
	t.Run("by name", func(t *testing.T) {
		named := target(d)
		named.Address = "localhost:" + named.Address[len("127.0.0.1:"):]
		must(open(t, named).Status(ctx))(t)
	})
}

// The sync port is the device's beyond doubt, and can be relayed: it is no reason to believe another certificate.
func TestARenewedCertificateIsNotBelievedForTheSyncPort(t *testing.T) {
	d := daemon.Start(t, daemon.Options{TLS: true})
	before := d.Pin()
	d.Stop()
	for _, file := range []string{"https-cert.pem", "https-key.pem"} {
		if err := os.Remove(filepath.Join(d.Home, file)); err != nil {
			t.Fatal(err)
		}
	}
	d.Restart()
	if d.Pin() == before {
		t.Fatal("the daemon did not renew its certificate")
	}
	pinned := target(d)
	pinned.Pin = before
	for _, introduced := range []fleet.Introduction{fleet.ByPerson, fleet.ByServer, fleet.ByAnybody} {
		pinned.Introduced = introduced
		c := open(t, pinned)
		_, err := c.Status(t.Context())
		wantCode(t, err, fleet.CodeWrongPin)
		if shown, proven := c.Shown(); proven || shown.Fingerprint != d.Pin() {
			t.Fatalf("shown %q, proven %t, want the new one %q", shown.Fingerprint, proven, d.Pin())
		}
	}
	pinned.Pin, pinned.Introduced = "", fleet.ByServer
	must(open(t, pinned).Status(t.Context()))(t)
	d.Get("/rest/cluster/pending/devices") // still answers
	var pending map[string]any
	d.GetJSON("/rest/cluster/pending/devices", &pending)
	if len(pending) != 0 {
		t.Fatalf("the proof left a pending device: %v", pending)
	}
}
