package desired

import (
	"slices"

	"golang.org/x/crypto/bcrypt"

	"muster/internal/fleet"
	"muster/internal/stconfig"
)

// settling says of every record whose value a document that was just read holds there.
type settling struct {
	Reading
	version int64 // of the document
}

func settle(records []record, read Reading) []record {
	s := settling{Reading: read, version: versionOf(read.Document)}
	var settled []record
	for _, r := range records {
		if s.unread(r.key) || s.rests(r.key, settled) {
			settled = append(settled, r)
			continue
		}
		if !s.placeOf(r.key) {
			continue // what it lay in was taken away, and its base with it
		}
		if next, stays := s.settle(r); stays {
			settled = append(settled, next)
		}
	}
	for i, r := range settled {
		settled[i] = s.withoutLost(r, settled)
	}
	return slices.DeleteFunc(settled, func(r record) bool {
		return r.Kind == fleet.BaseRemoved && isShare(r.key) && s.lost(r.key.At(3).Name, settled)
	})
}

func isShare(key stconfig.Key) bool {
	return key.Len() == 4 && key.HasPrefix(folders) && key.At(2).Name == "devices"
}

// lost tells a device that a person removed, not Muster: what was shared with it does not come back.
func (s settling) lost(id string, all []record) bool {
	device := devices.Child(id)
	return !stconfig.Lookup(s.Document, device).Exists() && !slices.ContainsFunc(all, func(other record) bool {
		return other.key.Equal(device) && other.State != fleet.BaseTheirs
	})
}

// withoutLost takes the shares with devices that a person removed out of a folder that Muster made or removed.
func (s settling) withoutLost(r record, all []record) record {
	if r.key.Len() != 2 || !r.key.HasPrefix(folders) {
		return r
	}
	switch r.Kind {
	case fleet.BaseMade:
		r.inner = slices.DeleteFunc(slices.Clone(r.inner), func(e entry) bool {
			return isShare(e.key) && s.lost(e.key.At(3).Name, all)
		})
	case fleet.BaseRemoved:
		for share := range r.base.Get("devices").Values() {
			if id := share.Get("deviceID").Str(); s.lost(id, all) {
				r.base = stconfig.ReplaceAt(r.key, r.base, r.key.Child("devices").Child(id), stconfig.Value{})
			}
		}
	}
	return r
}

// rests tells a place in a member that Muster removed: what is recorded of it holds again when the member is back.
// Parents come before what lies in them.
func (s settling) rests(key stconfig.Key, settled []record) bool {
	return slices.ContainsFunc(settled, func(r record) bool {
		return r.Kind == fleet.BaseRemoved && key.Len() > r.key.Len() && key.HasPrefix(r.key) &&
			!stconfig.Lookup(s.Document, r.key).Exists()
	})
}

// unread tells ignore patterns that were not read this time.
func (s settling) unread(key stconfig.Key) bool {
	folder, ok := ignoresOf(key)
	return ok && folderOf(s.Document, folder).Exists() && !s.Document.Get("ignores").Get(folder).Exists()
}

// placeOf tells whether the document has what a key lies in.
func (s settling) placeOf(key stconfig.Key) bool {
	if folder, ok := ignoresOf(key); ok {
		return folderOf(s.Document, folder).Exists()
	}
	return stconfig.Lookup(s.Document, key.Parent()).Exists()
}

func (s settling) settle(r record) (_ record, stays bool) {
	if r.Version != 0 && r.Version != s.version {
		if r.Run != "" {
			return s.migrated(r)
		}
		if r, stays = s.migrate(r); !stays {
			return r, false
		}
	}
	r.Version = s.version
	if r.State == fleet.BaseSending {
		return s.sending(r)
	}
	return s.place(r, stconfig.Lookup(s.Document, r.key))
}

func (s settling) place(r record, now stconfig.Value) (_ record, stays bool) {
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

// leaf is rule 2 for one value.
func (s settling) leaf(e entry, now stconfig.Value) entry {
	if e.State == fleet.BaseSending {
		return s.sent(e, now)
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

// notOurs is the state of a leaf that does not hold Muster's value: it is at rest where Muster had put it back before.
func (e *entry) notOurs() fleet.BaseState {
	if e.State == fleet.BaseReturned || e.State == fleet.BaseEarlier {
		return fleet.BaseReturned
	}
	return fleet.BaseTheirs
}

// sent is leaf after an intent: what it sent is there, or not, or something else is.
func (s settling) sent(e entry, now stconfig.Value) entry {
	took := e.took(now)
	switch {
	case took || s.took(e.key):
		if !took {
			e.Sent = nil // of a password: the daemon's hash is of another text
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

// took tells whether the daemon said yes to a write of the key, or of what it lies in.
func (s settling) took(key stconfig.Key) bool {
	return slices.ContainsFunc(s.Acknowledged, key.HasPrefix)
}

// took tells whether what is there is what was sent. The daemon keeps a hash of gui.password.
func (e entry) took(now stconfig.Value) bool {
	if e.key.Equal(password) && e.intended.Exists() {
		return now.Str() == e.intended.Str() ||
			bcrypt.CompareHashAndPassword([]byte(now.Str()), []byte(e.intended.Str())) == nil
	}
	return same(now, e.intended)
}

var password = stconfig.Key{}.Child("gui").Child("password")

// removed is rule 1 for a member that Muster took away.
func (s settling) removed(r record, now stconfig.Value) (_ record, stays bool) {
	sending := r.State == fleet.BaseSending
	switch {
	case !now.Exists() && r.State == fleet.BaseTheirs:
		return r, false // a person took it away
	case !now.Exists():
		r.State = fleet.BaseOurs
	case sending && r.intended.Exists():
		return r, false // it is back
	case sending && !s.took(r.key):
		return r, true // it may go still
	case introduced(now):
		r.State = fleet.BaseEarlier // the base stays what it was
	default:
		r.State = fleet.BaseTheirs
	}
	r.intended = stconfig.Value{}
	return r, true
}

// made is rule 1 for a member that Muster made.
func (s settling) made(r record, now stconfig.Value) (record, bool) {
	if !now.Exists() {
		r.inner = nil
		switch {
		case r.State == fleet.BaseSending && r.intended.Exists() && !s.took(r.key):
			return r, true // it may come still
		case r.State == fleet.BaseSending && !r.intended.Exists():
			r.State, r.written = fleet.BaseReturned, stconfig.Value{}
		case r.State == fleet.BaseEarlier:
			r.State = fleet.BaseReturned
		case r.State != fleet.BaseReturned:
			r.State = fleet.BaseTheirs // the one who makes it anew owns it
			r.remember(r.key, r.written)
		}
		r.intended = stconfig.Value{}
		return r, true
	}
	switch r.State {
	case fleet.BaseTheirs:
		if introduced(now) || !r.wrote(r.key, now) {
			return r, false
		}
		// An old document put it back as Muster had made it, and a template asks for it still.
	case fleet.BaseReturned: // what was only brought along was not revoked: an introducer may add it
		r.State = fleet.BaseEarlier
		return r, introduced(now) && !r.Implied || r.wrote(r.key, now) && !introduced(now)
	case fleet.BaseEarlier:
		return r, true
	}
	r.settleInner(s, now)
	r.State, r.intended = fleet.BaseOurs, stconfig.Value{}
	return r, true
}

func introduced(member stconfig.Value) bool { return member.Get("introducedBy").Str() != "" }

// settleInner tells, in a member that Muster made, what is Muster's and the daemon's from what a person set.
func (r *record) settleInner(s settling, now stconfig.Value) {
	if r.State == fleet.BaseSending {
		r.arrived(s, now)
	}
	var inner []entry
	for _, e := range r.inner {
		if !stconfig.LookupAt(r.key, now, e.key.Parent()).Exists() {
			continue // what it lay in is gone
		}
		if e, stays := s.innerAt(r, e, stconfig.LookupAt(r.key, now, e.key)); stays {
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

// adopt makes a place in a made member that of the person or daemon that set it.
func (r *record) adopt(key stconfig.Key, value stconfig.Value) {
	kind := fleet.BasePerson
	if introduced(value) {
		kind = fleet.BaseDaemon
	}
	r.inner = slices.DeleteFunc(r.inner, func(e entry) bool { return e.key.HasPrefix(key) })
	theirs := fleet.BaseEntry{Kind: kind, State: fleet.BaseTheirs}
	r.inner = append(r.inner, entry{key: key, base: value, BaseEntry: theirs})
}

// settleOne is leaf for a place that a person had set before. Who sets it back to Muster's value has undone the edit.
func (r *record) settleOne(e entry, now stconfig.Value) (_ entry, stays bool) {
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

// arrived takes over, after an intent, what the daemon has of it. A daemon fills what it was not told.
func (r *record) arrived(s settling, now stconfig.Value) {
	if !r.written.Exists() {
		r.written = now
		if s.took(r.key) {
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
		if s.took(c.Key) || r.intended.Exists() && same(c.To, stconfig.LookupAt(r.key, r.intended, c.Key)) {
			r.remember(c.Key, c.From)
			r.written = stconfig.ReplaceAt(r.key, r.written, c.Key, c.To)
		}
	}
}

// isOwnShare tells the device's own place in a folder's list, which the daemon sees to.
func isOwnShare(key stconfig.Key, own fleet.DeviceID) bool {
	return key.Len() == 4 && key.HasPrefix(folders) && key.At(2).Name == "devices" && key.At(3).Name == string(own)
}

// isLearnt tells the name of a device that the daemon learnt by itself.
func isLearnt(c stconfig.Change) bool {
	return c.Key.Len() == 3 && c.Key.HasPrefix(devices) && c.Key.At(2).Name == "name" && c.From.Str() == ""
}

// same compares two values, either of which may be absent. Lists of members count by identity.
func same(a, b stconfig.Value) bool {
	return a.Exists() == b.Exists() && (!a.Exists() || a.Equal(b))
}
