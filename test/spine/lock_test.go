package spine_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"muster/api"
	"muster/client"
	"muster/internal/adapter/store/pgtest"
	"muster/internal/fleet"
	"muster/test/daemon"
	"muster/test/server"
	"muster/test/wait"
)

func postgres(t *testing.T) *pgtest.Server {
	t.Helper()
	database, err := pgtest.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = database.Stop() })
	return database
}

// stealLock takes the lock of a database away from the server that has it, as another server would.
func stealLock(t *testing.T, database string) {
	t.Helper()
	db, err := sql.Open("pgx", database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	thief, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var key int64
	const held = `SELECT (classid::bigint << 32) | objid::bigint FROM pg_locks WHERE locktype = 'advisory'`
	if err := thief.QueryRowContext(t.Context(), held).Scan(&key); err != nil {
		t.Fatal(err)
	}
	const end = `SELECT pg_terminate_backend(pid, 10000) FROM pg_locks
		WHERE locktype = 'advisory' AND pid <> pg_backend_pid()`
	for stolen := false; !stolen; { // the server may be faster
		if _, err := thief.ExecContext(t.Context(), end); err != nil {
			t.Fatal(err)
		}
		if err := thief.QueryRowContext(t.Context(), `SELECT pg_try_advisory_lock($1)`, key).Scan(&stolen); err != nil {
			t.Fatal(err)
		}
	}
}

// stealFile puts a lock file of another server in the place of a server's own, which it may take again meanwhile.
func stealFile(t *testing.T, name string) {
	t.Helper()
	for {
		if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == nil {
			t.Cleanup(func() { _ = f.Close() })
			return
		}
		_ = f.Close()
	}
}

// A server recorded what it was about to do, lost its database to another server, and did it nevertheless.
func TestAServerThatLostItsDatabaseWritesToNoDaemonAndEnds(t *testing.T) {
	t.Parallel()
	t.Run("PostgreSQL", func(t *testing.T) {
		database := postgres(t).Database(t)
		losesItsDatabase(t, server.Options{Database: database}, func(*server.Server) { stealLock(t, database) })
	})
	t.Run("SQLite", func(t *testing.T) {
		losesItsDatabase(t, server.Options{}, func(s *server.Server) {
			stealFile(t, filepath.Join(s.Home, "muster.lock"))
		})
	})
}

func losesItsDatabase(t *testing.T, o server.Options, steal func(*server.Server)) {
	o.HoldAt = "before write 1"
	s, d := server.Start(t, o), daemon.Start(t, daemon.Options{TLS: true})
	enroll(t, s, d, "office")
	d.Patch("/rest/config/options", `{"natEnabled": true}`)
	s.Template("set", "options.natEnabled", "false\n", "office")
	release := s.WaitHeld()
	steal(s)
	release()
	s.WaitEnd()
	if s.ExitCode() == 0 || !strings.Contains(s.Log(), "another Muster server has taken it") {
		t.Errorf("the server ended with %d and does not say why", s.ExitCode())
	}
	if !natEnabled(d) {
		t.Error("the daemon was written to by a server that had lost its database")
	}
}

// The database is away for a while and comes back: meanwhile nothing is written, and everything says so.
func TestWhileTheDatabaseIsAwayNothingIsWrittenAndEverythingSaysSo(t *testing.T) {
	t.Parallel()
	cluster := postgres(t)
	o := server.Options{Database: cluster.Database(t)}
	s, d := server.Start(t, o), daemon.Start(t, daemon.Options{TLS: true})
	enroll(t, s, d, "office")
	template := s.Template("set", "options.natEnabled", "false\n", "office")
	s.WaitConfiguration(d.ID, fleet.ConfigInSync)

	cluster.Halt(t)
	s.WaitState(d.ID, "nothing is written", func(state api.DeviceState) bool {
		return strings.Contains(state.Reason, "nothing is written") && strings.Contains(state.Reason, "lost the lock")
	})
	d.Patch("/rest/config/options", `{"natEnabled": true}`) // drift, which is not corrected now
	text, key, op := "true\n", "options.natEnabled", "set"
	_, err := s.Client.PutTemplate(t.Context(), template, api.PutTemplate{Op: &op, Key: &key, Template: &text})
	wantStatus(t, err, http.StatusServiceUnavailable)
	warning, err := s.Client.SwitchMode(t.Context(), string(fleet.ModeObserve))
	if err != nil || !strings.Contains(warning, "lock of the database is lost") {
		t.Errorf("the stop warns %q, %v", warning, err)
	}
	wantNotReady(t, s, fleet.PartDatabase, fleet.PartLock)

	cluster.Continue(t)
	wait.Until(t, func() string { return notReady(t.Context(), s) })
	if !natEnabled(d) {
		t.Error("the daemon was written to while the database was away")
	}
	waitKept(t, o.Database) // the stop: another server knows of it
	s.Kill()
	s = server.Start(t, server.Options{Database: o.Database, Home: s.Home})
	if mode, err := s.Client.Mode(t.Context()); err != nil || mode != string(fleet.ModeObserve) {
		t.Errorf("the next server's mode is %q, %v", mode, err)
	}
}

// waitKept waits until a stop of the fleet is in the database.
func waitKept(t *testing.T, database string) {
	t.Helper()
	db, err := sql.Open("pgx", database)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	wait.Until(t, func() string {
		var mode string
		row := db.QueryRowContext(t.Context(), `SELECT value FROM meta WHERE name = 'fleet_mode'`)
		if err := row.Scan(&mode); err != nil {
			return err.Error()
		}
		if mode != string(fleet.ModeObserve) {
			return "the stop is not kept"
		}
		return ""
	})
}

// wantNotReady waits until /readyz, the overview and the metrics name these parts; /healthz is 200 all the same.
func wantNotReady(t *testing.T, s *server.Server, parts ...fleet.Part) {
	t.Helper()
	wait.Until(t, func() string {
		overview, err := s.Client.Overview(t.Context())
		if err != nil {
			return err.Error()
		}
		numbers, err := s.Client.Metrics(t.Context())
		if err != nil {
			return err.Error()
		}
		var failed *client.Error
		if !errors.As(s.Client.Ready(t.Context()), &failed) || failed.Status != http.StatusServiceUnavailable {
			return "the server is ready"
		}
		for _, part := range parts {
			named := func(d api.ProblemDetail) bool { return d.Field == string(part) && d.Message != "" }
			listed := func(i api.Impairment) bool { return i.Part == string(part) && i.Blocking && i.Next != "" }
			switch {
			case !slices.ContainsFunc(failed.Problem.Errors, named):
				return fmt.Sprintf("/readyz does not name %s: %+v", part, failed.Problem.Errors)
			case !slices.ContainsFunc(overview.Impairments, listed):
				return fmt.Sprintf("the overview does not name %s: %+v", part, overview.Impairments)
			case !strings.Contains(numbers, fmt.Sprintf(`muster_impaired{part="%s"} 1`, part)):
				return fmt.Sprintf("the metrics do not name %s", part)
			}
		}
		return ""
	})
	if err := s.Client.Healthy(t.Context()); err != nil {
		t.Errorf("/healthz: %v", err)
	}
}

func notReady(ctx context.Context, s *server.Server) string {
	if err := s.Client.Ready(ctx); err != nil {
		return err.Error()
	}
	return ""
}

func wantStatus(t *testing.T, err error, want int) {
	t.Helper()
	var failed *client.Error
	if !errors.As(err, &failed) || failed.Status != want {
		t.Errorf("got %v, want status %d", err, want)
	}
}
