package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"muster/internal/fleet"
)

// tx is one write inside the transaction of its batch: what it may use, and what it will have changed once the batch
// is committed.
type tx struct {
	store   *Store
	session *session
	ctx     context.Context //nolint:containedctx // of the batch: a tx does not outlive it
	now     time.Time
	who     string
	role    fleet.Role // "": Muster by itself
	based   *int64     // the generation in which a change was judged; nil: it may be made in any
	from    string     // the source whose files the write comes from; "": none
	effects effects
	pending marks // of the writes before in the same batch: the ends of the audit do not have them yet
}

// effects are what follows from a commit. They are dropped when the write or its batch fails: then undo is what
// follows.
type effects struct {
	model     []func(*contents)
	committed fleet.Committed
	audit     []fleet.AuditEntry
	after     []func()
	undo      []func()
	forgets   bool  // something sealed was deleted or replaced
	marks     marks // of the proofs of rows that came or went
}

func (e *effects) merge(other effects) {
	e.model = append(e.model, other.model...)
	e.committed.Merge(other.committed)
	e.audit = append(e.audit, other.audit...)
	e.after = append(e.after, other.after...)
	e.undo = append(e.undo, other.undo...)
	e.forgets = e.forgets || other.forgets
	for table, change := range other.marks {
		e.marks = e.marks.with(table, change)
	}
}

func (e *effects) takeBack() {
	for _, run := range slices.Backward(e.undo) {
		run()
	}
}

func (e *effects) empty() bool {
	return len(e.model)+len(e.after) == 0 && e.committed.Empty()
}

// savepoint runs one write. The error it returns is one of the transaction as a whole.
func (t *tx) savepoint(a *attempt) error {
	if err := t.exec("SAVEPOINT one_write"); err != nil {
		return err
	}
	if a.err = t.protect(a.request.do); a.err != nil {
		t.effects.takeBack()
		if err := t.exec("ROLLBACK TO SAVEPOINT one_write"); err != nil {
			return errors.Join(a.err, err)
		}
	}
	return t.exec("RELEASE SAVEPOINT one_write")
}

// protect turns a panic into an error: the callers' conditions run here, and one that breaks must not take the server
// with it.
func (t *tx) protect(do func(*tx) error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return do(t)
}

func (t *tx) exec(text string, args ...any) error { return t.session.exec(t.ctx, text, args...) }

func (t *tx) affect(text string, args ...any) (int64, error) {
	return t.session.affect(t.ctx, text, args...)
}

func (t *tx) row(text string, args ...any) scanner { return t.session.row(t.ctx, text, args...) }

// register changes the model of what is registered, once committed.
func (t *tx) register(change func(*contents)) {
	t.effects.model = append(t.effects.model, change)
	t.effects.committed.Registry = true
}

// committed runs something once the model has what was written.
func (t *tx) committed(run func()) { t.effects.after = append(t.effects.after, run) }

// undone runs something when the write, or its batch, fails: for what the writer remembers and the next write of the
// same batch has to know.
func (t *tx) undone(run func()) { t.effects.undo = append(t.effects.undo, run) }

// touch says that a device was put, deleted, or got other settings.
func (t *tx) touch(id fleet.DeviceID) {
	t.effects.committed.Merge(fleet.Committed{Devices: map[fleet.DeviceID]bool{id: true}})
}

// record writes the audit along with the change.
func (t *tx) record(what, subject, detail string) {
	t.effects.audit = append(t.effects.audit, fleet.AuditEntry{At: t.now, Who: t.who, What: what, Subject: subject,
		Detail: detail})
}

// after is the present, or a millisecond after earlier when the clock has not moved since, or was set back.
func (t *tx) after(earlier time.Time) time.Time {
	if next := earlier.Add(time.Millisecond); t.now.Before(next) {
		return next
	}
	return t.now
}

// absent tells whether a Scan found no row.
func absent(err error) bool { return errors.Is(err, sql.ErrNoRows) }

// millis is a time as the database keeps it; NULL for the zero time.
func millis(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMilli()
}

// fromMillis is the reverse.
func fromMillis(ms sql.NullInt64) time.Time {
	if !ms.Valid {
		return time.Time{}
	}
	return time.UnixMilli(ms.Int64).UTC()
}
