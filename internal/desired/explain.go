package desired

import (
	"muster/internal/fleet"
	"muster/internal/stconfig"
)

// Explanation says where the value of one key comes from.
type Explanation struct {
	Key       stconfig.Key
	Desired   stconfig.Value // Absent: the device shall not have it
	Observed  stconfig.Value
	Base      stconfig.Value
	Steps     []Step // the templates that change it, in the order of the fold
	Implied   bool   // it is about a device that a shared folder brings along
	Skipped   []Skipped
	Conflicts []Conflict
}

// Step is one template that changes a key, with what was there before it and after it.
type Step struct {
	Template fleet.Template
	From, To stconfig.Value
}

// Explain folds, and says of one key without `*` which template changes it in which way.
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
