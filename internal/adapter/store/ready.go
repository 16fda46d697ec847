package store

import (
	"context"
	"sync"
	"time"

	"muster/internal/fleet"
)

// probeEvery is how long the database counts as writable after a probe that succeeded (see Ready).
const probeEvery = 30 * time.Second

// writable records whether the database could be written lately.
type writable struct {
	mu     sync.Mutex // guards the rest
	until  time.Time  // The database counts as writable until then.
	failed bool       // A write failed because of the database since the last probe that succeeded.
}

// Ready returns an error if the database cannot be read or written. To find out whether it can be written, Ready
// writes a row (a probe), but only if the last successful probe is older than probeEvery, or if any write has failed
// since because of the database.
func (s *Store) Ready(ctx context.Context) error {
	if s.writer.stopped() {
		return shuttingDown("ask database")
	}
	var one int
	if err := s.reads.QueryRowContext(ctx, `SELECT 1`).Scan(&one); err != nil {
		return failure("ask database", err)
	}
	if s.writable.known(s.now()) {
		return nil
	}
	_, err := write(ctx, s, "probe database", func(t *tx) (none struct{}, err error) {
		return none, t.exec(`
			INSERT INTO meta (name, value) VALUES ('probed', $1) ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
			t.now.Format(time.RFC3339))
	})
	if err == nil {
		s.writable.proven(s.now().Add(probeEvery))
	}
	return err
}

func (w *writable) known(now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.failed && now.Before(w.until)
}

func (w *writable) proven(until time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failed, w.until = false, until
}

// note records that a write failed, if err shows that the database was the reason. It ignores other errors.
func (w *writable) note(err error) {
	if fleet.CodeOf(err) != fleet.CodeUnavailable {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failed = true
}
