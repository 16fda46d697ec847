package identity_test

import (
	"database/sql"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"muster/api"
	"muster/internal/fleet"
	"muster/test/daemon"
	"muster/test/server"
	"muster/test/wait"
)

// What a watcher learnt of certificates is in a table that another program may write to. It is no pin: a forged row, or
// the row of another device, leads no API key to another daemon.
func TestAForgedCertificateInTheDatabaseGetsNoKey(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	s := server.Start(t, server.Options{Home: home})
	d, forgotten, swapped := daemon.Start(t, daemon.Options{TLS: true}), daemon.Start(t, daemon.Options{TLS: true}),
		daemon.Start(t, daemon.Options{TLS: true})
	path, a := newPath(t, d), attack(t, d)
	s.Register(d.ID, d.APIKey, path.host, path.port)
	for _, other := range []*daemon.Daemon{forgotten, swapped} {
		s.Register(other.ID, other.APIKey, "127.0.0.1", other.Port)
	}
	for _, one := range []*daemon.Daemon{d, forgotten, swapped} {
		s.WaitConnection(one.ID, fleet.Online)
		waitPin(t, s, one)
	}
	s.Kill()
	forge(t, home, `UPDATE certificates SET fingerprint = $2 WHERE device_id = $1`, string(d.ID), a.Pin)
	forge(t, home, `DELETE FROM certificates WHERE device_id = $1`, string(forgotten.ID))
	forge(t, home, `UPDATE certificates SET fingerprint = $2, not_after = 1 WHERE device_id = $1`, string(swapped.ID),
		d.Pin())
	path.lead(t, net.JoinHostPort(a.Host, fmt.Sprint(a.Port)))
	s = server.Start(t, server.Options{Home: home})
	state := s.WaitState(d.ID, "pinMismatch", func(state api.DeviceState) bool {
		a.gotNoKey(t)
		return state.Connection == string(fleet.PinMismatch)
	})
	if !strings.Contains(state.Reason, fleet.ShortPin(a.Pin)) || pinOf(t, s, d.ID) != d.Pin() {
		t.Errorf("the pin is %s: %s", pinOf(t, s, d.ID), state.Reason)
	}
	for _, one := range []*daemon.Daemon{forgotten, swapped} {
		s.WaitConnection(one.ID, fleet.Online)
		if got := pinOf(t, s, one.ID); got != one.Pin() {
			t.Errorf("the pin of %s is %s", one.ID.Short(), got)
		}
		wait.Until(t, func() string { // what was learnt of a certificate is kept a moment later
			trust, err := s.Client.DeviceTrust(t.Context(), string(one.ID))
			if err != nil || trust.Pinned.Fingerprint != one.Pin() || trust.Pinned.NotAfter == nil ||
				trust.Pinned.NotAfter.Unix() < 1 {
				return fmt.Sprintf("got %+v, %v", trust, err)
			}
			return ""
		})
	}
	path.lead(t, d.HostPort())
	s.WaitConnection(d.ID, fleet.Online)
	a.gotNoKey(t)
}

// forge changes the database of a home as another program does.
func forge(t *testing.T, home, text string, args ...any) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(home, "muster.db")+"?_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	done, err := db.ExecContext(t.Context(), text, args...)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := done.RowsAffected(); err != nil || n != 1 {
		t.Fatalf("%d rows changed, %v", n, err)
	}
}
