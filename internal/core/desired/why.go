package desired

import (
	"slices"

	"muster/internal/core/stconfig"
	"muster/internal/core/template"
	"muster/internal/fleet"
)

// Why says where a difference between the observed and the desired configuration comes from.
type Why struct {
	Templates  []int64 // templates that ask for the change, in the order of the fold; empty: the place returns to base
	Authors    []int64 // templates among Templates that were not last saved by an admin
	Before     []int64 // templates that asked for what Muster wrote last at the key, as far as that is known
	Implied    bool    // The key is about a device that is or was there only because a folder is shared with it.
	Returns    bool    // No template asks for the place any more: the base value comes back.
	Recreates  bool    // A member that Muster removed comes back.
	Drift      bool    // Somebody changed a value of Muster that templates still ask for.
	Earlier    bool    // The daemon has a value that Muster wrote earlier, and no template names the place.
	Revoked    bool    // The device, or the share with it, came back after it was revoked.
	Away       string  // since when the device, or that of the share, is revoked; "" if it is not
	Introducer string  // the device that, as an introducer, keeps adding what templates revoked
	With       string  // key of the change that causes this one; "" when the change stands alone
}

// request is a key that templates changed in the fold, or that changes together with such a key.
type request struct {
	key       stconfig.Key
	templates []int64
	with      string // key of the change because of which this key changes; "" when a template changed it
	implied   bool   // No template names the key: a folder that the templates share needs it.
}

// related reports whether one of two keys lies at or below the other.
func related(a, b stconfig.Key) bool { return a.HasPrefix(b) || b.HasPrefix(a) }

// requestedBy returns the templates that changed a value at, above or below a key, in the order of the fold.
func (f *fold) requestedBy(key stconfig.Key) []int64 { return requestedBy(f.requests, key) }

func requestedBy(all []request, key stconfig.Key) []int64 {
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

// Why explains one difference between Observed and Desired: the one at this key.
func (r Result) Why(key stconfig.Key) Why {
	if r.whyAway(key) != "" && !stconfig.Lookup(r.Desired, key).Exists() {
		return r.explainAway(key)
	}
	why := Why{Templates: requestedBy(r.requests, key)}
	if len(why.Templates) == 0 && !stconfig.Lookup(r.Desired, key).Exists() {
		why.Templates = r.removers(key)
	}
	why.Authors = slices.DeleteFunc(slices.Clone(why.Templates), r.savedByAdmin)
	for _, a := range r.requests {
		if a.with != "" && a.key.Equal(key) {
			why.With = a.with
		}
	}
	named := func(a request) bool { return !a.implied && related(a.key, key) }
	why.Implied = r.impliedBy(key) && !slices.ContainsFunc(r.requests, named)
	why.Recreates = !stconfig.Lookup(r.observed, key).Exists() && stconfig.Lookup(r.Base, key).Exists()
	for _, rec := range r.records {
		if related(rec.key, key) {
			why.Before = append(why.Before, rec.BaseEntry.Templates...)
			r.explain(&why, rec, key)
		}
	}
	why.Revoked = r.broughtBack(key)
	why.Drift = why.Drift || why.Revoked
	why.Returns = len(why.Templates) == 0 && !why.Implied || why.Earlier
	return why
}

// broughtBack reports whether a change removes a revoked device that somebody added again, or a share with it.
func (r Result) broughtBack(key stconfig.Key) bool {
	device := key
	if isShare(key) {
		device = devices.Child(key.At(3).Name)
	}
	if !isDevice(device) || stconfig.Lookup(r.Desired, key).Exists() {
		return false
	}
	return slices.ContainsFunc(r.records, func(rec record) bool {
		isBack := rec.State == fleet.BaseTheirs || rec.State == fleet.BaseEarlier
		return (rec.Revoked || rec.Away) && isBack && rec.key.Equal(device)
	})
}

// removers returns the templates that remove a member. It is for members that only Muster had made: the base does not
// have them, so no template changed them in the fold.
func (r Result) removers(member stconfig.Key) (ids []int64) {
	for _, l := range r.applied {
		if l.removes(member) {
			ids = append(ids, l.template.ID)
		}
	}
	return ids
}

func (r Result) savedByAdmin(template int64) bool {
	return slices.ContainsFunc(r.applied, func(l applied) bool { return l.template.ID == template && l.target.adminSaved })
}

// explain sets the fields of why that follow from rec, one ownership record at, above or below the key of the change.
func (r Result) explain(why *Why, rec record, key stconfig.Key) {
	at := key
	if rec.key.HasPrefix(key) {
		at = rec.key
	}
	now, want := stconfig.Lookup(r.observed, at), stconfig.Lookup(r.Desired, at)
	wrote := stconfig.LookupAt(rec.key, rec.written, at)
	takenAway := rec.Kind == fleet.BaseMade && rec.State == fleet.BaseTheirs && want.Exists()
	neverWent := rec.Kind == fleet.BaseRemoved && rec.State == fleet.BaseSending // The removal did not arrive.
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

// named reports whether the value of any template contains the key.
func (r Result) named(key stconfig.Key) bool {
	return slices.ContainsFunc(r.applied, func(l applied) bool { return l.names(key) })
}

// impliedBy reports whether a change of this key is about an implied device that no person edited.
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

// ByAdmins folds only the templates that admins saved, and returns the desired document. all is the fold of all
// templates. If an admin's template works only together with an author's, the fold fails and ByAdmins returns its
// error.
func ByAdmins(in Input, all Result) (stconfig.Value, error) {
	var saved []fleet.Template
	for _, t := range in.Templates {
		if t.SavedByAdmin() {
			saved = append(saved, t)
		}
	}
	switch len(saved) {
	case 0:
		return all.Base, nil
	case len(in.Templates):
		return all.Desired, nil
	}
	in.Templates = saved
	alone, err := Fold(in)
	return alone.Desired, err
}

// MadeByAdmins reports whether a template that an admin saved makes the member now, or was the first to make it. The
// member still counts as made by admins if an author later saves that template, removes its tag, or names the member
// in a template of the author's own.
func (r Result) MadeByAdmins(member stconfig.Key) bool {
	marked := func(rec record) bool { return rec.ByAdmin && rec.key.Equal(member) }
	return slices.ContainsFunc(r.records, marked) || r.adminsMake(member)
}

// markAdmins records which of the members that Muster made belong to admins.
func (r *Result) markAdmins(records []record) {
	for i := range records {
		rec := &records[i]
		rec.ByAdmin = rec.ByAdmin || rec.Kind == fleet.BaseMade && r.adminsMake(rec.key)
	}
}

// adminsMake reports whether a template that an admin saved names the member itself, and not only a value inside it.
func (r Result) adminsMake(member stconfig.Key) bool {
	return slices.ContainsFunc(r.applied, func(l applied) bool {
		to := l.target
		makes := to.op != fleet.OpRemove && to.key.Len() <= member.Len() && !to.key.HasEvery()
		return to.adminSaved && makes && l.names(member)
	})
}

// Explanation tells where the value of one key comes from.
type Explanation struct {
	Key      stconfig.Key
	Desired  stconfig.Value // Absent: the device is not to have the key
	Observed stconfig.Value
	Base     stconfig.Value
	Steps    []Step           // the templates that change it, in the order of the fold
	Agreed   []fleet.Template // templates that ask for the value that is there without them
	Implied  bool             // The key is about an implied device.
	Drift    bool             // Somebody changed at the daemon what templates still ask for.
	// Inner is ByDaemon for a place inside a member that Muster made, where the daemon's value counts. Introduced tells
	// that the daemon or an introducer set it, not a person.
	Inner      Owner
	Introduced bool
	Skipped    []Skipped
	Conflicts  []Conflict
}

// IsEmpty reports whether there is nothing to explain: the key is mistyped, or the device has no such folder or device
// and no template names one.
func (e Explanation) IsEmpty() bool {
	return !e.Desired.Exists() && !e.Observed.Exists() && !e.Base.Exists() && len(e.Steps)+len(e.Skipped) == 0
}

// Step is one template that changes a key, with the values before and after.
type Step struct {
	Template fleet.Template
	From, To stconfig.Value
}

// Line returns the line of the template's text that names the key, or 0 when that is not known.
func (s Step) Line(key stconfig.Key) int {
	at, err := stconfig.ParseKey(s.Template.Key)
	if err != nil || at.Len() > key.Len() {
		return 0
	}
	var names []string
	for i := at.Len(); i < key.Len(); i++ {
		names = append(names, key.At(i).Name)
	}
	return template.LocateName(s.Template.Text, names)
}

// innerOwner returns ByDaemon for a place inside a member that Muster made, if the daemon's value counts there.
func (r Result) innerOwner(key stconfig.Key) (owner Owner, introduced bool) {
	for _, rec := range r.records {
		for _, inner := range rec.inner {
			if key.HasPrefix(inner.key) && same(stconfig.Lookup(r.observed, inner.key), inner.base) {
				return ByDaemon, inner.Kind == fleet.BaseDaemon
			}
		}
	}
	return "", false
}

// Explain folds the templates and returns, for one key without `*`, how each template changes its value.
func Explain(in Input, key stconfig.Key) (Explanation, error) {
	out := Explanation{Key: key}
	in.folded = func(t fleet.Template, before, after stconfig.Value) {
		from, to := stconfig.Lookup(before, key), stconfig.Lookup(after, key)
		if !same(from, to) {
			out.Steps = append(out.Steps, Step{Template: t, From: from, To: to})
		}
	}
	r, err := Fold(in)
	if err != nil {
		return out, err
	}
	out.Desired, out.Base = stconfig.Lookup(r.Desired, key), stconfig.Lookup(r.Base, key)
	out.Observed, out.Implied = stconfig.Lookup(r.observed, key), r.impliedBy(key)
	out.Drift = !same(out.Observed, out.Desired) && r.Why(key).Drift
	out.Inner, out.Introduced = r.innerOwner(key)
	for _, l := range r.applied {
		changes := func(s Step) bool { return s.Template.ID == l.template.ID }
		if l.target.op != fleet.OpRemove && l.names(key) && !slices.ContainsFunc(out.Steps, changes) {
			out.Agreed = append(out.Agreed, l.template)
		}
	}
	for _, s := range r.Skipped {
		if related(s.Key, key) {
			out.Skipped = append(out.Skipped, s)
		}
	}
	for _, c := range r.Conflicts {
		if related(c.Key, key) {
			out.Conflicts = append(out.Conflicts, c)
		}
	}
	return out, nil
}
