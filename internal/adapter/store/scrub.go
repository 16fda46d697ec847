package store

import (
	"context"
	"errors"
	"time"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

// SQLite overwrites deleted and replaced values with zeros in the database file (secure_delete). But its write-ahead
// log still contains earlier pages, until the log is copied into the database and emptied. Muster does that soon
// after a person deleted or replaced something sealed, and at the end of a rotation of the seal key.

const (
	scrubAgain = 200 * time.Millisecond // pause between attempts, while a reader still needs the log
	scrubWaits = "50"                   // milliseconds that scrub waits for readers; all writes wait meanwhile
	usualWaits = "5000"
)

// forget notes that the write deletes or replaces something that must not stay in the database's files.
func (t *tx) forget() { t.effects.forgets = true }

// Scrub returns when no file of the database contains anything that was deleted or replaced before the call.
func (s *Store) Scrub(ctx context.Context) error {
	for {
		answer := make(chan error, 1)
		select {
		case s.writer.scrubs <- answer:
		case <-s.writer.done:
			return shuttingDown("scrub database")
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := <-answer; !errors.Is(err, errLogInUse) {
			return failure("scrub database", err)
		}
		select {
		case <-time.After(scrubAgain):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

var errLogInUse = &fleet.Error{Code: fleet.CodeUnavailable, Message: "a reader still needs the write-ahead log",
	Hint: tryAgain}

// scrub copies SQLite's write-ahead log into the database and empties the log. It returns errLogInUse if a reader
// still needs the log. On PostgreSQL it does nothing.
func (w *writer) scrub() error {
	text := w.store.dialect.scrub()
	if text == "" {
		w.unscrubbed = false
		return nil
	}
	if w.session == nil {
		return errLogInUse
	}
	if err := w.store.lock.takenAway(); err != nil {
		return err
	}
	ctx := context.Background()
	conn := w.session.conn
	if _, err := conn.ExecContext(ctx, `PRAGMA busy_timeout(`+scrubWaits+`)`); err != nil {
		return err
	}
	var busy, pages, copied int
	err := conn.QueryRowContext(ctx, text).Scan(&busy, &pages, &copied)
	_, again := conn.ExecContext(ctx, `PRAGMA busy_timeout(`+usualWaits+`)`)
	if err = errors.Join(err, again); err != nil {
		return err
	}
	if busy != 0 {
		return errLogInUse
	}
	w.unscrubbed = false
	return nil
}

// scrubSoon calls scrub if a write has called forget since the last scrub. The writer calls scrubSoon each second, so
// a failed attempt is repeated.
func (w *writer) scrubSoon() {
	if !w.unscrubbed {
		return
	}
	if err := w.scrub(); err != nil {
		w.store.log.Debug("the write-ahead log is not cut yet", logkey.Err(err))
	}
}
