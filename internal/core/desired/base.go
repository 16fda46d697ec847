package desired

import (
	"slices"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// rewind returns the document as it would be without Muster: members that Muster made are taken out, members that it
// removed are put in, and leaves that it wrote get their base value.
func rewind(observed stconfig.Value, records []record) stconfig.Value {
	var back []stconfig.Change
	for _, r := range records {
		if _, ok := ignoresOf(r.key); ok && !stconfig.Lookup(observed, r.key).Exists() {
			continue
		}
		if r.Kind == fleet.BaseMade || r.outOfBase(observed) {
			back = append(back, stconfig.Change{Key: r.key, To: r.base})
		}
	}
	return stconfig.Patch(observed, back)
}

// outOfBase reports whether rewind must put the base value at the record's place, because the observed value there is
// not the one without Muster. The record is of a leaf, or of a member that Muster removed.
func (r record) outOfBase(observed stconfig.Value) bool {
	if r.Kind == fleet.BaseRemoved && r.State == fleet.BaseSending {
		return !stconfig.Lookup(observed, r.key).Exists()
	}
	return r.State != fleet.BaseTheirs && r.State != fleet.BaseReturned
}

// start returns the value from which templates build a member. It returns defaults, the daemon's default value, as it
// is if the base has the member. A new device gets its label as name. If Muster made the member in an earlier pass,
// the values that people or the daemon have set in the member since replace the defaults.
func (f *fold) start(member stconfig.Key, defaults stconfig.Value) stconfig.Value {
	if stconfig.Lookup(f.base, member).Exists() {
		return defaults
	}
	if member.Len() == 2 && member.HasPrefix(devices) {
		if label := f.nameOf(fleet.DeviceID(member.At(1).Name)); label != "" {
			defaults = defaults.With("name", stconfig.Text(label))
		}
	}
	for _, r := range f.records {
		if r.Kind != fleet.BaseMade || len(r.inner) == 0 || !member.HasPrefix(r.key) {
			continue
		}
		if !stconfig.Lookup(f.Observed, r.key).Exists() { // The values that others set in it are gone, too.
			continue
		}
		for _, e := range r.inner {
			if e.key.HasPrefix(member) && e.key.Len() > member.Len() {
				defaults = stconfig.ReplaceAt(member, defaults, e.key, e.base)
			}
		}
	}
	return defaults
}

// registered reports whether a device is registered with Muster, and returns its label.
func (f *fold) registered(id fleet.DeviceID) (label string, registered bool) {
	if f.Registered == nil {
		return "", false
	}
	return f.Registered(id)
}

// nameOf returns the label of a device; without a label, the name that the daemon has for the device.
func (f *fold) nameOf(id fleet.DeviceID) string {
	if label, _ := f.registered(id); label != "" {
		return label
	}
	return stconfig.Lookup(f.Observed, devices.Child(string(id))).Get("name").Str()
}

// prune drops records that no longer decide anything. If no template asks for a place any more, but its record
// remembers values that Muster wrote there, the record stays in state BaseReturned: when somebody puts such a value
// back, the next reading recognises it.
func (r Result) prune(records []record) []record {
	var kept []record
	for _, rec := range records {
		there := stconfig.Lookup(r.observed, rec.key).Exists()
		if rec.Run != "" || rec.Away {
			kept = append(kept, rec)
			continue
		}
		stale := rec.State == fleet.BaseTheirs || rec.State == fleet.BaseSending &&
			(rec.Kind == fleet.BaseMade && !there || rec.Kind == fleet.BaseRemoved && there)
		rests := rec.Kind == fleet.BaseLeaf || rec.State == fleet.BaseSending && !rec.written.Exists()
		switch stale = stale && len(requestedBy(r.requests, rec.key)) == 0; {
		case stale && rests && len(rec.Earlier) > 0:
			rec.State = fleet.BaseReturned
		case stale, rec.forgettable():
			continue
		}
		kept = append(kept, rec)
	}
	return kept
}

// forgettable reports whether a record decides nothing any more: it is in state BaseReturned and remembers no value
// that Muster wrote, or it is of a member that Muster removed and that would not be there without Muster either. The
// record of a revoked device always decides something.
func (r record) forgettable() bool {
	neverThere := r.Kind == fleet.BaseRemoved && r.State == fleet.BaseOurs && !r.base.Exists()
	return !r.Revoked && !r.Away && (neverThere || r.State == fleet.BaseReturned && len(r.Earlier) == 0)
}

// endRevocations clears Revoked and Away in the records of devices whose revocation has ended. A revocation by
// templates ends when the templates want the device, or when none of the templates that a person consented to removes
// the device any more: another template that removes it needs another consent. Away ends with the revocation in the
// whole fleet.
func (r *Result) endRevocations(records []record) {
	for i := range records {
		rec := &records[i]
		rec.Away = rec.Away && r.whyAway(rec.key) != ""
		if !rec.Revoked {
			continue
		}
		removers := r.removers(rec.key)
		consented := slices.ContainsFunc(rec.Templates, func(id int64) bool { return slices.Contains(removers, id) })
		rec.Revoked = consented && !stconfig.Lookup(r.Desired, rec.key).Exists()
	}
}

// reclaim makes Muster the owner again of members that templates ask for now and that somebody restored from an old
// document (state BaseEarlier). It leaves out members that an introducer added.
func (r *Result) reclaim(records []record) {
	for i := range records {
		rec := &records[i]
		now := stconfig.Lookup(r.observed, rec.key)
		if rec.Kind == fleet.BaseMade && rec.State == fleet.BaseEarlier && now.Exists() && !introduced(now) &&
			stconfig.Lookup(r.Desired, rec.key).Exists() {
			rec.State, rec.written = fleet.BaseOurs, now
			for _, others := range rec.inner {
				rec.written = stconfig.ReplaceAt(rec.key, rec.written, others.key, stconfig.Value{})
			}
		}
	}
}

// markImplied records, for each device that Muster made and still needs, whether it is implied: no template names it.
func (r *Result) markImplied(records []record) {
	for i := range records {
		rec := &records[i]
		if rec.Kind == fleet.BaseMade && isDevice(rec.key) && stconfig.Lookup(r.Desired, rec.key).Exists() {
			rec.Implied = r.Implied[fleet.DeviceID(rec.key.At(1).Name)]
		}
	}
}

// Keep returns the device's ownership entries after a person chose to keep, at these keys, the values that the
// document doc holds. These values become the base.
func Keep(stored []fleet.BaseEntry, keys []stconfig.Key, doc stconfig.Value) ([]fleet.BaseEntry, error) {
	records, err := load(stored, doc)
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		records = slices.DeleteFunc(records, func(r record) bool { return r.key.HasPrefix(key) || r.isShareWith(key) })
		for i := range records {
			if r := &records[i]; key.HasPrefix(r.key) {
				value := stconfig.Lookup(doc, key)
				r.forget(key, value)
				r.adopt(key, value)
				slices.SortFunc(r.inner, func(a, b entry) int { return a.key.Compare(b.key) })
			}
		}
	}
	return store(records), nil
}

// isShareWith reports whether the record is that of a share which a template removed together with this device.
func (r record) isShareWith(device stconfig.Key) bool {
	return r.Kind == fleet.BaseRemoved && device.Len() == 2 && device.HasPrefix(devices) &&
		r.key.Len() == 4 && r.key.HasPrefix(folders) && r.key.At(3) == device.At(1)
}
