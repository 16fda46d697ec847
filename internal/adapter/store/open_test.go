package store

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"muster/internal/fleet"
)

func TestASecondServerIsRefused(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		first := must(Open(t.Context(), options))(t)
		_, err := Open(t.Context(), options)
		wantCode(t, err, fleet.CodeConflict)
		if !strings.Contains(err.Error(), "another Muster server") {
			t.Errorf("got %v", err)
		}
		put(t, first, deviceN(1)) // undisturbed
		if err := first.Ready(t.Context()); err != nil {
			t.Error(err)
		}
		if err := first.Close(); err != nil {
			t.Fatal(err)
		}
		wantCode(t, first.Ready(t.Context()), fleet.CodeUnavailable)
		second := open(t, options)
		must(second.Device(t.Context(), deviceN(1).ID))(t)
	})
}

func TestANewerDatabaseIsRefused(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := must(Open(t.Context(), options))(t)
		if _, err := openWrites(t, s).ExecContext(t.Context(),
			`INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, true)`); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		_, err := Open(t.Context(), options)
		wantCode(t, err, fleet.CodeConflict)
		if !strings.Contains(err.Error(), "newer Muster") || !strings.Contains(err.Error(), "9999") {
			t.Errorf("got %v", err)
		}
	})
}

// Nothing is converted from programs before the first release: their databases are refused, and stay as they are.
func TestADatabaseBeforeTheFirstReleaseIsRefused(t *testing.T) {
	onEmpty(t, func(t *testing.T, options Options) {
		d := must(dialectOf(options))(t)
		db := must(d.openWrites())(t)
		must(must(newProvider(d, db, migrations, withoutRows))(t).GetDBVersion(t.Context()))(t) // makes the table of versions
		must(db.ExecContext(t.Context(), `INSERT INTO goose_db_version (version_id, is_applied) VALUES (38, true)`))(t)
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		_, err := Open(t.Context(), options)
		wantCode(t, err, fleet.CodeConflict)
		if !strings.Contains(err.Error(), "before 0.1.0, the first release") {
			t.Errorf("got %v", err)
		}
		unopened := &Store{dialect: d, reads: newReads(must(d.openReads())(t), false)}
		defer func() { _ = unopened.reads.Close() }()
		if tables := tablesOf(t, unopened); len(tables) > 0 {
			t.Errorf("it was given the tables %v", tables)
		}
	})
}

func TestAnotherSealKeyIsRefused(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		if err := must(Open(t.Context(), options))(t).Close(); err != nil { // refused even before anything else is sealed
			t.Fatal(err)
		}
		right := options.Seal
		options.Seal = key(t, 2)
		_, err := Open(t.Context(), options)
		wantCode(t, err, fleet.CodeConflict)
		if !strings.Contains(err.Error(), "seal key does not fit") {
			t.Errorf("got %v", err)
		}
		options.Seal = right
		open(t, options)
	})
}

func TestBadAddressesOfDatabasesAreRefused(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]Options{
		"another database":  {DSN: "mysql://here/muster"},
		"no scheme":         {DSN: "muster"},
		"a broken address":  {DSN: "postgres://user:hunter2@host:nine/muster"},
		"no home":           {Home: filepath.Join(t.TempDir(), "missing")},
		"nobody listens":    {DSN: "postgres://muster@/muster?host=" + t.TempDir()},
		"no such directory": {Home: "\x00"},
	} {
		t.Run(name, func(t *testing.T) {
			options.Seal = key(t, 1)
			_, err := Open(t.Context(), options)
			if code := fleet.CodeOf(err); code != fleet.CodeInvalid && code != fleet.CodeUnavailable {
				t.Errorf("got %v with code %q", err, code)
			}
			if err != nil && strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the password is in %v", err)
			}
		})
	}
}

func TestSQLiteIsSafeOnEveryConnection(t *testing.T) {
	t.Parallel()
	home := filepath.Join(t.TempDir(), "odd ?#%41&=+ü home")
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	s := open(t, Options{Home: home, Seal: key(t, 1)})
	put(t, s, deviceN(1))
	pragmas := map[string]string{"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1", "busy_timeout": "5000"}
	check := func(name string, conn *sql.Conn) {
		for pragma, want := range pragmas {
			var got string
			if err := conn.QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&got); err != nil || got != want {
				t.Errorf("%s: %s is %q, %v; want %q", name, pragma, got, err, want)
			}
		}
	}
	check("writer", s.writer.session.conn)
	for range 3 { // held at the same time: three connections
		conn := must(s.reads.Conn(t.Context()))(t)
		defer func() { _ = conn.Close() }()
		check("reader", conn)
		if _, err := conn.ExecContext(t.Context(), `DELETE FROM devices`); err == nil {
			t.Error("a reader can write")
		}
	}
	for _, name := range []string{sqliteFile, sqliteFile + "-wal", lockFile} {
		info, err := os.Stat(filepath.Join(home, name))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: got %v, %v; want mode 0600", name, info, err)
		}
	}
}

func TestPostgresCommitsReachTheDisk(t *testing.T) {
	t.Parallel()
	for setting, want := range map[string]string{"off": "on", "on": "on", "remote_apply": "remote_apply"} {
		s := open(t, Options{DSN: postgresDSN(t) + "&options=-csynchronous_commit%3D" + setting, Seal: key(t, 1)})
		// The writer's goroutine has the session: it answers between two transactions.
		got, err := write(t.Context(), s, "show a setting", func(t *tx) (got string, err error) {
			return got, t.row(`SHOW synchronous_commit`).Scan(&got)
		})
		if err != nil || got != want {
			t.Errorf("%s: got %q, %v; want %q", setting, got, err, want)
		}
	}
}

// A database without its key got a new one.
func TestAKeyIsMadeForANewDatabaseOnly(t *testing.T) {
	onEmpty(t, func(t *testing.T, options Options) {
		right, made := options.Seal, 0
		options.Seal = nil
		_, err := Open(t.Context(), options)
		wantCode(t, err, fleet.CodeConflict)
		options.MakeSeal = func() (Sealer, error) {
			made++
			return right, nil
		}
		s := must(Open(t.Context(), options))(t)
		put(t, s, deviceN(1))
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err = Open(t.Context(), options); made != 1 || !strings.Contains(fmt.Sprint(err), "seal.key is missing") {
			t.Errorf("%d keys were made; got %v", made, err)
		}
		wantCode(t, err, fleet.CodeConflict)
		options.Seal = right
		s = must(Open(t.Context(), options))(t)
		if _, err := openWrites(t, s).ExecContext(t.Context(), `DELETE FROM meta WHERE name = 'seal_check'`); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		options.Seal = nil
		_, err = Open(t.Context(), options) // it has a device, whose key is sealed
		wantCode(t, err, fleet.CodeConflict)
	})
}
