package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

const (
	verifyEvery = time.Second     // time between two checks of the lock while nothing is written
	verifyLimit = 5 * time.Second // time limit of a check
)

// lock records whether this server holds the lock of its database. A server without the lock does not write to
// daemons, because another server may. It takes a lost lock again as soon as it can. But if another server has had the
// lock meanwhile, this server must end: its memory is not what the database contains.
type lock struct {
	mu    sync.Mutex // guards the rest
	lost  error      // why this server does not hold the lock; nil while it does
	taken bool       // Another server has the lock, or had it since this server lost it.
}

// errTaken is the reason why this server must end: another server has the database, or has had it since this server
// lost the lock.
var errTaken = errors.New("another server has taken the database")

// CheckLock asks the database whether this server holds the lock at this moment. It returns an error if the server
// does not.
func (s *Store) CheckLock(ctx context.Context) error {
	return s.writer.submit(ctx, &request{during: "check lock", answer: make(chan error, 1)})
}

// LockLost returns why this server does not hold the lock, or nil while it does. It answers from memory, without
// asking the database.
func (s *Store) LockLost() error {
	s.lock.mu.Lock()
	defer s.lock.mu.Unlock()
	return s.lock.lost
}

// takenAway returns the error that makes this server end, or nil if it need not end.
func (l *lock) takenAway() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.taken {
		return nil
	}
	return l.lost
}

// note records whether the lock is held. err is nil if it is held, else the reason why not. news reports whether this
// differs from what was recorded before.
func (l *lock) note(err error) (news bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.taken {
		return false
	}
	news = (err == nil) != (l.lost == nil)
	l.lost = err
	if errors.Is(err, errTaken) {
		l.taken = true
		return true
	}
	return news
}

// noteLock records whether the lock is held: err is nil if it is, else the reason why not. If this differs from
// before, noteLock logs the change and notifies the rest of the server.
func (w *writer) noteLock(err error) {
	if err != nil && !errors.Is(err, errTaken) {
		err = &fleet.Error{
			Code: fleet.CodeUnavailable, Err: err, Message: "the lock of the database is lost, so no daemon is written to",
			Hint: "It is taken again by itself. Look whether the database can be reached.",
		}
	}
	if !w.store.lock.note(err) {
		return
	}
	switch {
	case err == nil:
		w.store.log.Info("the lock of the database is held again")
		w.tell(fleet.Committed{Registry: true, Modes: true}) // Work that waited for the lock goes on.
	case errors.Is(err, errTaken):
		w.store.log.Error("another server has the database: this one ends", logkey.Err(err))
		if w.store.taken != nil {
			w.store.taken(err)
		}
	default:
		w.store.log.Warn("the lock of the database is lost, so no daemon is written to", logkey.Err(err))
	}
}

// verify checks that the lock is held, and takes a lost lock again. The writer calls it every second in which it has
// time.
func (w *writer) verify() {
	ctx, cancel := context.WithTimeout(context.Background(), verifyLimit)
	defer cancel()
	if w.store.lock.takenAway() != nil {
		return
	}
	if w.checkHome(ctx) != nil {
		return // checkHome has noted the reason.
	}
	if w.session != nil {
		err := w.session.exec(ctx, `SELECT 1`)
		if err == nil {
			w.noteLock(nil)
			return
		}
		w.store.log.Info("the connection to the database was cut", logkey.Err(errors.Join(err, w.disconnect())))
	}
	_ = w.reconnect(ctx) // reconnect notes the result.
}

// checkHome checks whether the lock of the home directory is held, and records a change. It returns the reason if the
// lock is not held. On PostgreSQL it does nothing, because there the session holds the lock.
func (w *writer) checkHome(ctx context.Context) error {
	if w.store.home == nil {
		return nil
	}
	again, err := w.store.home.check()
	if err == nil && again && w.session != nil {
		err = w.checkClaim(ctx)
	}
	if err != nil || again {
		w.noteLock(err)
	}
	return err
}

// claim makes a random text for this process and writes it into the database. The text that the database has is
// therefore that of the process that opened it last; see checkClaim.
func (w *writer) claim(ctx context.Context) error {
	w.instance = rand.Text()
	return w.session.exec(ctx, `
		INSERT INTO meta (name, value) VALUES ('server', $1)
		ON CONFLICT (name) DO UPDATE SET value = excluded.value`, w.instance)
}

// checkClaim returns an error if another process has opened the database after this one.
func (w *writer) checkClaim(ctx context.Context) error {
	if w.instance == "" {
		return nil // The store is still being opened.
	}
	var last string
	err := w.session.row(ctx, `SELECT value FROM meta WHERE name = 'server'`).Scan(&last)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if last != w.instance {
		return takenBy("database", errTaken)
	}
	return nil
}

// takenBy returns the error of a server whose home directory or database another server has taken.
func takenBy(what string, cause error) error {
	return &fleet.Error{
		Code: fleet.CodeUnavailable, During: "take the lock again", Err: fmt.Errorf("%w: %w", errTaken, cause),
		Message: "this server lost the lock of its " + what + ", and another Muster server has taken it",
		Hint:    "Nothing is written by this server any more. Use the other one, or stop it and start this one again.",
	}
}
