package store

import (
	"context"
	"testing"

	"muster/internal/fleet"
)

// A database that nobody can write to counted as ready.
func TestADatabaseThatTakesNoWritesIsNotReady(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		ctx := t.Context()
		if err := s.Ready(ctx); err != nil {
			t.Fatal(err)
		}
		on, off := "PRAGMA query_only = 1", "PRAGMA query_only = 0"
		if options.DSN != "" {
			on, off = "SET default_transaction_read_only = on", "SET default_transaction_read_only = off"
		}
		onSession(t, s, on)
		_, _, err := s.PutDevice(ctx, deviceN(1), nil)
		wantUnavailable(t, err, "read-only")
		s.writable.mu.Lock()
		failed := s.writable.failed
		s.writable.mu.Unlock()
		if !failed {
			t.Error("the failure is not remembered")
		}
		onSession(t, s, on) // again: SQLite's session was started over
		wantUnavailable(t, s.Ready(ctx), "read-only")
		onSession(t, s, off)
		if err := s.Ready(ctx); err != nil {
			t.Error(err)
		}
	})
}

// onSession runs a statement on the session that writes, between two writes.
func onSession(t *testing.T, s *Store, text string) {
	t.Helper()
	_, err := write(t.Context(), s, "test", func(x *tx) (none struct{}, err error) {
		x.committed(func() {
			if _, err := s.writer.session.conn.ExecContext(context.Background(), text); err != nil {
				t.Error(err)
			}
		})
		return none, nil
	})
	if err != nil && fleet.CodeOf(err) != fleet.CodeUnavailable {
		t.Fatal(err)
	}
}
