package store

import (
	"context"
	"errors"
	"time"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

// SQLite overwrites with zeros what is deleted or replaced (secure_delete). The write-ahead log still has
// earlier pages until it is copied into the database and cut to nothing. Muster has that done soon after a person
// deleted or replaced something sealed, and at the end of a rotation of the seal key.

const (
	scrubAgain = 200 * time.Millisecond // pause between attempts, while a reader still needs the log
	scrubWaits = "50"                   // milliseconds that the writer, and so other writes, wait for readers
	usualWaits = "5000"
)

// forget notes that the write deletes or replaces something that must not stay in the files.
func (t *tx) forget() { t.effects.forgets = true }

// Scrub returns once no file of the database contains what was deleted or replaced before the call.
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

// scrub copies the write-ahead log into the database and cuts it to nothing.
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

// scrubSoon scrubs when that is needed. The writer calls it each second, until it succeeds.
func (w *writer) scrubSoon() {
	if !w.unscrubbed {
		return
	}
	if err := w.scrub(); err != nil {
		w.store.log.Debug("the write-ahead log is not cut yet", logkey.Err(err))
	}
}
