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
	verifyEvery = time.Second     // between two checks of the lock while nothing is written
	verifyLimit = 5 * time.Second // that a check may take
)

// lock is whether this server holds the lock of its database. A server without it writes to no daemon: another
// server may. Lost, it is taken again as soon as that is possible. Once another server had it this one can never go
// on: what it holds in memory is not what is in the database.
type lock struct {
	mu    sync.Mutex // guards the rest
	lost  error      // why this server does not hold the lock; nil while it does
	taken bool       // another server has it, or had it
}

// errTaken is the reason when another server has the database, or had it since.
var errTaken = errors.New("another server has taken the database")

// CheckLock tells whether this server holds the lock of its database at this moment. It asks the database.
func (s *Store) CheckLock(ctx context.Context) error {
	return s.writer.submit(ctx, &request{during: "check lock", answer: make(chan error, 1)})
}

// LockLost says why this server does not hold the lock of its database, as far as is known without asking; nil while
// it does.
func (s *Store) LockLost() error {
	s.lock.mu.Lock()
	defer s.lock.mu.Unlock()
	return s.lock.lost
}

// takenAway is the error that ends this server, nil while there is none.
func (l *lock) takenAway() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.taken {
		return nil
	}
	return l.lost
}

// note remembers whether the lock is held, and tells whether that is news.
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

// noteLock remembers and tells whether the lock is held.
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
		w.tell(fleet.Committed{Registry: true, Modes: true}) // what waited for it goes on
	case errors.Is(err, errTaken):
		w.store.log.Error("another server has the database: this one ends", logkey.Err(err))
		if w.store.taken != nil {
			w.store.taken(err)
		}
	default:
		w.store.log.Warn("the lock of the database is lost, so no daemon is written to", logkey.Err(err))
	}
}

// verify checks while nothing is written that the lock is held, and takes it again where it was lost.
func (w *writer) verify() {
	ctx, cancel := context.WithTimeout(context.Background(), verifyLimit)
	defer cancel()
	if w.store.lock.takenAway() != nil {
		return
	}
	if w.checkHome(ctx) != nil {
		return // it is noted
	}
	if w.session != nil {
		err := w.session.exec(ctx, `SELECT 1`)
		if err == nil {
			w.noteLock(nil)
			return
		}
		w.store.log.Info("the connection to the database was cut", logkey.Err(errors.Join(err, w.disconnect())))
	}
	_ = w.reconnect(ctx) // it notes what became of it
}

// checkHome checks, and notes, whether the lock of the home directory is held. Where a session has the lock there is
// nothing to check.
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

// claim writes into the database that this process opened it.
func (w *writer) claim(ctx context.Context) error {
	w.instance = rand.Text()
	return w.session.exec(ctx, `
		INSERT INTO meta (name, value) VALUES ('server', $1)
		ON CONFLICT (name) DO UPDATE SET value = excluded.value`, w.instance)
}

// checkClaim refuses a database that another process opened since.
func (w *writer) checkClaim(ctx context.Context) error {
	if w.instance == "" {
		return nil // still opening
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

// takenBy is the answer of a server whose database another one has.
func takenBy(what string, cause error) error {
	return &fleet.Error{
		Code: fleet.CodeUnavailable, During: "take the lock again", Err: fmt.Errorf("%w: %w", errTaken, cause),
		Message: "this server lost the lock of its " + what + ", and another Muster server has taken it",
		Hint:    "Nothing is written by this server any more. Use the other one, or stop it and start this one again.",
	}
}
