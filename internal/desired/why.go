package desired

import (
	"slices"

	"muster/internal/fleet"
	"muster/internal/stconfig"
)

// Why says where a difference between the observed and the desired configuration comes from.
type Why struct {
	Templates []int64 // that asked for it, in the order of the fold; none: it returns to base
	Implied   bool    // a device that a shared folder brings along, or no longer needs
	Returns   bool    // no template asks: what stood there before Muster comes back
	Recreates bool    // a member that Muster removed comes back
	Drift     bool    // what Muster wrote was written over, and is asked for still
	With      string  // key of the change that brings this one along; "" when it stands alone
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
	for _, a := range r.asked {
		if a.with != "" && a.key.Equal(key) {
			why.With = a.with
		}
	}
	why.Implied = r.impliedBy(key) && !slices.ContainsFunc(r.asked, func(a asked) bool { return !a.implied && related(a.key, key) })
	why.Returns = len(why.Templates) == 0 && !why.Implied
	why.Recreates = !stconfig.Lookup(r.observed, key).Exists() && stconfig.Lookup(r.Base, key).Exists()
	for _, e := range r.entries {
		if e.State == fleet.BaseTheirs && related(e.key, key) && r.wroteDesired(e, key) {
			why.Drift = true
		}
	}
	return why
}

// impliedBy tells whether a change at key is about a device that is or was brought along.
func (r Result) impliedBy(key stconfig.Key) bool {
	if key.Len() < 2 || !key.HasPrefix(devices) {
		return false
	}
	return r.Implied[fleet.DeviceID(key.At(1).Name)] || r.broughtAlong(key)
}

// wroteDesired tells whether what is desired at key is what Muster had written there.
func (r Result) wroteDesired(e entry, key stconfig.Key) bool {
	want := stconfig.Lookup(r.Desired, key)
	if e.key.HasPrefix(key) {
		return alike(e.key, e.written, stconfig.Lookup(r.Desired, e.key), r.device)
	}
	had := stconfig.Lookup(stconfig.Replace(r.observed, e.key, e.written), key)
	return want.Exists() == had.Exists() && want.Equal(had)
}
