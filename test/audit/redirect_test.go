package audit_test

import (
	"crypto/sha256"
	"database/sql"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"muster/api"
	"muster/internal/adapter/store/pgtest"
	"muster/internal/fleet"
	"muster/test/server"
)

// listener is another program's daemon: it answers as any device, and counts who comes.
type listener struct {
	port        int
	pin         string
	connections atomic.Int64
	keys        atomic.Int64 // requests with an API key
}

func newListener(t *testing.T, as fleet.DeviceID) *listener {
	t.Helper()
	l := &listener{}
	answers := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Api-Key") != "" || r.Header.Get("Authorization") != "" {
			l.keys.Add(1)
		}
		w.Header().Set("X-Syncthing-Id", string(as))
		_, _ = io.WriteString(w, "{}")
	}))
	answers.Config.ErrorLog = log.New(io.Discard, "", 0)
	answers.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			l.connections.Add(1)
		}
	}
	answers.StartTLS()
	t.Cleanup(answers.Close)
	address, err := url.Parse(answers.URL)
	if err != nil {
		t.Fatal(err)
	}
	if l.port, err = strconv.Atoi(address.Port()); err != nil {
		t.Fatal(err)
	}
	l.pin = fmt.Sprintf("sha256:%x", sha256.Sum256(answers.Certificate().Raw))
	return l
}

// Who could write to the database put another address and certificate into the row of a device, and got its API key at
// the next start.
func TestADeviceThatWasRedirectedInTheDatabaseGotItsAPIKeyStolen(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"sqlite", "postgres"} {
		t.Run(kind, func(t *testing.T) {
			o, driver := server.Options{Home: t.TempDir()}, "sqlite"
			dsn := "file:" + filepath.Join(o.Home, "muster.db")
			if kind == "postgres" {
				o.Database = postgres(t)
				driver, dsn = "pgx", o.Database
			}
			const genuine = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
			id := fleet.DeviceIDOf([32]byte{7})
			thief := newListener(t, id)
			s := server.Start(t, o)
			address, key, label, port := "127.0.0.1", "the key of the daemon", "nas", int64(1)
			if _, _, err := s.Client.PutPinnedDevice(t.Context(), string(id), api.PutDevice{APIKey: &key,
				APIAddress: &address, APIPort: &port, Label: &label}, genuine); err != nil {
				t.Fatal(err)
			}
			s.Stop()
			db, err := sql.Open(driver, dsn)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := db.ExecContext(
				t.Context(),
				`UPDATE devices SET api_port = $1, pin = $2`,
				thief.port,
				thief.pin,
			); err != nil {
				t.Fatal(err)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}

			s = server.Start(t, o)
			state := s.WaitState(id, "any attempt, or none because of the record", func(state api.DeviceState) bool {
				return thief.keys.Load() > 0 || state.Connection == string(fleet.Unconfirmed)
			})
			if n := thief.connections.Load(); n > 0 || thief.keys.Load() > 0 {
				t.Fatalf("another program's daemon got %d connections, and %d API keys", n, thief.keys.Load())
			}
			if !strings.Contains(state.Next, "muster device trust") {
				t.Errorf("the state says what to do: %q", state.Next)
			}
			if out, code := muster(t, s, "audit", "verify"); code != 3 || !strings.Contains(out, `device "nas"`) {
				t.Errorf("verify ended with %d: %s", code, out)
			}
			overview, err := s.Client.Overview(t.Context())
			if err != nil || len(overview.Impairments) != 1 || overview.Impairments[0].Part != string(fleet.PartProofs) {
				t.Errorf("got %+v, %v", overview.Impairments, err)
			}
			out, code := muster(t, s, "device", "trust", "nas", "--yes")
			if code == 0 || !strings.Contains(out, "--fingerprint") {
				t.Errorf("trust without a fingerprint ended with %d: %s", code, out)
			}
			if out, code := muster(t, s, "device", "trust", "nas", "--fingerprint", genuine); code != 0 {
				t.Fatalf("trust ended with %d: %s", code, out)
			}
			s.WaitConnection(id, fleet.PinMismatch) // the address is the other program's still
			if n := thief.keys.Load(); n > 0 {
				t.Errorf("another program's daemon got %d API keys", n)
			}
			s.Stop()
		})
	}
}

// postgres is a database that ends with the test.
func postgres(t *testing.T) string {
	t.Helper()
	started, err := pgtest.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := started.Stop(); err != nil {
			t.Error(err)
		}
	})
	return started.Database(t)
}
