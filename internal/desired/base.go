package desired

import (
	"fmt"
	"slices"

	"golang.org/x/crypto/bcrypt"

	"muster/internal/fleet"
	"muster/internal/stconfig"
)

// entry is a fleet.BaseEntry, read.
type entry struct {
	fleet.BaseEntry
	key                     stconfig.Key
	base, written, intended stconfig.Value
}

// load reads entries, parents before what lies in them.
func load(stored []fleet.BaseEntry) ([]entry, error) {
	entries := make([]entry, 0, len(stored))
	for _, s := range stored {
		e := entry{BaseEntry: s}
		var err error
		if e.key, err = stconfig.ParseKey(s.Key); err != nil {
			return nil, fmt.Errorf("base entry %q: %w", s.Key, err)
		}
		for _, part := range []struct {
			to   *stconfig.Value
			from []byte
		}{{&e.base, s.Base}, {&e.written, s.Written}, {&e.intended, s.Intended}} {
			if part.from == nil {
				continue
			}
			if *part.to, err = stconfig.Parse(part.from); err != nil {
				return nil, fmt.Errorf("base entry %q: %w", s.Key, err)
			}
		}
		entries = append(entries, e)
	}
	slices.SortFunc(entries, func(a, b entry) int { return a.key.Compare(b.key) })
	return entries, nil
}

// store is the inverse of load.
func store(entries []entry) []fleet.BaseEntry {
	stored := make([]fleet.BaseEntry, 0, len(entries))
	for _, e := range entries {
		e.BaseEntry.Key = e.key.String()
		e.BaseEntry.Base, e.BaseEntry.Written, e.BaseEntry.Intended = bytesOf(e.base), bytesOf(e.written), nil
		if e.State == fleet.BaseSending {
			e.BaseEntry.Intended = bytesOf(e.intended)
		}
		stored = append(stored, e.BaseEntry)
	}
	return stored
}

func bytesOf(v stconfig.Value) []byte {
	if !v.Exists() {
		return nil
	}
	return v.JSON()
}

// settle says of every entry whose value stands at its key in a document that was just read. acknowledged names the
// keys that the daemon took with success a moment ago: what stands there is ours, however the daemon normalised it.
func settle(entries []entry, doc stconfig.Value, own fleet.DeviceID, acknowledged map[string]bool) []entry {
	var settled []entry
	for i, e := range entries {
		if folder, ok := ignoresOf(e.key); ok && folderOf(doc, folder).Exists() && !doc.Get("ignores").Get(folder).Exists() {
			settled = append(settled, e) // not read this time: as before
			continue
		}
		if !stconfig.Lookup(doc, e.key.Parent()).Exists() {
			continue // what it lay in was taken away, and its base with it
		}
		if e.State == fleet.BaseOurs {
			e.written = e.writtenBelow(entries[i+1:], doc, own)
		}
		e = settleOne(e, doc, own, acknowledged[e.key.String()])
		if e.State == fleet.BaseOurs && !e.Implied && alike(e.key, e.base, e.written, own) {
			continue // back at base
		}
		settled = append(settled, split(e, own)...)
	}
	return settled
}

func settleOne(e entry, doc stconfig.Value, own fleet.DeviceID, acknowledged bool) entry {
	now := stconfig.Lookup(doc, e.key)
	theirs := func() entry {
		e.State, e.base, e.intended = fleet.BaseTheirs, now, stconfig.Value{}
		return e
	}
	switch e.State {
	case fleet.BaseTheirs:
		return theirs()
	case fleet.BaseSending:
		if alike(e.key, e.written, now, own) { // not taken, or nothing to take
			e.State, e.intended, e.Sent = fleet.BaseOurs, stconfig.Value{}, nil
			return e
		}
		took := e.took(doc, now, own)
		if !took && !acknowledged {
			return theirs()
		}
		if !took {
			e.Sent = nil // of a password: the daemon's hash is of another text
		}
		e.State, e.written, e.intended = fleet.BaseOurs, now, stconfig.Value{}
		return e
	}
	if alike(e.key, e.written, now, own) {
		return e
	}
	return theirs()
}

// writtenBelow is what Muster wrote at a member's key, with what it wrote since at keys inside that have entries of their
// own: these answer for themselves. They are the first of the entries that follow.
func (e entry) writtenBelow(following []entry, doc stconfig.Value, own fleet.DeviceID) stconfig.Value {
	if len(following) == 0 || !following[0].key.HasPrefix(e.key) ||
		e.written.Kind() != stconfig.Object || !stconfig.Lookup(doc, e.key).Exists() {
		return e.written
	}
	was := stconfig.Replace(doc, e.key, e.written)
	for _, inner := range following {
		if !inner.key.HasPrefix(e.key) {
			break
		}
		if inner.State == fleet.BaseTheirs {
			continue
		}
		now := stconfig.Lookup(doc, inner.key)
		if inner.State == fleet.BaseSending || alike(inner.key, inner.written, now, own) {
			was = stconfig.Replace(was, inner.key, now)
		}
	}
	return stconfig.Lookup(was, e.key)
}

// took tells whether what stands there is what was sent. The daemon keeps a hash of gui.password.
func (e entry) took(doc, now stconfig.Value, own fleet.DeviceID) bool {
	if e.key.Equal(password) {
		return now.Str() == e.intended.Str() ||
			bcrypt.CompareHashAndPassword([]byte(now.Str()), []byte(e.intended.Str())) == nil
	}
	return alike(e.key, e.intended, now, own)
}

var password = stconfig.Key{}.Child("gui").Child("password")

// split turns an entry of a member that was there before, and is there changed, into entries of what changed in it: so
// a person's edit of one field makes that field theirs, not the whole member.
func split(e entry, own fleet.DeviceID) []entry {
	if e.State != fleet.BaseOurs || e.base.Kind() != stconfig.Object || e.written.Kind() != stconfig.Object {
		return []entry{e}
	}
	var parts []entry
	for _, c := range stconfig.DiffAt(e.key, e.base, e.written) {
		if saysNothing(c, own) {
			continue
		}
		part := e
		part.key, part.base, part.written = c.Key, c.From, c.To
		parts = append(parts, part)
	}
	return parts
}

// rewind puts every key where Muster's value stands back to its base.
func rewind(observed stconfig.Value, entries []entry) stconfig.Value {
	var back []stconfig.Change
	for _, e := range entries {
		if e.State != fleet.BaseOurs {
			continue
		}
		if _, ok := ignoresOf(e.key); ok && !stconfig.Lookup(observed, e.key).Exists() {
			continue
		}
		back = append(back, stconfig.Change{Key: e.key, To: e.base})
	}
	return stconfig.Patch(observed, back)
}

// prune drops entries of keys that a person wrote over and nobody asks for any more, and of devices that were brought
// along and that no folder will need again.
func (r Result) prune(entries []entry) []entry {
	var shared map[string]bool // by the base; made when it is needed
	return slices.DeleteFunc(entries, func(e entry) bool {
		gone := e.State == fleet.BaseOurs && e.Implied && !e.written.Exists()
		if gone && shared == nil {
			shared = sharedBy(r.Base)
		}
		gone = gone && !shared[e.key.At(1).Name]
		return gone || e.State == fleet.BaseTheirs && len(askers(r.asked, e.key)) == 0
	})
}

// alike compares two values of one key as the daemon's owner would: a field that only one of them has (the daemon is
// newer, or older) says nothing, nor does a name that the daemon learnt by itself, nor the daemon's own entry in a
// folder's list. Entries of free maps and members of lists count.
func alike(key stconfig.Key, a, b stconfig.Value, own fleet.DeviceID) bool {
	if a.Exists() != b.Exists() {
		return false
	}
	if a.Kind() != stconfig.Object || b.Kind() != stconfig.Object {
		return a.Equal(b)
	}
	for _, c := range stconfig.DiffAt(key, a, b) {
		learnt := c.Key.HasPrefix(devices) && c.Key.Len() == 3 && c.Key.At(2).Name == "name" && c.From.Str() == ""
		if !learnt && !saysNothing(c, own) {
			return false
		}
	}
	return true
}

func saysNothing(c stconfig.Change, own fleet.DeviceID) bool {
	n := c.Key.Len()
	if n < 2 {
		return false
	}
	last, parent := c.Key.At(n-1).Name, c.Key.At(n-2).Name
	oneSided := c.From.Exists() != c.To.Exists()
	switch {
	case c.Key.HasPrefix(folders) && n == 4 && parent == "devices":
		return last == string(own)
	case !oneSided || isFree(parent):
		return false
	}
	return c.Key.At(0).Name != "remoteIgnoredDevices" && parent != "ignoredFolders"
}

// Sent is one change that is about to be sent.
type Sent struct {
	Key    stconfig.Key
	To     stconfig.Value // secrets resolved; Absent: removed
	Digest []byte         // keyed digest of a gui.password
}

// Begin gives the device's entries as they have to be recorded before the changes are sent.
func (r Result) Begin(sent []Sent) []fleet.BaseEntry {
	changes := make([]stconfig.Change, len(sent))
	for i, s := range sent {
		changes[i] = stconfig.Change{Key: s.Key, To: s.To}
	}
	after := stconfig.Patch(r.observed, changes)
	entries := slices.Clone(r.entries)
	for _, s := range sent {
		key := r.entryKey(s.Key)
		e := entry{key: key, base: stconfig.Lookup(r.Base, key)}
		whole := key.Equal(s.Key) && (e.base.Kind() == stconfig.Object || s.To.Kind() == stconfig.Object)
		if was := r.broughtAlong(key); was || r.keptAlong(key) || r.impliedBy(key) && !e.base.Exists() {
			e.Implied, e.base = key.Len() == 2, stconfig.Value{} // what keepAlong puts there is no base of its own
		}
		entries = slices.DeleteFunc(entries, func(old entry) bool {
			return old.key.Equal(key) || whole && old.key.HasPrefix(key)
		})
		e.State = fleet.BaseSending
		e.written, e.intended = stconfig.Lookup(r.observed, key), stconfig.Lookup(after, key)
		e.Templates, e.Sent = askers(r.asked, key), s.Digest
		entries = append(entries, e)
	}
	slices.SortFunc(entries, func(a, b entry) int { return a.key.Compare(b.key) })
	return store(entries)
}

// broughtAlong tells whether a key is that of a device which is, or was, there because a folder needed it.
func (r Result) broughtAlong(key stconfig.Key) bool {
	return slices.ContainsFunc(r.entries, func(e entry) bool {
		return e.Implied && e.State == fleet.BaseOurs && e.key.Equal(key)
	})
}

// keptAlong tells whether a key is that of a device that a template made, and that is there for the sake of a person's
// folder: it is so from now on, and comes and goes with the folder.
func (r Result) keptAlong(key stconfig.Key) bool {
	if key.Len() != 2 || !key.HasPrefix(devices) || !r.registered[fleet.DeviceID(key.At(1).Name)] || !stconfig.Lookup(r.Base, key).Exists() {
		return false
	}
	return slices.ContainsFunc(r.entries, func(e entry) bool {
		return e.State == fleet.BaseOurs && e.key.Equal(key) && !e.base.Exists()
	})
}

// entryKey is the key under which a change is kept: the outermost member that was not there before Muster, or the
// changed key itself.
func (r Result) entryKey(changed stconfig.Key) stconfig.Key {
	var prefixes []stconfig.Key
	for key := changed; !key.IsRoot(); key = key.Parent() {
		prefixes = append(prefixes, key)
	}
	for _, key := range slices.Backward(prefixes) {
		if !stconfig.Lookup(r.Base, key).Exists() {
			return key
		}
	}
	return changed
}

// Finish gives the device's entries after the daemon was read again. acknowledged names the keys that went out in
// writes which the daemon answered with success; whatever else is still being sent is told by what stands there now.
func Finish(stored []fleet.BaseEntry, readBack stconfig.Value, own fleet.DeviceID, acknowledged []stconfig.Key) ([]fleet.BaseEntry, error) {
	entries, err := load(stored)
	if err != nil {
		return nil, err
	}
	ours := map[string]bool{}
	for _, e := range entries {
		ours[e.key.String()] = slices.ContainsFunc(acknowledged, func(k stconfig.Key) bool { return related(k, e.key) })
	}
	return store(settle(entries, readBack, own, ours)), nil
}

// Keep gives the device's entries after a person chose to keep what is there: at and below these keys, what is there
// is the new base; for a device that includes its places in the folders' lists.
func Keep(stored []fleet.BaseEntry, keys []stconfig.Key) ([]fleet.BaseEntry, error) {
	entries, err := load(stored)
	if err != nil {
		return nil, err
	}
	entries = slices.DeleteFunc(entries, func(e entry) bool {
		return slices.ContainsFunc(keys, func(kept stconfig.Key) bool {
			share := kept.Len() == 2 && kept.HasPrefix(devices) && e.key.Len() == 4 && e.key.HasPrefix(folders) && e.key.At(3) == kept.At(1)
			return share || e.key.HasPrefix(kept)
		})
	})
	return store(entries), nil
}
