// Package enroll_test registers a real daemon in the ways that need no administrator's token, such as enrol keys.
//
//muster:needs daemons
package enroll_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"muster/api"
	"muster/internal/edge/cli"
	"muster/internal/fleet"
	"muster/test/daemon"
	"muster/test/server"
)

func TestMain(m *testing.M) {
	server.Main()
	m.Run()
}

// run is a command of the command line, without any log-in or token of its own.
func run(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	var stdout, stderr bytes.Buffer
	code = cli.Run(t.Context(), args, cli.Streams{In: strings.NewReader(""), Out: &stdout, Err: &stderr}, "test")
	return code, stdout.String(), stderr.String()
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// A machine has an enrol key and no token: the daemon is managed, and later renews its certificate without any key.
func TestADaemonEnrolsWithAKeyAndRenewsItsCertificateWithoutOne(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	s := server.Start(t, server.Options{LogFile: log})
	d := daemon.Start(t, daemon.Options{TLS: true})
	admin := []string{"--server", s.URL, "--muster-home", s.Home}
	code, out, errs := run(t, append([]string{"enroll-key", "create", "--tag", "office", "--uses", "2", "--expires",
		"24h"}, admin...)...)
	key := lastLine(out)
	if _, ok := fleet.EnrollKeyID(key); code != 0 || !ok || strings.TrimSpace(out) != key {
		t.Fatalf("got %d, %q, %q", code, out, errs)
	}
	machine := []string{"enroll", "--server", s.URL, "--home", d.Home, "--muster-home", t.TempDir()}
	if code, out, errs = run(t, append(machine, "--renew")...); code != 3 || !strings.Contains(errs, "not registered") ||
		!strings.Contains(errs, "--key KEY") {
		t.Fatalf("renewing what is not registered: got %d, %q, %q", code, out, errs)
	}
	if code, out, errs = run(t, append(machine, "--key", key)...); code != 0 || !strings.Contains(out, "Registered") {
		t.Fatalf("got %d, %q, %q", code, out, errs)
	}
	s.WaitState(d.ID, "online", func(state api.DeviceState) bool { return state.Connection == string(fleet.Online) })
	tags, err := s.Client.DeviceTags(t.Context(), string(d.ID))
	if err != nil || len(tags) != 1 || tags[0] != "office" {
		t.Errorf("got %v, %v", tags, err)
	}
	wantPin(t, s, d)
	renew(t, s, d, machine)
	wantUsedOnce(t, admin, key)
	for _, file := range []string{log, filepath.Join(s.Home, "muster.db"), filepath.Join(s.Home, "muster.db-wal")} {
		text, err := os.ReadFile(file)
		if err == nil && bytes.Contains(text, []byte(key[len(fleet.EnrollKeyPrefix)+8:])) {
			t.Errorf("%s has the key", file)
		}
	}
}

func wantPin(t *testing.T, s *server.Server, d *daemon.Daemon) {
	t.Helper()
	settings, err := s.Client.DeviceSettings(t.Context(), string(d.ID))
	if err != nil || settings.Pin != d.Pin() {
		t.Errorf("the pin is %q, want %q; %v", settings.Pin, d.Pin(), err)
	}
}

// renew has the daemon make itself another certificate, and the machine tell Muster.
func renew(t *testing.T, s *server.Server, d *daemon.Daemon, machine []string) {
	t.Helper()
	d.Stop()
	for _, file := range []string{"https-cert.pem", "https-key.pem"} {
		if err := os.Remove(filepath.Join(d.Home, file)); err != nil {
			t.Fatal(err)
		}
	}
	d.Restart()
	s.WaitState(d.ID, "another certificate", func(state api.DeviceState) bool {
		return state.Connection == string(fleet.PinMismatch)
	})
	if code, out, errs := run(t, append(machine, "--renew")...); code != 0 || !strings.Contains(out, "Updated") {
		t.Fatalf("got %d, %q, %q", code, out, errs)
	}
	wantPin(t, s, d)
	s.WaitState(d.ID, "online again", func(state api.DeviceState) bool {
		return state.Connection == string(fleet.Online)
	})
}

// wantUsedOnce revokes the key after one use: the device stays.
func wantUsedOnce(t *testing.T, admin []string, key string) {
	t.Helper()
	code, out, errs := run(t, append([]string{"enroll-key", "list"}, admin...)...)
	if code != 0 || !strings.Contains(out, "1 of 2") || strings.Contains(out, key) {
		t.Errorf("got %d, %q, %q", code, out, errs)
	}
	if code, out, errs = run(t, append([]string{"enroll-key", "revoke", key, "--yes"}, admin...)...); code != 0 ||
		!strings.Contains(out, "1 device") {
		t.Errorf("got %d, %q, %q", code, out, errs)
	}
}
