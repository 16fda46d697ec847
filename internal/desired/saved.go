package desired

import (
	"muster/internal/fleet"
	"muster/internal/stconfig"
)

// A daemon may show what it did not save: its disk is full, and it loses the value when it starts anew. So what was
// sent and not answered with success stays open after it was read back. Its record notes the run of the daemon that
// showed it. A save, or another run, closes it.

// Reading is a configuration as it was read back, with what is known of the daemon.
type Reading struct {
	Document     stconfig.Value
	Own          fleet.DeviceID
	Acknowledged []stconfig.Key // went out in writes that the daemon answered with success
	Run          string         // of the daemon, from one start to the next; "" when it is not known
	Saved        bool           // the daemon answered a write of its configuration with success, so it saved all of it
}

// Finish gives the device's entries after the daemon was read again. Whatever is still being sent is told by what is
// there now.
func Finish(stored []fleet.BaseEntry, read Reading) ([]fleet.BaseEntry, error) {
	records, err := load(stored)
	if err != nil {
		return nil, err
	}
	return store(settle(records, read)), nil
}

// AwaitSave tells whether any entry is of a write that the daemon may not have saved. Such entries are compared only
// with a document of a known run.
func AwaitSave(entries []fleet.BaseEntry) bool {
	for _, e := range entries {
		if e.Run != "" {
			return true
		}
	}
	return false
}

// sending is settle for a record of which something was sent.
func (s settling) sending(r record) (_ record, stays bool) {
	now, run := stconfig.Lookup(s.Document, r.key), r.Run
	r.Run = ""
	switch arrived := r.arrivedAs(now); {
	case run == "" && arrived && s.Run != "" && !s.took(r.key):
		return s.open(r, now, s.Run)
	case run == "", s.startedAfter(run):
		return s.place(r, now)
	case !arrived: // a person or the daemon changed it in the same run
		return s.afterwards(r)
	case s.Saved:
		return s.place(r, now)
	}
	return s.open(r, now, run)
}

// startedAfter tells a daemon that was started anew after a run: it has what it saved.
func (s settling) startedAfter(run string) bool { return run != "" && s.Run != "" && s.Run != run }

// arrivedAs tells whether a document has what was sent: the value, or the member, or neither of them where it was to be
// taken away.
func (r record) arrivedAs(now stconfig.Value) bool {
	if r.Kind == fleet.BaseLeaf {
		return r.took(now)
	}
	return now.Exists() == r.intended.Exists()
}

// open keeps a record open that a run of the daemon shows as it was sent.
func (s settling) open(r record, now stconfig.Value, run string) (record, bool) {
	r.Run = run
	next, stays := s.place(r, now)
	if !stays {
		next = r // a removed member that is back
	}
	next.State, next.intended, next.Run = fleet.BaseSending, r.intended, run
	return next, true
}

// afterwards settles a record of which all that was sent had arrived before.
func (s settling) afterwards(r record) (_ record, stays bool) {
	r.State = fleet.BaseOurs
	switch {
	case r.Kind == fleet.BaseRemoved && r.intended.Exists():
		return r, false // it was back
	case r.Kind == fleet.BaseMade && !r.intended.Exists():
		r.State, r.written, r.inner = fleet.BaseReturned, stconfig.Value{}, nil
	case r.Kind == fleet.BaseLeaf && same(r.intended, r.base):
		r.State = fleet.BaseReturned
	}
	r.Run, r.intended = "", stconfig.Value{}
	return s.settle(r)
}

// migrated settles an open record in a document of another version, which is of another run.
func (s settling) migrated(r record) (_ record, stays bool) {
	now := stconfig.Lookup(s.Document, r.key)
	arrived := r.arrivedAs(now) || r.Kind == fleet.BaseLeaf && !same(now, r.base) && !r.wrote(r.key, now)
	if arrived {
		return s.afterwards(r)
	}
	r.Run = ""
	return s.settle(r)
}

// innerAt is settleOne for a place of a person's or the daemon's that Muster wrote over, or put back without the
// daemon saving that.
func (s settling) innerAt(r *record, e entry, now stconfig.Value) (_ entry, stays bool) {
	run, isBase := e.Run, same(now, e.base)
	e.Run = ""
	switch {
	case run != "" && !s.startedAfter(run) && !isBase: // it was changed since
		e.State = fleet.BaseTheirs
	case e.State != fleet.BaseOurs || !isBase || s.startedAfter(run):
	case run != "" && !s.Saved:
		e.Run = run
		return e, true
	case run == "" && r.State == fleet.BaseSending && !s.took(e.key) && s.Run != "":
		e.Run = s.Run
		return e, true
	}
	return r.settleOne(e, now)
}
