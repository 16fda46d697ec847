package store

import (
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
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

// Every released version of the tables is upgraded: its rows, written down when it was current, read as they did then.
func TestOldDatabasesAreUpgraded(t *testing.T) {
	onEmpty(t, func(t *testing.T, options Options) {
		rows := string(must(os.ReadFile("testdata/0001.sql"))(t))
		if options.DSN != "" {
			rows = strings.ReplaceAll(rows, "X'", `'\x`)
		}
		d := must(dialectOf(options))(t)
		db := must(d.openWrites())(t)
		provider := must(newProvider(d, db))(t)
		must(provider.UpTo(t.Context(), 1))(t)
		must(db.ExecContext(t.Context(), rows))(t)
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}

		s := open(t, options)
		registry := must(s.Registry(t.Context()))(t)
		known := deviceN(1)
		got := registry.Devices[known.ID]
		if got == nil || got.APIKey != known.APIKey || got.Label != known.Label || len(got.Tags) != 1 ||
			got.Settings.Mode != fleet.ModeObserve {
			t.Errorf("got device %+v", got)
		}
		if registry.Generation != 2 || len(registry.Templates) != 1 || registry.Templates[0].Text != "false\n" {
			t.Errorf("got %+v", registry)
		}
		if len(registry.Templates) == 1 && registry.Templates[0].SavedByAdmin() { // nobody knows who saved it
			t.Errorf("got %+v, which counts as an admin's", registry.Templates[0])
		}
		if got := registry.RootsOf(known.ID); !slices.Equal(got, []string{fleet.DefaultFolderRoot}) {
			t.Errorf("got folder roots %q", got)
		}
		if config := must(s.ObservedConfig(t.Context(), known.ID))(t); !bytes.Contains(config.JSON, []byte(`"version":37`)) {
			t.Errorf("got configuration %s", config.JSON)
		}
		want := []fleet.BaseEntry{ // without a kind: internal/desired reads them as the kinds of now
			{Key: "folders.docs", Written: []byte(`{"id":"docs","path":"/d","label":""}`), Templates: []int64{1}},
			{Key: "folders.photos", Base: []byte(`{"id":"photos","path":"/p","label":"mine","devices":[]}`),
				Written: []byte(`{"id":"photos","path":"/p","label":"","devices":[]}`), Templates: []int64{1},
				State: fleet.BaseTheirs},
			{Key: "gui.password", Base: []byte(`"$2a$10$was"`), Written: []byte(`"$2a$10$is"`), Sent: []byte("digest"),
				Templates: []int64{1}},
			{Key: "options.natEnabled", Base: []byte("true"), Written: []byte("false"), Templates: []int64{1}},
		}
		if entries := must(s.BaseEntries(t.Context(), known.ID))(t); !reflect.DeepEqual(entries, want) {
			t.Errorf("got entries %+v", entries)
		}
		if next := create(t, s, "next"); next.ID <= 2 {
			t.Errorf("got ID %d, which was used before", next.ID)
		}
	})
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
