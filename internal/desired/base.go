package desired

import (
	"slices"

	"muster/internal/fleet"
	"muster/internal/stconfig"
)

// rewind is what a document is without Muster: what it made is out, what it removed is in, and its leaves are at their
// base.
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

// outOfBase tells whether a leaf, or a removed member, is not what it is without Muster.
func (r record) outOfBase(observed stconfig.Value) bool {
	if r.Kind == fleet.BaseRemoved && r.State == fleet.BaseSending {
		return !stconfig.Lookup(observed, r.key).Exists()
	}
	return r.State != fleet.BaseTheirs && r.State != fleet.BaseReturned
}

// start is what a member that templates make starts from: the defaults, with what people and the daemon set in it
// since Muster made it. A device is called by its label.
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
		for _, e := range r.inner {
			if e.key.HasPrefix(member) && e.key.Len() > member.Len() {
				defaults = stconfig.ReplaceAt(member, defaults, e.key, e.base)
			}
		}
	}
	return defaults
}

// registered tells whether a device is registered, and its label.
func (f *fold) registered(id fleet.DeviceID) (label string, registered bool) {
	if f.Registered == nil {
		return "", false
	}
	return f.Registered(id)
}

// nameOf is what a device is called: by its label, else as the daemon has it.
func (f *fold) nameOf(id fleet.DeviceID) string {
	if label, _ := f.registered(id); label != "" {
		return label
	}
	return stconfig.Lookup(f.Observed, devices.Child(string(id))).Get("name").Str()
}

// prune drops the records that say nothing any more, and has those rest that no template asks about: leaves, and
// revoked members whose way back did not arrive.
func (r Result) prune(records []record) []record {
	var kept []record
	for _, rec := range records {
		there := stconfig.Lookup(r.observed, rec.key).Exists()
		if rec.Run != "" {
			kept = append(kept, rec)
			continue
		}
		stale := rec.State == fleet.BaseTheirs || rec.State == fleet.BaseSending &&
			(rec.Kind == fleet.BaseMade && !there || rec.Kind == fleet.BaseRemoved && there)
		rests := rec.Kind == fleet.BaseLeaf || rec.State == fleet.BaseSending && !rec.written.Exists()
		switch stale = stale && len(askers(r.asked, rec.key)) == 0; {
		case stale && rests && len(rec.Earlier) > 0:
			rec.State = fleet.BaseReturned
		case stale, rec.forgettable():
			continue
		}
		kept = append(kept, rec)
	}
	return kept
}

// forgettable tells a record of a place at rest where no earlier value of Muster's is known: nothing can be told from
// it.
func (r record) forgettable() bool { return r.State == fleet.BaseReturned && len(r.Earlier) == 0 }

// reclaim makes members Muster's again that an old document put back, and that templates ask for by now.
func (r *Result) reclaim(records []record) {
	for i := range records {
		rec := &records[i]
		now := stconfig.Lookup(r.observed, rec.key)
		if rec.Kind == fleet.BaseMade && rec.State == fleet.BaseEarlier && now.Exists() && !introduced(now) &&
			stconfig.Lookup(r.Desired, rec.key).Exists() {
			rec.State, rec.written = fleet.BaseOurs, now
		}
	}
}

// imply notes of the devices that Muster made whether any template names them, as long as one wants them there.
func (r *Result) imply(records []record) {
	for i := range records {
		rec := &records[i]
		if rec.Kind == fleet.BaseMade && isDevice(rec.key) && stconfig.Lookup(r.Desired, rec.key).Exists() {
			rec.Implied = r.Implied[fleet.DeviceID(rec.key.At(1).Name)]
		}
	}
}

// Sent is one change that is about to be sent.
type Sent struct {
	Key    stconfig.Key
	To     stconfig.Value // secrets resolved; Absent: removed
	Digest []byte         // keyed digest of a gui.password
}

// Begin gives the device's entries as they have to be recorded before the changes are sent: of these, and of what the
// daemon does by itself together with them.
func (r Result) Begin(sent []Sent) []fleet.BaseEntry {
	changes := make([]stconfig.Change, len(sent))
	for i, s := range sent {
		changes[i] = stconfig.Change{Key: s.Key, To: s.To}
	}
	b := beginning{Result: r, after: stconfig.Patch(r.observed, changes), records: slices.Clone(r.records)}
	for _, s := range sent {
		b.record(s)
	}
	for _, c := range stconfig.Consequences(r.observed, changes) { // rule 3: they are Muster's
		b.record(Sent{Key: c.Key, To: c.To})
	}
	slices.SortFunc(b.records, func(a, b record) int { return a.key.Compare(b.key) })
	return store(b.records)
}

// beginning is one Begin under way.
type beginning struct {
	Result
	after   stconfig.Value
	records []record
}

func (b *beginning) record(s Sent) {
	inMade := func(r record) bool { return r.Kind == fleet.BaseMade && s.Key.HasPrefix(r.key) }
	if at := slices.IndexFunc(b.records, inMade); at >= 0 {
		b.records[at].sending(s, b)
		return
	}
	base := stconfig.Lookup(b.Base, s.Key)
	at := slices.IndexFunc(b.records, func(r record) bool { return r.key.Equal(s.Key) })
	if at < 0 {
		at = len(b.records)
		kind := kindOf(s, base)
		b.records = append(b.records, record{entry: entry{key: s.Key, base: base, BaseEntry: fleet.BaseEntry{
			Kind: kind, ByAdmin: kind == fleet.BaseMade && b.adminsMake(s.Key), Version: versionOf(b.observed)}}})
	}
	switch r := &b.records[at]; r.Kind {
	case fleet.BaseMade:
		r.sending(s, b)
	case fleet.BaseRemoved:
		if r.State == fleet.BaseTheirs || r.Run != "" && r.intended.Exists() { // it is there, with what people set since
			r.base = base
		}
		r.State, r.intended, r.Run, r.Templates = fleet.BaseSending, s.To, "", askers(b.asked, s.Key)
		if s.To.Exists() { // it comes back, with what templates say of it now
			for _, c := range stconfig.DiffAt(s.Key, r.base, s.To) {
				b.record(Sent{Key: c.Key, To: c.To})
			}
		}
	default:
		for _, v := range []stconfig.Value{stconfig.Lookup(b.observed, s.Key), s.To} {
			if !same(v, r.base) {
				r.remember(s.Key, v)
			}
		}
		r.State, r.intended, r.Run, r.Sent = fleet.BaseSending, s.To, "", s.Digest
		r.Templates = askers(b.asked, s.Key)
	}
}

func kindOf(s Sent, base stconfig.Value) fleet.BaseKind {
	switch {
	case !s.Key.NamesMember():
		return fleet.BaseLeaf
	case !base.Exists():
		return fleet.BaseMade
	}
	return fleet.BaseRemoved
}

// sending notes a change of a member that Muster made, or of something in it.
func (r *record) sending(s Sent, b *beginning) {
	now := stconfig.Lookup(b.observed, s.Key)
	if r.State != fleet.BaseSending || r.Run != "" {
		r.State, r.intended, r.Run, r.Templates = fleet.BaseSending, r.written, "", askers(b.asked, r.key)
	}
	r.intended = stconfig.ReplaceAt(r.key, r.intended, s.Key, s.To)
	switch {
	case !r.key.Equal(s.Key):
		r.sendingInside(s, now, b.cameBack(r.key))
	case s.To.Exists():
		r.Implied = isDevice(r.key) && b.Implied[fleet.DeviceID(r.key.At(1).Name)]
		r.written, r.inner = stconfig.Value{}, nil
	default:
		r.remember(r.key, now)
		r.remember(r.key, r.written)
	}
}

// cameBack tells a member that was put there again after templates had revoked it.
func (b *beginning) cameBack(member stconfig.Key) bool {
	return slices.ContainsFunc(b.Result.records, func(r record) bool {
		return r.key.Equal(member) && r.State == fleet.BaseEarlier
	})
}

// sendingInside remembers as Muster's what it sends, and what it sends that over unless it is theirs: of a person, or
// of the one who put the member there again.
func (r *record) sendingInside(s Sent, now stconfig.Value, theirs bool) {
	for i := range r.inner {
		if e := &r.inner[i]; related(e.key, s.Key) {
			theirs = theirs || e.State == fleet.BaseTheirs || e.Run != ""
			e.State, e.Run = fleet.BaseOurs, ""
		}
	}
	if !theirs {
		r.remember(s.Key, now)
	}
	r.remember(s.Key, s.To)
}

// Keep gives the device's entries after a person chose to keep what a document holds at these keys: it is the base.
func Keep(stored []fleet.BaseEntry, keys []stconfig.Key, doc stconfig.Value) ([]fleet.BaseEntry, error) {
	records, err := load(stored)
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		records = slices.DeleteFunc(records, func(r record) bool { return r.key.HasPrefix(key) || r.placeIn(key) })
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

// placeIn tells a place in a folder's list that a template removed together with a device that a person keeps away.
func (r record) placeIn(device stconfig.Key) bool {
	return r.Kind == fleet.BaseRemoved && device.Len() == 2 && device.HasPrefix(devices) &&
		r.key.Len() == 4 && r.key.HasPrefix(folders) && r.key.At(3) == device.At(1)
}
