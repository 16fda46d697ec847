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

// tx is one write inside the transaction of its batch. It reads and writes through session. effects collects what
// follows from the write.
type tx struct {
	store   *Store
	session *session
	ctx     context.Context //nolint:containedctx // of the batch: a tx does not outlive it
	now     time.Time
	who     string
	person  string     // user behind who; "": not known
	role    fleet.Role // role of the person who writes; "": Muster writes by itself
	effects effects
	pending effects // effects of earlier writes in the batch, which the ends of the audit do not contain yet
}

// effects are what a write or a batch causes besides its own SQL. The audit entries, marks and tallies are written
// before the commit; everything else happens after it, in memory. If the write or its batch fails, all effects are
// dropped, and only the functions in undo run.
type effects struct {
	model     []func(*contents)
	committed fleet.Committed
	audit     []fleet.AuditEntry
	after     []func()
	undo      []func()
	forgets   bool            // The write deleted or replaced something sealed.
	marks     marks           // marks of row proofs that the write added or removed, by table
	tallies   tallies         // changes to the tallies of marked tables
	sinks     []sinkChange    // changes of sinks, likewise
	settings  []settingChange // changes of the server's settings, which later writes of the batch are checked against
}

func (e *effects) merge(other effects) {
	e.model = append(e.model, other.model...)
	e.committed.Merge(other.committed)
	e.audit = append(e.audit, other.audit...)
	e.after = append(e.after, other.after...)
	e.undo = append(e.undo, other.undo...)
	e.settings = append(e.settings, other.settings...)
	e.sinks = append(e.sinks, other.sinks...)
	e.forgets = e.forgets || other.forgets
	for table, change := range other.marks {
		e.marks = e.marks.with(table, change)
	}
	for table, change := range other.tallies {
		if e.tallies == nil {
			e.tallies = tallies{}
		}
		e.tallies.add(table, change)
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

// savepoint runs one write in a savepoint, and stores the write's own error in a.err. savepoint returns an error only
// if the whole transaction failed.
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

// protect runs a write and turns a panic into an error. A write calls conditions that its caller gave, and a panic in
// one of them must not end the server.
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

// register notes a change of the contents in memory, which is made after the commit.
func (t *tx) register(change func(*contents)) {
	t.effects.model = append(t.effects.model, change)
	t.effects.committed.Registry = true
}

// committed notes that run is to be called after the commit, once the contents in memory are changed.
func (t *tx) committed(run func()) { t.effects.after = append(t.effects.after, run) }

// undone notes that run is to be called if the write or its batch fails. It is for state in the writer's memory that
// the write changes before the commit, because the next write of the same batch needs it.
func (t *tx) undone(run func()) { t.effects.undo = append(t.effects.undo, run) }

// touch notes, for Options.Committed, that a device was stored or deleted or got other settings.
func (t *tx) touch(id fleet.DeviceID) {
	t.effects.committed.Merge(fleet.Committed{Devices: map[fleet.DeviceID]bool{id: true}})
}

// record adds an entry to the audit. The entry is written in the same transaction.
func (t *tx) record(what, subject, detail string) {
	t.effects.audit = append(t.effects.audit, fleet.AuditEntry{At: t.now, Who: t.who, What: what, Subject: subject,
		Detail: detail})
}

// after returns the present time, but at least one millisecond after earlier, so that a stored time always moves
// forward.
func (t *tx) after(earlier time.Time) time.Time {
	if next := earlier.Add(time.Millisecond); t.now.Before(next) {
		return next
	}
	return t.now
}

// absent reports whether a Scan found no row.
func absent(err error) bool { return errors.Is(err, sql.ErrNoRows) }

// millis returns a time as the database stores it: Unix milliseconds, or NULL for the zero time.
func millis(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMilli()
}

// fromMillis converts a time that millis wrote. NULL becomes the zero time.
func fromMillis(ms sql.NullInt64) time.Time {
	if !ms.Valid {
		return time.Time{}
	}
	return time.UnixMilli(ms.Int64).UTC()
}
