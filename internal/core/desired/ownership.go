package desired

import (
	"slices"
	"strconv"

	"golang.org/x/crypto/bcrypt"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// observation applies a document that was just read to the records: it decides for each record's place whether the
// value there is Muster's, a person's or the daemon's.
type observation struct {
	Reading
	version int64 // version of the configuration's format, as the document says
}

// observe returns the records, updated by a reading of the daemon's configuration. It applies rules 1 to 4 of
// DESIGN.md.
func observe(records []record, read Reading) []record {
	s := observation{Reading: read, version: versionOf(read.Document)}
	var observed []record
	for _, r := range records {
		if s.unread(r.key) || s.inRemovedMember(r.key, observed) {
			observed = append(observed, r)
			continue
		}
		if !s.hasPlace(r.key) {
			continue // The parent is gone, and with it what the base had there.
		}
		if next, stays := s.observeRecord(r); stays {
			observed = append(observed, next)
		}
	}
	for i, r := range observed {
		observed[i] = s.withoutRemovedDevices(r, observed)
	}
	return slices.DeleteFunc(observed, func(r record) bool {
		return r.Kind == fleet.BaseRemoved && isShare(r.key) && s.personRemoved(r.key.At(3).Name, observed)
	})
}

func isShare(key stconfig.Key) bool {
	return key.Len() == 4 && key.HasPrefix(folders) && key.At(2).Name == "devices"
}

// personRemoved reports whether a person, not Muster, removed the device with this ID. Shares with that device do not
// come back.
func (s observation) personRemoved(id string, all []record) bool {
	device := devices.Child(id)
	return !stconfig.Lookup(s.Document, device).Exists() && !slices.ContainsFunc(all, func(other record) bool {
		return other.key.Equal(device) && other.State != fleet.BaseTheirs
	})
}

// withoutRemovedDevices returns the record of a folder, which Muster made or removed, without the shares with devices
// that a person removed. It returns any other record as it is.
func (s observation) withoutRemovedDevices(r record, all []record) record {
	if r.key.Len() != 2 || !r.key.HasPrefix(folders) {
		return r
	}
	switch r.Kind {
	case fleet.BaseMade:
		r.inner = slices.DeleteFunc(slices.Clone(r.inner), func(e entry) bool {
			return isShare(e.key) && s.personRemoved(e.key.At(3).Name, all)
		})
	case fleet.BaseRemoved:
		for share := range r.base.Get("devices").Values() {
			if id := share.Get("deviceID").Str(); s.personRemoved(id, all) {
				r.base = stconfig.ReplaceAt(r.key, r.base, r.key.Child("devices").Child(id), stconfig.Value{})
			}
		}
	}
	return r
}

// inRemovedMember reports whether a place lies inside a member that Muster removed. The record of such a place waits
// unchanged until the member is back. Records are sorted, so the member's record is already among observed.
func (s observation) inRemovedMember(key stconfig.Key, observed []record) bool {
	return slices.ContainsFunc(observed, func(r record) bool {
		return r.Kind == fleet.BaseRemoved && key.Len() > r.key.Len() && key.HasPrefix(r.key) &&
			!stconfig.Lookup(s.Document, r.key).Exists()
	})
}

// unread reports whether this reading lacks the ignore patterns at a key although the document has their folder: the
// patterns were not read.
func (s observation) unread(key stconfig.Key) bool {
	folder, ok := ignoresOf(key)
	return ok && folderOf(s.Document, folder).Exists() && !s.Document.Get("ignores").Get(folder).Exists()
}

// hasPlace reports whether the document has the place of a key: the parent of the key, or the folder whose ignore
// patterns the key names.
func (s observation) hasPlace(key stconfig.Key) bool {
	if folder, ok := ignoresOf(key); ok {
		return folderOf(s.Document, folder).Exists()
	}
	return stconfig.Lookup(s.Document, key.Parent()).Exists()
}

// observeRecord returns a record as it is after this reading. stays is false when the record is dropped.
func (s observation) observeRecord(r record) (_ record, stays bool) {
	if r.Version != 0 && r.Version != s.version {
		if r.Run != "" {
			return s.sentBeforeMigration(r)
		}
		if r, stays = s.migrate(r); !stays {
			return r, false
		}
	}
	r.Version = s.version
	if r.State == fleet.BaseSending {
		return s.sent(r)
	}
	return s.byKind(r, stconfig.Lookup(s.Document, r.key))
}

// byKind applies the rule for the record's kind. now is what the document holds at the record's place.
func (s observation) byKind(r record, now stconfig.Value) (_ record, stays bool) {
	switch r.Kind {
	case fleet.BaseMade:
		return s.made(r, now)
	case fleet.BaseRemoved:
		return s.removed(r, now)
	}
	r.entry = s.leaf(r.entry, now)
	r.intended = stconfig.Value{}
	return r, true
}

// leaf applies rule 2 to one value. now is the value that the daemon has.
func (s observation) leaf(e entry, now stconfig.Value) entry {
	if e.State == fleet.BaseSending {
		return s.sentLeaf(e, now)
	}
	switch {
	case same(now, e.base):
		e.State = e.notOurs()
		if same(now, e.written) {
			e.State = fleet.BaseReturned
		}
	case e.wrote(e.key, now):
		if e.notOurs() == fleet.BaseReturned {
			e.State = fleet.BaseEarlier
		} else {
			e.State = fleet.BaseOurs
		}
	default:
		e.base, e.State = now, e.notOurs()
	}
	return e
}

// notOurs returns the state of a leaf whose present value is not Muster's: BaseReturned if Muster had put the base
// value back before, otherwise BaseTheirs (the value belongs to a person or the daemon).
func (e *entry) notOurs() fleet.BaseState {
	if e.State == fleet.BaseReturned || e.State == fleet.BaseEarlier {
		return fleet.BaseReturned
	}
	return fleet.BaseTheirs
}

// sentLeaf judges a leaf for which a write was sent: the write arrived, or it did not, or somebody wrote another
// value.
func (s observation) sentLeaf(e entry, now stconfig.Value) entry {
	took := e.isSent(now)
	switch {
	case took || s.acknowledged(e.key):
		if !took {
			e.Sent = nil // The daemon's password hash is that of another text.
		}
		if !same(now, e.base) {
			e.remember(e.key, now)
		}
		e.written, e.State = now, fleet.BaseOurs
		if same(now, e.base) {
			e.State = fleet.BaseReturned
		}
	case same(now, e.base):
		e.State, e.Sent = fleet.BaseTheirs, nil
	case e.wrote(e.key, now):
		e.State, e.Sent = fleet.BaseOurs, nil
	default:
		e.base, e.State, e.Sent = now, fleet.BaseTheirs, nil
	}
	return e
}

// acknowledged reports whether the daemon answered a write of this key, or of an object that contains it, with success.
func (s observation) acknowledged(key stconfig.Key) bool {
	return slices.ContainsFunc(s.Acknowledged, key.HasPrefix)
}

// isSent reports whether now, the value in the document, is the one that was sent. Of gui.password the daemon keeps
// only a hash.
func (e entry) isSent(now stconfig.Value) bool {
	if e.key.Equal(password) && e.intended.Exists() {
		return now.Str() == e.intended.Str() ||
			bcrypt.CompareHashAndPassword([]byte(now.Str()), []byte(e.intended.Str())) == nil
	}
	return same(now, e.intended)
}

var password = stconfig.Key{}.Child("gui").Child("password")

// removed applies rule 1 to a member that Muster removed. now is the member in the document, or Absent.
func (s observation) removed(r record, now stconfig.Value) (_ record, stays bool) {
	sending := r.State == fleet.BaseSending
	switch {
	case !now.Exists() && r.State == fleet.BaseTheirs && !r.Revoked && !r.Away:
		return r, false // A person removed the member.
	case !now.Exists() && r.State == fleet.BaseTheirs:
		r.State, r.base = fleet.BaseOurs, stconfig.Value{} // Without Muster it would not be there either.
	case !now.Exists():
		r.State = fleet.BaseOurs
	case sending && r.intended.Exists():
		return r, false // The member is back.
	case sending && !s.acknowledged(r.key):
		return r, true // The removal may still arrive.
	case introduced(now):
		r.State = fleet.BaseEarlier // The base stays.
	default:
		r.State = fleet.BaseTheirs
	}
	r.intended = stconfig.Value{}
	return r, true
}

// made applies rule 1 to a member that Muster made. now is the member in the document, or Absent.
func (s observation) made(r record, now stconfig.Value) (record, bool) {
	if !now.Exists() {
		removing := r.State == fleet.BaseSending && !r.intended.Exists()
		if !removing && r.State != fleet.BaseEarlier && r.State != fleet.BaseReturned {
			r.inner = nil
		}
		switch {
		case r.State == fleet.BaseSending && r.intended.Exists() && !s.acknowledged(r.key):
			return r, true // The member may still arrive.
		case removing:
			r.State, r.written = fleet.BaseReturned, stconfig.Value{}
		case r.State == fleet.BaseEarlier:
			r.State = fleet.BaseReturned
		case r.State != fleet.BaseReturned:
			r.State = fleet.BaseTheirs // A person removed the member; the person who makes it anew owns it.
			r.remember(r.key, r.written)
		}
		r.intended = stconfig.Value{}
		return r, true
	}
	switch r.State {
	case fleet.BaseTheirs:
		if introduced(now) || !r.held(now) {
			return r, false
		}
		// Somebody restored an old document that has the member, and a template still asks for the member.
	case fleet.BaseReturned: // An implied device was not revoked, so an introducer may add it.
		stays := introduced(now) && !r.Implied || r.held(now) && !introduced(now)
		if !stays && (r.Revoked || r.Away) {
			return r.addedAgain(now), true
		}
		r.State = fleet.BaseEarlier
		r.inner = slices.DeleteFunc(slices.Clone(r.inner), func(e entry) bool {
			return !same(e.base, stconfig.LookupAt(r.key, now, e.key))
		})
		return r, stays
	case fleet.BaseEarlier:
		return r, true
	}
	r.observeInner(s, now)
	r.State, r.intended = fleet.BaseOurs, stconfig.Value{}
	return r, true
}

// addedAgain returns a new record for a revoked device that somebody added again: the device is theirs, as if Muster
// had removed it once. The next plan removes it again.
func (r *record) addedAgain(now stconfig.Value) record {
	return record{entry: entry{key: r.key, base: now, BaseEntry: fleet.BaseEntry{Kind: fleet.BaseRemoved,
		State: fleet.BaseTheirs, Revoked: r.Revoked, Away: r.Away, Version: r.Version, Templates: r.Templates}}}
}

// held reports whether every value of the member now is one that Muster wrote, or one that others had in the member
// when Muster removed it. It returns false if the record remembers no value that Muster wrote.
func (r *record) held(now stconfig.Value) bool {
	all := len(r.Earlier) > 0
	eachLeaf(r.key, now, func(at stconfig.Key, leaf stconfig.Value) {
		others := r.innerAt(at)
		all = all && (holds(r.Earlier, digestOf(at, leaf)) || others != nil && same(stconfig.LookupAt(others.key, others.base,
			at), leaf))
	})
	return all
}

func introduced(member stconfig.Value) bool { return member.Get("introducedBy").Str() != "" }

// observeInner finds out which values inside a member that Muster made were set by others since, and records them in
// r.inner. now is the member in the document.
func (r *record) observeInner(s observation, now stconfig.Value) {
	if r.State == fleet.BaseSending {
		r.takeOver(s, now)
	}
	var inner []entry
	for _, e := range r.inner {
		if !stconfig.LookupAt(r.key, now, e.key.Parent()).Exists() {
			continue // The object that contained the value is gone.
		}
		if e, stays := s.unsavedInner(r, e, stconfig.LookupAt(r.key, now, e.key)); stays {
			inner = append(inner, e)
		}
	}
	r.inner = inner
	for _, c := range stconfig.DiffAt(r.key, r.written, now) {
		covered := slices.ContainsFunc(r.inner, func(e entry) bool { return c.Key.HasPrefix(e.key) })
		switch {
		case covered, isOwnShare(c.Key, s.Own), r.wrote(c.Key, c.To):
		case isLearnt(c):
			r.written = stconfig.ReplaceAt(r.key, r.written, c.Key, c.To)
		default:
			r.adopt(c.Key, c.To)
		}
	}
	slices.SortFunc(r.inner, func(a, b entry) int { return a.key.Compare(b.key) })
}

// adopt records that a place inside a member that Muster made belongs to the person or daemon that set its value.
func (r *record) adopt(key stconfig.Key, value stconfig.Value) {
	kind := fleet.BasePerson
	if introduced(value) {
		kind = fleet.BaseDaemon
	}
	r.inner = slices.DeleteFunc(r.inner, func(e entry) bool { return e.key.HasPrefix(key) })
	theirs := fleet.BaseEntry{Kind: kind, State: fleet.BaseTheirs}
	r.inner = append(r.inner, entry{key: key, base: value, BaseEntry: theirs})
}

// innerLeaf applies rule 2 to e, the entry of a value that a person had set inside a member that Muster made. now is
// the present value. If the person set it back to Muster's value, that edit is undone: stays is false, and the entry
// is dropped.
func (r *record) innerLeaf(e entry, now stconfig.Value) (_ entry, stays bool) {
	switch {
	case same(now, e.base):
		e.State = fleet.BaseTheirs
	case same(now, stconfig.LookupAt(r.key, r.written, e.key)):
		return e, e.State == fleet.BaseOurs
	case r.wrote(e.key, now):
		e.State = fleet.BaseOurs
	default:
		e.base, e.State = now, fleet.BaseTheirs
	}
	return e, true
}

// takeOver updates r.written, the member as Muster wrote it, after a write. now is the member as the daemon shows it.
// Fields of a new member that were not sent count as written, because the daemon fills them in. A value that differs
// from the sent one counts only if the daemon acknowledged the write.
func (r *record) takeOver(s observation, now stconfig.Value) {
	if !r.written.Exists() {
		r.written = now
		if s.acknowledged(r.key) {
			return
		}
		for _, c := range stconfig.DiffAt(r.key, now, r.intended) {
			if c.From.Exists() && c.To.Exists() {
				r.written = stconfig.ReplaceAt(r.key, r.written, c.Key, c.To)
			}
		}
		return
	}
	for _, c := range stconfig.DiffAt(r.key, r.written, now) {
		if s.acknowledged(c.Key) || r.intended.Exists() && same(c.To, stconfig.LookupAt(r.key, r.intended, c.Key)) {
			r.remember(c.Key, c.From)
			r.written = stconfig.ReplaceAt(r.key, r.written, c.Key, c.To)
		}
	}
}

// isOwnShare reports whether a key is the entry of the daemon's own device in the list of a folder's devices. The
// daemon maintains that entry.
func isOwnShare(key stconfig.Key, own fleet.DeviceID) bool {
	return key.Len() == 4 && key.HasPrefix(folders) && key.At(2).Name == "devices" && key.At(3).Name == string(own)
}

// isLearnt reports whether the change is that the daemon learnt the name of another device by itself. Every other
// difference counts as an edit, as long as the version of the configuration's format stays the same (ADR 19).
func isLearnt(c stconfig.Change) bool {
	return c.Key.Len() == 3 && c.Key.HasPrefix(devices) && c.Key.At(2).Name == "name" && c.From.Str() == ""
}

// same reports whether two values mean the same (Value.Equal). Either may be Absent.
func same(a, b stconfig.Value) bool {
	return a.Exists() == b.Exists() && (!a.Exists() || a.Equal(b))
}

// Rule 4: an upgraded daemon migrates its configuration, and that is not an edit. Records are carried over to the new
// version. Records of fields that the new version does not have are dropped.

func versionOf(doc stconfig.Value) int64 {
	version, err := strconv.ParseInt(doc.Get("version").Str(), 10, 64)
	if err != nil {
		return 0
	}
	return version
}

// migrate carries a record over to the version of the document. stays is false when that version does not have the
// record's field.
func (s observation) migrate(r record) (_ record, stays bool) {
	now, held := stconfig.Lookup(s.Document, r.key), r.written
	if r.Kind == fleet.BaseLeaf && r.State != fleet.BaseOurs {
		held = r.base
	}
	before := stconfig.Replace(s.Document.With("version", stconfig.Literal(strconv.FormatInt(r.Version, 10))), r.key, held)
	m, migrated := stconfig.MigrationOf(before, s.Document)
	switch {
	case !migrated || r.Kind == fleet.BaseRemoved: // A removed member is carried over when it is put back.
		return r, true
	case r.Kind == fleet.BaseMade:
		for _, c := range stconfig.DiffAt(r.key, r.written, now) {
			if !c.Key.Equal(r.key) && m.Explains(c) {
				r.written = stconfig.ReplaceAt(r.key, r.written, c.Key, c.To)
			}
		}
		return r, true
	case same(held, now) || !m.Explains(stconfig.Change{Key: r.key, From: held, To: now}):
		return r, true
	case !now.Exists():
		return r, false
	case r.State == fleet.BaseOurs:
		r.base, r.written = m.Carry(r.key, r.base, before), now
		r.remember(r.key, now)
	default:
		r.base = now
	}
	return r, true
}
