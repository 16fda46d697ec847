package desired

import (
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// A daemon with a full disk shows a new value that it could not save, and shows the old value again after a restart.
// So a change that was sent but not acknowledged with success stays open after the read-back. Its record keeps the
// run of the daemon that showed the value. A successful save, or another run, closes the record.

// Reading is a configuration that was read from the daemon, with what is known about the daemon at that moment.
type Reading struct {
	Document     stconfig.Value
	Own          fleet.DeviceID
	Acknowledged []stconfig.Key // keys of the writes that the daemon answered with success
	Run          string         // names the time from one start of the daemon to the next; "" when unknown
	Saved        bool           // The daemon answered a write of its configuration with success, so it saved all of it.
}

// Finish returns the device's ownership entries after a read-back. What the document holds decides whether a change
// that was being sent arrived.
func Finish(stored []fleet.BaseEntry, read Reading) ([]fleet.BaseEntry, error) {
	records, err := load(stored, read.Document)
	if err != nil {
		return nil, err
	}
	return store(observe(records, read)), nil
}

// AwaitSave reports whether any entry belongs to a write that the daemon may not have saved. Such an entry can be
// judged only with a document whose Reading.Run is known.
func AwaitSave(entries []fleet.BaseEntry) bool {
	for _, e := range entries {
		if e.Run != "" {
			return true
		}
	}
	return false
}

// sent judges a record for which a change was sent.
func (s observation) sent(r record) (_ record, stays bool) {
	now, run := stconfig.Lookup(s.Document, r.key), r.Run
	r.Run = ""
	switch arrived := r.hasArrived(now); {
	case run == "" && arrived && s.Run != "" && !s.acknowledged(r.key):
		return s.stayOpen(r, now, s.Run)
	case run == "", s.startedAfter(run):
		return s.byKind(r, now)
	case !arrived: // A person or the daemon changed the place in the same run.
		return s.changedSince(r)
	case s.Saved:
		return s.byKind(r, now)
	}
	return s.stayOpen(r, now, run)
}

// startedAfter reports whether the daemon was restarted after a run. It then shows only what it had saved.
func (s observation) startedAfter(run string) bool { return run != "" && s.Run != "" && s.Run != run }

// hasArrived reports whether the document shows what was sent: the value, the new member, or that the member is gone.
// now is what the document holds at the record's place.
func (r record) hasArrived(now stconfig.Value) bool {
	if r.Kind == fleet.BaseLeaf {
		return r.isSent(now)
	}
	return now.Exists() == r.intended.Exists()
}

// stayOpen keeps a record open: this run of the daemon shows the value as it was sent, and may not have saved it.
func (s observation) stayOpen(r record, now stconfig.Value, run string) (record, bool) {
	r.Run = run
	next, stays := s.byKind(r, now)
	if !stays {
		next = r // The member that Muster had removed is back.
	}
	next.State, next.intended, next.Run = fleet.BaseSending, r.intended, run
	return next, true
}

// changedSince judges a record whose change had arrived, and whose place somebody changed since.
func (s observation) changedSince(r record) (_ record, stays bool) {
	r.State = fleet.BaseOurs
	switch {
	case r.Kind == fleet.BaseRemoved && r.intended.Exists():
		return r, false // The member that Muster had removed was back.
	case r.Kind == fleet.BaseMade && !r.intended.Exists():
		r.State, r.written, r.inner = fleet.BaseReturned, stconfig.Value{}, nil
	case r.Kind == fleet.BaseLeaf && same(r.intended, r.base):
		r.State = fleet.BaseReturned
	}
	r.Run, r.intended = "", stconfig.Value{}
	return s.observeRecord(r)
}

// sentBeforeMigration judges an open record by a document with another version of the configuration's format. Such a
// document comes from another run of the daemon.
func (s observation) sentBeforeMigration(r record) (_ record, stays bool) {
	now := stconfig.Lookup(s.Document, r.key)
	arrived := r.hasArrived(now) || r.Kind == fleet.BaseLeaf && !same(now, r.base) && !r.wrote(r.key, now)
	if arrived {
		return s.changedSince(r)
	}
	r.Run = ""
	return s.observeRecord(r)
}

// unsavedInner judges e, the entry of a value that a person or the daemon set inside a member that Muster made. Muster
// has written over that value or put it back since, and the daemon may not have saved this write. now is the present
// value.
func (s observation) unsavedInner(r *record, e entry, now stconfig.Value) (_ entry, stays bool) {
	run, isBase := e.Run, same(now, e.base)
	e.Run = ""
	switch {
	case run != "" && !s.startedAfter(run) && !isBase: // Somebody changed the value since.
		e.State = fleet.BaseTheirs
	case e.State != fleet.BaseOurs || !isBase || s.startedAfter(run):
	case run != "" && !s.Saved:
		e.Run = run
		return e, true
	case run == "" && r.State == fleet.BaseSending && !s.acknowledged(e.key) && s.Run != "":
		e.Run = s.Run
		return e, true
	}
	return r.innerLeaf(e, now)
}
