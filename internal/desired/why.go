package desired

import (
	"slices"

	"muster/internal/fleet"
	"muster/internal/stconfig"
)

// Why says where a difference between the observed and the desired configuration comes from.
type Why struct {
	Templates  []int64 // that asked for it, in the order of the fold; none: it returns to base
	Authors    []int64 // those of the templates that no admin saved last
	Implied    bool    // a device that a shared folder brings along, or no longer needs
	Returns    bool    // no template asks: what is there without Muster comes back
	Recreates  bool    // a member that Muster removed comes back
	Drift      bool    // what Muster wrote was written over, and is asked for still
	Earlier    bool    // the daemon has a value that Muster wrote earlier, and no template names the place
	Introducer string  // the device that adds again what templates have revoked
	With       string  // key of the change that brings this one along; "" when it stands alone
}

// asked is one key that templates changed in the fold.
type asked struct {
	key       stconfig.Key
	templates []int64
	with      string
	implied   bool // not a template's own: a folder that they share needs it
}

// related tells whether two keys are about the same place, or one about a place inside the other's.
func related(a, b stconfig.Key) bool { return a.HasPrefix(b) || b.HasPrefix(a) }

// askers are the templates that changed something at, above or below a key, in the order of the fold.
func (f *fold) askers(key stconfig.Key) []int64 { return askers(f.asked, key) }

func askers(all []asked, key stconfig.Key) []int64 {
	var ids []int64
	for _, a := range all {
		if !related(a.key, key) {
			continue
		}
		for _, id := range a.templates {
			if !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// Why explains one key of a Diff between what was observed and Desired.
func (r Result) Why(key stconfig.Key) Why {
	why := Why{Templates: askers(r.asked, key)}
	if len(why.Templates) == 0 && !stconfig.Lookup(r.Desired, key).Exists() {
		why.Templates = r.removers(key)
	}
	why.Authors = slices.DeleteFunc(slices.Clone(why.Templates), r.savedByAdmin)
	for _, a := range r.asked {
		if a.with != "" && a.key.Equal(key) {
			why.With = a.with
		}
	}
	named := func(a asked) bool { return !a.implied && related(a.key, key) }
	why.Implied = r.impliedBy(key) && !slices.ContainsFunc(r.asked, named)
	why.Recreates = !stconfig.Lookup(r.observed, key).Exists() && stconfig.Lookup(r.Base, key).Exists()
	for _, rec := range r.records {
		if related(rec.key, key) {
			r.explain(&why, rec, key)
		}
	}
	why.Returns = len(why.Templates) == 0 && !why.Implied || why.Earlier
	return why
}

// removers are the templates that remove a member. One that is there only because Muster made it was not in the fold:
// no template changed anything about it.
func (r Result) removers(member stconfig.Key) (ids []int64) {
	for _, l := range r.laid {
		if l.removes(member) {
			ids = append(ids, l.template.ID)
		}
	}
	return ids
}

func (r Result) savedByAdmin(template int64) bool {
	return slices.ContainsFunc(r.laid, func(l laid) bool { return l.template.ID == template && l.target.adminSaved })
}

// explain says what a record tells of a change.
func (r Result) explain(why *Why, rec record, key stconfig.Key) {
	at := key
	if rec.key.HasPrefix(key) {
		at = rec.key
	}
	now, want := stconfig.Lookup(r.observed, at), stconfig.Lookup(r.Desired, at)
	wrote := stconfig.LookupAt(rec.key, rec.written, at)
	takenAway := rec.Kind == fleet.BaseMade && rec.State == fleet.BaseTheirs && want.Exists()
	neverWent := rec.Kind == fleet.BaseRemoved && rec.State == fleet.BaseSending // its removal did not arrive
	if !neverWent && (rec.State != fleet.BaseOurs || rec.Kind == fleet.BaseMade) {
		why.Drift = why.Drift || takenAway || same(wrote, want) && !same(wrote, now)
	}
	putBack := rec.State == fleet.BaseEarlier
	if rec.Kind != fleet.BaseLeaf {
		putBack = rec.State == fleet.BaseOurs && !same(wrote, now) && rec.wrote(at, now)
	}
	if !at.NamesMember() {
		why.Earlier = why.Earlier || putBack && !r.named(at)
		return
	}
	revoked := at.Equal(rec.key) && rec.State != fleet.BaseOurs || rec.wrote(at, now)
	if introduced(now) && !want.Exists() && revoked {
		why.Introducer, why.Drift = now.Get("introducedBy").Str(), true
	}
}

// named tells whether any template says something of a place.
func (r Result) named(key stconfig.Key) bool {
	return slices.ContainsFunc(r.laid, func(l laid) bool { return l.names(key) })
}

// impliedBy tells whether a change at key is about a device that is or was brought along, and that no person edited.
func (r Result) impliedBy(key stconfig.Key) bool {
	if key.Len() < 2 || !key.HasPrefix(devices) {
		return false
	}
	if r.Implied[fleet.DeviceID(key.At(1).Name)] {
		return true
	}
	return slices.ContainsFunc(r.records, func(rec record) bool {
		edited := slices.ContainsFunc(rec.inner, func(e entry) bool { return e.Kind == fleet.BasePerson })
		return rec.Kind == fleet.BaseMade && rec.Implied && !edited && key.HasPrefix(rec.key)
	})
}
