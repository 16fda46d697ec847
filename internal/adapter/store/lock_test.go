package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"muster/internal/adapter/store/pgtest"
	"muster/internal/fleet"
	"muster/test/wait"
)

// loseSession ends the session that holds the lock, as a restart of the database does.
func loseSession(t *testing.T, s *Store) {
	t.Helper()
	const end = `SELECT pg_terminate_backend(l.pid, 10000) FROM pg_locks l
		WHERE l.locktype = 'advisory' AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())`
	if _, err := s.reads.ExecContext(t.Context(), end); err != nil {
		t.Fatal(err)
	}
}

// loseLock takes the lock away from a server that is open, whichever kind its database is.
func loseLock(t *testing.T, s *Store, options Options) {
	t.Helper()
	if options.DSN != "" {
		loseSession(t, s)
		return
	}
	if err := os.Remove(filepath.Join(options.Home, lockFile)); err != nil {
		t.Fatal(err)
	}
}

// steal has another server take the database, while the first does not look: it looks every second.
func steal(t *testing.T, s *Store, options Options) (second *Store) {
	t.Helper()
	for {
		loseLock(t, s, options)
		second, err := Open(t.Context(), options)
		if err == nil {
			return second
		}
		wantCode(t, err, fleet.CodeConflict) // the first was faster
	}
}

// waitLock waits for what the server says of its lock.
func waitLock(t *testing.T, s *Store, what string, want func(lost error) bool) {
	t.Helper()
	wait.ForState(t, func() string { return fmt.Sprintf("the lock is not %s: %v", what, s.LockLost()) },
		func() bool { return want(s.LockLost()) })
}

func TestALostLockIsTakenAgain(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		put(t, s, deviceN(1))
		loseLock(t, s, options)
		if err := s.CheckLock(t.Context()); err != nil {
			t.Fatal(err)
		}
		_, err := Open(t.Context(), options)
		wantCode(t, err, fleet.CodeConflict)
		put(t, s, deviceN(2))
	})
}

// A second server started while the first had lost its lock, and both wrote to the daemons; the first went on for
// ever, said that its stop was in force, and the second knew of none.
func TestAServerWhoseDatabaseIsTakenEnds(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		taken := make(chan error, 2)
		first := options
		first.Taken = func(err error) { taken <- err }
		s := open(t, first)
		put(t, s, deviceN(1))
		second := steal(t, s, options)

		wantTaken := func(err error) {
			t.Helper()
			wantCode(t, err, fleet.CodeUnavailable)
			if !errors.Is(err, errTaken) || !strings.Contains(err.Error(), "another Muster server") {
				t.Errorf("got %v", err)
			}
		}
		wantTaken(s.CheckLock(t.Context()))
		wantTaken(<-taken)
		wantTaken(s.LockLost())
		if err := second.Close(); err != nil {
			t.Fatal(err)
		}
		// Also when the other one is gone: it may have changed anything.
		_, _, err := s.PutDevice(t.Context(), deviceN(2), nil)
		wantTaken(err)
		_, err = s.SwitchMode(t.Context(), fleet.ModeScope{}, fleet.ModeObserve)
		wantTaken(err)
		if len(taken) > 0 {
			t.Error("told twice")
		}
	})
}

// Another server may have come and gone while this one did not look.
func TestAServerThatWasAwayWhileAnotherWroteEnds(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		second := steal(t, s, options)
		put(t, second, deviceN(2))
		if err := second.Close(); err != nil {
			t.Fatal(err)
		}
		if err := s.CheckLock(t.Context()); !errors.Is(err, errTaken) {
			t.Errorf("got %v", err)
		}
	})
}

func TestADatabaseFileThatWasReplacedIsNotWrittenTo(t *testing.T) {
	t.Parallel()
	options := Options{Home: preparedHome(t), Seal: key(t, 1)}
	s := open(t, options)
	path := filepath.Join(options.Home, sqliteFile)
	if err := os.Rename(path, path+".before"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.CheckLock(t.Context()); !errors.Is(err, errTaken) || !strings.Contains(err.Error(), "replaced") {
		t.Errorf("got %v", err)
	}
}

func TestTheLossOfTheLockIsNoticedWhileNothingIsWritten(t *testing.T) {
	t.Parallel()
	server := must(pgtest.Start())(t)
	t.Cleanup(func() { _ = server.Stop() })
	s := open(t, Options{DSN: server.Database(t), Seal: key(t, 1)})
	server.Halt(t)
	waitLock(t, s, "lost", func(lost error) bool { return lost != nil })
	wantCode(t, s.CheckLock(t.Context()), fleet.CodeUnavailable)
	kept, err := s.SwitchMode(t.Context(), fleet.ModeScope{}, fleet.ModeObserve)
	if kept || err != nil {
		t.Errorf("a stop is kept: %v, %v", kept, err)
	}
	err = s.notKept(kept, err)
	if !errors.Is(err, fleet.ErrNotKept) || !strings.Contains(err.Error(), "lock of the database is lost") {
		t.Errorf("got %v", err)
	}
	server.Continue(t)
	waitLock(t, s, "held", func(lost error) bool { return lost == nil })
	if err := s.CheckLock(t.Context()); err != nil {
		t.Error(err)
	}
}

// The database may take a session whose connection was cut for alive.
func TestTheOwnSessionThatWasCutOffKeepsNobodyOut(t *testing.T) {
	t.Parallel()
	s := open(t, Options{DSN: preparedDSN(t), Seal: key(t, 1)})
	put(t, s, deviceN(1))
	ghosts := must(s.dialect.openWrites())(t)
	defer func() { _ = ghosts.Close() }()
	ghost := must(ghosts.Conn(t.Context()))(t)
	for locked := false; !locked; {
		loseSession(t, s)
		row := ghost.QueryRowContext(t.Context(), `SELECT pg_try_advisory_lock($1)`, int64(advisoryLock))
		if err := row.Scan(&locked); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.CheckLock(t.Context()); err != nil {
		t.Fatal(err)
	}
	put(t, s, deviceN(2))
}

// The error of a second server ended with "invalid argument", of a lock that it had not taken.
func TestASecondServerWasToldOfAnInvalidArgument(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	held, err := lockHome(home)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Open(t.Context(), Options{Home: home, Seal: key(t, 1)})
	wantCode(t, err, fleet.CodeConflict)
	if text := err.Error(); !strings.Contains(text, "another Muster server") ||
		strings.Contains(text, "invalid argument") {
		t.Errorf("got %q", text)
	}
	if err := held.release(); err != nil {
		t.Fatal(err)
	}
}
