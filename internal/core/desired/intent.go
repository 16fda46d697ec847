package desired

import (
	"slices"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// Sent is one change that is about to be sent to the daemon.
type Sent struct {
	Key    stconfig.Key
	To     stconfig.Value // the new value, secrets in clear; Absent: the change removes the place
	Digest []byte         // keyed digest of the password when Key is gui.password
	// Consented reports whether a person consented to the change.
	Consented bool
	// Chosen reports whether a person chose the new value (To) instead of the base value. To then becomes the base.
	Chosen bool
}

// Begin returns the device's ownership records as the store must have them before the changes `sent` are sent. They
// cover these changes and, by rule 3 of DESIGN.md, the values that the daemon changes by itself as a consequence.
func (r Result) Begin(sent []Sent) []fleet.BaseEntry {
	changes := make([]stconfig.Change, len(sent))
	for i, s := range sent {
		changes[i] = stconfig.Change{Key: s.Key, To: s.To}
	}
	b := intentRecorder{Result: r, after: stconfig.Patch(r.observed, changes), records: slices.Clone(r.records)}
	for _, s := range sent {
		b.record(s)
	}
	b.causes = sent
	for _, c := range stconfig.Consequences(r.observed, changes) { // Rule 3: what our write causes is ours.
		b.record(Sent{Key: c.Key, To: c.To})
	}
	slices.SortFunc(b.records, func(a, b record) int { return a.key.Compare(b.key) })
	return store(b.records)
}

// intentRecorder collects the records for one call of Begin.
type intentRecorder struct {
	Result
	after   stconfig.Value
	records []record
	// causes are the changes whose consequences are being recorded; nil while the changes themselves are recorded.
	causes []Sent
}

// ask sets in the record r which templates ask for the change at a key. For a consequence these are the templates that
// ask for one of its causes. If no template asks for the change, r keeps its templates: the change takes their value
// away.
func (b *intentRecorder) ask(r *record, key stconfig.Key) {
	templates := requestedBy(b.requests, key)
	for _, cause := range b.causes {
		if len(templates) == 0 {
			templates = requestedBy(b.requests, cause.Key)
		}
	}
	if len(templates) > 0 {
		r.Templates = templates
	}
}

func (b *intentRecorder) record(s Sent) {
	if !s.To.Exists() && b.whyAway(s.Key) != "" {
		b.takingAway(s)
		return
	}
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
		if r.State == fleet.BaseTheirs ||
			r.Run != "" && r.intended.Exists() { // The daemon has the member, with what people set in it.
			r.base = base
		}
		r.State, r.intended, r.Run = fleet.BaseSending, s.To, ""
		r.Revoked = r.Revoked && !s.To.Exists()
		b.ask(r, s.Key)
		b.revoke(r, s)
		if s.To.Exists() && r.base.Exists() { // The member comes back, with the values that templates ask for now.
			for _, c := range stconfig.DiffAt(s.Key, r.base, s.To) {
				b.record(Sent{Key: c.Key, To: c.To})
			}
		}
	default:
		if s.Chosen {
			r.base = s.To
		}
		for _, v := range []stconfig.Value{stconfig.Lookup(b.observed, s.Key), s.To} {
			if !same(v, r.base) {
				r.remember(s.Key, v)
			}
		}
		r.State, r.intended, r.Run, r.Sent = fleet.BaseSending, s.To, "", s.Digest
		b.ask(r, s.Key)
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

// sending records in r, the record of a member that Muster made, that the change s is about to be sent: a change of
// the whole member, or of a value inside it.
func (r *record) sending(s Sent, b *intentRecorder) {
	now := stconfig.Lookup(b.observed, s.Key)
	if r.State != fleet.BaseSending || r.Run != "" {
		r.State, r.intended, r.Run = fleet.BaseSending, r.written, ""
		b.ask(r, r.key)
	}
	r.intended = stconfig.ReplaceAt(r.key, r.intended, s.Key, s.To)
	switch {
	case !r.key.Equal(s.Key):
		r.sendingInside(s, now, b.cameBack(r.key))
	case s.To.Exists():
		r.Implied = isDevice(r.key) && b.Implied[fleet.DeviceID(r.key.At(1).Name)]
		r.written, r.inner, r.Revoked = stconfig.Value{}, nil, false
	default:
		b.revoke(r, s)
		r.going(now, b.cameBack(r.key))
		r.remember(r.key, r.written)
	}
}

// revoke records that the change s removes a device because templates have the op `remove` for it and a person
// consented. The consent covers only these templates.
func (b *intentRecorder) revoke(r *record, s Sent) {
	if !s.Consented || s.To.Exists() || !isDevice(s.Key) {
		return
	}
	if removers := b.removers(s.Key); len(removers) > 0 {
		r.Revoked, r.Templates = true, removers
	}
}

// going records who set the values of a member whose removal is about to be sent. now is the member before the
// removal. Values that a person or the daemon set inside it stay theirs. If theirs is true, somebody else added the
// member again, and every value that Muster never wrote counts as that person's.
func (r *record) going(now stconfig.Value, theirs bool) {
	eachLeaf(r.key, now, func(at stconfig.Key, leaf stconfig.Value) {
		switch others := r.innerAt(at); {
		case others != nil && (others.State != fleet.BaseOurs || others.Run != ""):
		case theirs && !holds(r.Earlier, digestOf(at, leaf)):
			r.adopt(at, leaf)
		default:
			r.remember(at, leaf)
		}
	})
}

// innerAt returns the member's entry for a key, or for a place above that key; nil if there is no such entry.
func (r *record) innerAt(key stconfig.Key) *entry {
	at := slices.IndexFunc(r.inner, func(e entry) bool { return key.HasPrefix(e.key) })
	if at < 0 {
		return nil
	}
	return &r.inner[at]
}

// cameBack reports whether somebody added a member again after templates had revoked it.
func (b *intentRecorder) cameBack(member stconfig.Key) bool {
	return slices.ContainsFunc(b.Result.records, func(r record) bool {
		return r.key.Equal(member) && r.State == fleet.BaseEarlier
	})
}

// sendingInside records a change of a value inside the member, before the change is sent: the new value counts as
// written by Muster. So does now, the present value, unless it belongs to a person. If theirs is true, somebody else
// added the member again, and the present value belongs to that person.
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
