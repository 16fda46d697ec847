package identity_test

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"muster/api"
	"muster/client"
	"muster/internal/edge/cli"
	"muster/internal/fleet"
	"muster/test/daemon"
	"muster/test/server"
)

// command runs a client command; answer is what the person types.
func command(t *testing.T, s *server.Server, answer string, args ...string) (out string, code int) {
	t.Helper()
	var text bytes.Buffer
	args = append(args, "--server", s.URL, "--token", s.Token)
	code = cli.Run(t.Context(), args, cli.Streams{In: strings.NewReader(answer), Out: &text, Err: &text}, "test")
	return text.String(), code
}

func says(t *testing.T, s *server.Server, wantCode int, want []string, answer string, args ...string) {
	t.Helper()
	out, code := command(t, s, answer, args...)
	if code != wantCode {
		t.Fatalf("muster %s ended with %d, want %d: %s", strings.Join(args, " "), code, wantCode, out)
	}
	for _, text := range want {
		if !strings.Contains(out, text) {
			t.Fatalf("muster %s does not say %q: %s", strings.Join(args, " "), text, out)
		}
	}
}

// renew makes the daemon show another certificate.
func renew(t *testing.T, d *daemon.Daemon) (before string) {
	t.Helper()
	before = d.Pin()
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
	return before
}

func TestARenewedCertificateIsTakenByAPerson(t *testing.T) {
	t.Parallel()
	s, d := server.Start(t, server.Options{}), daemon.Start(t, daemon.Options{TLS: true})
	s.Register(d.ID, d.APIKey, "127.0.0.1", d.Port)
	s.WaitConnection(d.ID, fleet.Online)
	waitPin(t, s, d)
	origin := func(want string) {
		t.Helper()
		if trust, err := s.Client.DeviceTrust(t.Context(), string(d.ID)); err != nil || trust.Origin != want {
			t.Errorf("the pin is %q, %v; want %q", trust.Origin, err, want)
		}
	}
	origin(string(fleet.PinFirstUse))
	before := renew(t, d)
	s.WaitConnection(d.ID, fleet.PinMismatch)

	short := d.ID.Short()
	says(t, s, 3, []string{before, d.Pin(), "no renewal is due", d.HostPort(), "[y/N]", "nothing was changed"}, "\n",
		"device", "trust", short)
	says(t, s, 3, []string{"not the expected one"}, "y\n", "device", "trust", short, "--fingerprint", before)
	if got := pinOf(t, s, d.ID); got != before {
		t.Fatalf("the pin is %s, nobody took another one", got)
	}
	_, err := s.Client.TrustDevice(t.Context(), string(d.ID), before)
	if fleet.CodeOf(err) != fleet.CodeConflict {
		t.Errorf("a certificate that is not shown was taken: %v", err)
	}
	says(t, s, 0, []string{d.Pin() + " is pinned"}, "y\n", "device", "trust", short)
	s.WaitConnection(d.ID, fleet.Online)
	origin(string(fleet.PinGiven))
	if got := pinOf(t, s, d.ID); got != d.Pin() {
		t.Errorf("the pin is %s, want %s", got, d.Pin())
	}
	says(t, s, 0, []string{"nothing to do"}, "", "device", "trust", short)
	entries, err := s.Client.Audit(t.Context(), client.AuditSearch{})
	if err != nil {
		t.Fatal(err)
	}
	audited := false
	for _, e := range entries {
		audited = audited || e.What == "device.trust" && strings.Contains(e.Detail, before) &&
			strings.Contains(e.Detail, d.Pin())
	}
	if !audited {
		t.Errorf("the audit does not say it: %+v", entries)
	}
}

func TestManyRenewedCertificatesAreTakenAtOnce(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	one, other, forged := daemon.Start(t, daemon.Options{TLS: true}), daemon.Start(t, daemon.Options{}),
		daemon.Start(t, daemon.Options{TLS: true})
	for _, d := range []*daemon.Daemon{one, other, forged} {
		s.Register(d.ID, d.APIKey, "127.0.0.1", d.Port, "office")
		s.WaitConnection(d.ID, fleet.Online)
		waitPin(t, s, d)
	}
	renew(t, one)
	renew(t, other)
	a := attack(t, forged)
	announce(t, forged, a.Sync)
	s.Register(forged.ID, forged.APIKey, "", forged.Port)
	for _, d := range []*daemon.Daemon{one, other, forged} {
		s.WaitConnection(d.ID, fleet.PinMismatch)
	}
	wantRefused(t, s, forged, a, "pinMismatch")
	says(t, s, 0, []string{one.Pin() + " is pinned", other.Pin() + " is pinned", a.Pin, "Left out"}, "y\n", "device",
		"trust", "--tag", "office")
	s.WaitConnection(one.ID, fleet.Online)
	s.WaitConnection(other.ID, fleet.Online)
	says(t, s, 3, []string{"--fingerprint"}, "y\n", "device", "trust", forged.ID.Short(), "--yes")
	if got := pinOf(t, s, forged.ID); got != forged.Pin() {
		t.Errorf("the attacker's certificate was taken: %s", got)
	}
	a.gotNoKey(t)
}

// enroll runs on the daemon's machine: what it reads there needs no trust on first use.
func TestEnrollPinsBeforeTheFirstContact(t *testing.T) {
	t.Parallel()
	s, d := server.Start(t, server.Options{}), daemon.Start(t, daemon.Options{TLS: true})
	path, a := newPath(t, d), attack(t, d)
	path.lead(t, net.JoinHostPort(a.Host, fmt.Sprint(a.Port))) // from the beginning
	enroll := []string{"enroll", "--home", d.Home, "--address", path.host, "--port", fmt.Sprint(path.port)}
	says(t, s, 0, []string{"Registered"}, "", append(enroll, "--wait", "0s")...)
	if got := pinOf(t, s, d.ID); got != d.Pin() {
		t.Fatalf("the pin is %q, want %q", got, d.Pin())
	}
	s.WaitReason(d.ID, string(fleet.PinMismatch), fleet.ShortPin(a.Pin))
	a.gotNoKey(t)
	path.lead(t, d.HostPort())
	if state := s.WaitConnection(d.ID, fleet.Online); strings.Contains(state.Reason, "first use") {
		t.Errorf("the reason is %s", state.Reason)
	}

	before := renew(t, d)
	s.WaitConnection(d.ID, fleet.PinMismatch)
	says(t, s, 0, []string{d.Pin() + ", in place of " + before, "Online"}, "", append(enroll, "--wait", "60s")...)
	a.gotNoKey(t)
}

// What is found on anybody's word is met once a person confirmed its certificate.
func TestADeviceThatWasConfirmedIsMet(t *testing.T) {
	t.Parallel()
	s, d := startServer(t), daemon.Start(t, daemon.Options{TLS: true})
	announce(t, d, d.SyncAddress())
	s.Register(d.ID, d.APIKey, "", d.Port)
	state := s.WaitReason(d.ID, string(fleet.Unconfirmed), fleet.ShortPin(d.Pin()))
	if state.FoundBy != "local" || state.Address != d.HostPort() || !strings.Contains(state.Next, "muster device trust") {
		t.Errorf("the state is %+v", state)
	}
	overview, err := s.Client.Overview(t.Context())
	if err != nil || overview.Connections["unconfirmed"] != 1 {
		t.Errorf("got %+v, %v", overview, err)
	}
	says(t, s, 0, []string{"ANYBODY CAN ANNOUNCE", d.Pin() + " is pinned"}, "", "device", "trust", d.ID.Short(),
		"--fingerprint", d.Pin())
	s.WaitConnection(d.ID, fleet.Online)

	none := ""
	if _, err := s.Client.PutDeviceSettings(t.Context(), string(d.ID), api.PutDeviceSettings{Pin: &none}); err != nil {
		t.Fatal(err)
	}
	s.WaitConnection(d.ID, fleet.Unconfirmed)
	trust, err := s.Client.DeviceTrust(t.Context(), string(d.ID))
	if err != nil || trust.Pinned.Fingerprint != "" || trust.Origin != string(fleet.PinForgotten) ||
		trust.Presented.Fingerprint != d.Pin() {
		t.Errorf("got %+v, %v", trust, err)
	}
}

func TestAPinIsGivenWithTheRegistration(t *testing.T) {
	t.Parallel()
	s, d := server.Start(t, server.Options{}), daemon.Start(t, daemon.Options{TLS: true})
	a := attack(t, d)
	port := int64(d.Port)
	put := func(pin, address string) error {
		_, _, err := s.Client.PutPinnedDevice(t.Context(), string(d.ID),
			api.PutDevice{APIKey: &d.APIKey, APIAddress: &address, APIPort: &port}, pin)
		return err
	}
	if err := put("sha256:12", a.Host); fleet.CodeOf(err) != fleet.CodeInvalid {
		t.Errorf("a pin that is none: %v", err)
	}
	if _, err := s.Client.Device(t.Context(), string(d.ID)); fleet.CodeOf(err) != fleet.CodeNotFound {
		t.Errorf("it was registered all the same: %v", err)
	}
	if err := put(strings.ToUpper(d.Pin()), a.Host); err != nil {
		t.Fatal(err)
	}
	wantRefused(t, s, d, a, "pinMismatch")
	s.Register(d.ID, d.APIKey, "127.0.0.1", d.Port)
	s.WaitConnection(d.ID, fleet.Online)
	a.gotNoKey(t)
}
