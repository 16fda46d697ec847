package store

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"

	"muster/internal/fleet"
)

func wantUnavailable(t *testing.T, err error, text string) {
	t.Helper()
	wantCode(t, err, fleet.CodeUnavailable)
	var e *fleet.Error
	if !errors.As(err, &e) || !strings.Contains(e.Message, text) || e.Hint == "" {
		t.Fatalf("got %v, want a message with %q and a hint", err, text)
	}
}

// Reading goes on, and so does writing once the cause is gone.
func testOutage(t *testing.T, s *Store, text string, begin, end func()) {
	t.Helper()
	put(t, s, deviceN(1))
	begin()
	_, _, err := s.PutDevice(t.Context(), deviceN(2), nil)
	wantUnavailable(t, err, text)
	must(s.Device(t.Context(), deviceN(1).ID))(t)
	if got := must(s.Devices(t.Context()))(t); len(got) != 1 {
		t.Errorf("got %d devices during the outage", len(got))
	}
	end()
	put(t, s, deviceN(3))
	if got := must(s.Devices(t.Context()))(t); len(got) != 2 {
		t.Errorf("got %d devices after it", len(got))
	}
}

func TestAFullDiskIsToldAndSurvived(t *testing.T) {
	t.Parallel()
	s := open(t, Options{Home: preparedHome(t), Seal: key(t, 1)})
	observe(t, s) // the connection is there
	limit := func(pages string) {
		// On the connection itself: SQLite answers as for a full disk when the file may not grow. A new connection has
		// no limit.
		if _, err := s.writer.session.conn.ExecContext(t.Context(), "PRAGMA max_page_count = "+pages); err != nil {
			t.Fatal(err)
		}
	}
	put(t, s, deviceN(1))
	limit("1") // never below what is there
	var err error
	for n := 2; err == nil && n < 10_000; n++ {
		d := deviceN(n)
		d.Label = strings.Repeat("x", fleet.MaxLabelBytes)
		_, _, err = s.PutDevice(t.Context(), d, nil)
	}
	wantUnavailable(t, err, "full")
	limit("1000000")
	put(t, s, deviceN(10_000))
}

func TestALockedDatabaseIsToldAndSurvived(t *testing.T) {
	t.Parallel()
	options := Options{Home: preparedHome(t), Seal: key(t, 1)}
	s := open(t, options)
	if _, err := s.writer.session.conn.ExecContext(t.Context(), "PRAGMA busy_timeout = 1"); err != nil {
		t.Fatal(err)
	}
	other := must(sqliteDialect{home: options.Home}.openWrites())(t)
	defer func() { _ = other.Close() }()
	var holding *sql.Tx
	testOutage(t, s, "locked", func() {
		holding = must(other.BeginTx(t.Context(), nil))(t)
	}, func() {
		if err := holding.Rollback(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestAReadOnlyDatabaseIsToldAndSurvived(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		on, off := "PRAGMA query_only = 1", "PRAGMA query_only = 0"
		if options.DSN != "" {
			on, off = "SET default_transaction_read_only = on", "SET default_transaction_read_only = off"
		}
		// A session that starts over is writable again, so the setting needs no taking back; off is for the case that it
		// did not start over.
		set := func(text string) func() {
			return func() {
				if _, err := s.writer.session.conn.ExecContext(context.Background(), text); err != nil {
					t.Fatal(err)
				}
			}
		}
		testOutage(t, s, "read-only", set(on), set(off))
	})
}

func TestALostConnectionIsMadeAgain(t *testing.T) {
	t.Parallel()
	options := Options{DSN: preparedDSN(t), Seal: key(t, 1)}
	s := open(t, options)
	put(t, s, deviceN(1))
	var pid int
	if err := s.writer.session.row(t.Context(), `SELECT pg_backend_pid()`).Scan(&pid); err != nil {
		t.Fatal(err)
	}
	if _, err := s.reads.ExecContext(t.Context(), `SELECT pg_terminate_backend($1, 10000)`, pid); err != nil {
		t.Fatal(err)
	}
	put(t, s, deviceN(2))                // it was idle: nobody notices
	_, err := Open(t.Context(), options) // the new connection holds the lock again
	wantCode(t, err, fleet.CodeConflict)
}

// A connection that is cut in the middle of a transaction takes the whole batch with it, and nothing else.
func TestAConnectionCutInATransactionLosesOnlyThat(t *testing.T) {
	t.Parallel()
	s := open(t, Options{DSN: preparedDSN(t), Seal: key(t, 1)})
	put(t, s, deviceN(1))
	_, err := write(t.Context(), s, "cut", func(x *tx) (none struct{}, err error) {
		if _, err := x.createDevice(deviceN(2)); err != nil {
			return none, err
		}
		var pid int
		if err := x.row(`SELECT pg_backend_pid()`).Scan(&pid); err != nil {
			return none, err
		}
		_, err = s.reads.ExecContext(x.ctx, `SELECT pg_terminate_backend($1, 10000)`, pid)
		return none, err
	})
	wantCode(t, err, fleet.CodeUnavailable)
	put(t, s, deviceN(3))
	if got := must(s.Registry(t.Context()))(t).Devices; len(got) != 2 || got[deviceN(2).ID] != nil {
		t.Errorf("got devices %v", got)
	}
}
