package desired

import (
	"slices"

	"muster/internal/fleet"
	"muster/internal/stconfig"
)

// ByAdmins is what the templates that admins saved make of the same device without the help of the others. Where they
// cannot stand alone it is the base: then nothing counts as asked for by admins alone.
func ByAdmins(in Input, all Result) stconfig.Value {
	var saved []fleet.Template
	for _, t := range in.Templates {
		if t.SavedByAdmin() {
			saved = append(saved, t)
		}
	}
	switch len(saved) {
	case 0:
		return all.Base
	case len(in.Templates):
		return all.Desired
	}
	in.Templates = saved
	alone, err := Fold(in)
	if err != nil {
		return all.Base
	}
	return alone.Desired
}

// MadeByAdmins tells whether a template that an admin saved makes a member, or made it once: it stays the admins' when
// an author saves that template, or takes its tag off, and names the member in one of their own.
func (r Result) MadeByAdmins(member stconfig.Key) bool {
	marked := func(rec record) bool { return rec.ByAdmin && rec.key.Equal(member) }
	return slices.ContainsFunc(r.records, marked) || r.adminsMake(member)
}

// vouch notes which of the members that Muster made are those of admins.
func (r *Result) vouch(records []record) {
	for i := range records {
		rec := &records[i]
		rec.ByAdmin = rec.ByAdmin || rec.Kind == fleet.BaseMade && r.adminsMake(rec.key)
	}
}

// adminsMake tells whether a template that an admin saved names a member itself, and not only something in it.
func (r Result) adminsMake(member stconfig.Key) bool {
	return slices.ContainsFunc(r.laid, func(l laid) bool {
		to := l.target
		makes := to.op != fleet.OpRemove && to.key.Len() <= member.Len() && !to.key.HasEvery()
		return to.adminSaved && makes && l.names(member)
	})
}
