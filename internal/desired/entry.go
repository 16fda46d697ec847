package desired

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"

	"muster/internal/fleet"
	"muster/internal/stconfig"
)

// entry is a fleet.BaseEntry, read.
type entry struct {
	fleet.BaseEntry
	key                     stconfig.Key
	base, written, intended stconfig.Value
}

// record is what is recorded of one place. The entries of a device do not overlap, except that people's and the
// daemon's places lie in members that Muster made.
type record struct {
	entry
	inner []entry // of a made member: what people and the daemon set in it, by key
}

// load reads entries, by key.
func load(stored []fleet.BaseEntry) ([]record, error) {
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
		if s.Kind == "" {
			entries = append(entries, upgraded(e)...)
			continue
		}
		entries = append(entries, e)
	}
	return gather(entries), nil
}

// gather puts what lies in made members to these.
func gather(entries []entry) []record {
	slices.SortStableFunc(entries, func(a, b entry) int { return a.key.Compare(b.key) })
	var records []record
	for _, e := range entries {
		if n := len(records); n > 0 && records[n-1].Kind == fleet.BaseMade && e.key.HasPrefix(records[n-1].key) {
			records[n-1].take(e)
			continue
		}
		if !isInner(e) {
			records = append(records, record{entry: e})
		}
	}
	return records
}

// take puts an entry into a made member. A leaf was kept on its own where a person had taken over the member.
func (r *record) take(e entry) {
	if e.Kind == fleet.BaseLeaf {
		r.written = stconfig.ReplaceAt(r.key, r.written, e.key, e.written)
		r.Earlier = append(slices.Clip(r.Earlier), e.Earlier...)
		e = entry{key: e.key, base: e.base, BaseEntry: fleet.BaseEntry{Kind: fleet.BasePerson, State: e.State}}
		r.inner = slices.DeleteFunc(r.inner, func(have entry) bool { return have.key.Equal(e.key) })
	}
	if isInner(e) {
		r.inner = append(r.inner, e)
	}
}

func isInner(e entry) bool { return e.Kind == fleet.BasePerson || e.Kind == fleet.BaseDaemon }

// upgraded is an entry as it was kept before entries had a kind: of a member whole, with what a person had made of it.
func upgraded(e entry) []entry {
	made := e.key.NamesMember() && (e.written.Exists() || e.State == fleet.BaseSending && e.intended.Exists()) &&
		(!e.base.Exists() || e.State == fleet.BaseTheirs)
	switch {
	case made && e.State == fleet.BaseTheirs: // taken for the person's with all that was in it, after any edit
		edits := stconfig.DiffAt(e.key, e.written, e.base)
		e.Kind, e.State, e.base = fleet.BaseMade, fleet.BaseOurs, stconfig.Value{}
		if !e.written.Exists() || len(edits) == 1 && edits[0].Key.Equal(e.key) {
			e.State = fleet.BaseTheirs // a person took it away
			return []entry{e}
		}
		parts, theirs := []entry{e}, fleet.BaseEntry{Kind: fleet.BasePerson, State: fleet.BaseTheirs}
		for _, c := range edits {
			parts = append(parts, entry{key: c.Key, base: c.To, BaseEntry: theirs})
		}
		return parts
	case made:
		e.Kind = fleet.BaseMade
		return []entry{e}
	case e.key.NamesMember() && (!e.written.Exists() || e.State == fleet.BaseSending && !e.intended.Exists()):
		e.Kind = fleet.BaseRemoved
		return []entry{e}
	case e.key.NamesMember(): // replaced as a whole: its leaves answer for themselves
		var parts []entry
		for _, c := range stconfig.DiffAt(e.key, e.base, e.written) {
			part := e
			part.Kind, part.key, part.base, part.written = fleet.BaseLeaf, c.Key, c.From, c.To
			part.intended = stconfig.LookupAt(e.key, e.intended, c.Key)
			part.remember(c.Key, c.To)
			parts = append(parts, part)
		}
		return parts
	}
	e.Kind = fleet.BaseLeaf
	if !e.written.Equal(e.base) || e.written.Exists() != e.base.Exists() {
		e.remember(e.key, e.written)
	}
	if e.State == fleet.BaseSending {
		e.remember(e.key, e.intended)
	}
	return []entry{e}
}

// store is the inverse of load.
func store(records []record) []fleet.BaseEntry {
	var stored []fleet.BaseEntry
	add := func(e entry) {
		e.BaseEntry.Key = e.key.String()
		e.BaseEntry.Base, e.BaseEntry.Written, e.BaseEntry.Intended = bytesOf(e.base), bytesOf(e.written), nil
		if e.State == fleet.BaseSending {
			e.BaseEntry.Intended = bytesOf(e.intended)
		}
		stored = append(stored, e.BaseEntry)
	}
	for _, r := range records {
		add(r.entry)
		for _, e := range r.inner {
			add(e)
		}
	}
	return stored
}

func bytesOf(v stconfig.Value) []byte {
	if !v.Exists() {
		return nil
	}
	return v.JSON()
}

// mostEarlier bounds the digests of one entry: the oldest go.
const mostEarlier = 1024

// remember notes that Muster wrote a value at a key that is the entry's or lies below it.
func (e *entry) remember(key stconfig.Key, v stconfig.Value) {
	earlier := slices.Clip(e.Earlier)
	eachLeaf(key, v, func(at stconfig.Key, leaf stconfig.Value) {
		if digest := digestOf(at, leaf); !holds(earlier, digest) {
			earlier = append(earlier, digest...)
		}
	})
	if most := mostEarlier * fleet.EarlierSize; len(earlier) > most {
		earlier = earlier[len(earlier)-most:]
	}
	e.Earlier = earlier
}

// forget drops what remember noted of a value: it is a person's from now on.
func (e *entry) forget(key stconfig.Key, v stconfig.Value) {
	var kept []byte
	for digest := range slices.Chunk(e.Earlier, fleet.EarlierSize) {
		gone := false
		eachLeaf(key, v, func(at stconfig.Key, leaf stconfig.Value) {
			gone = gone || bytes.Equal(digest, digestOf(at, leaf))
		})
		if !gone {
			kept = append(kept, digest...)
		}
	}
	e.Earlier = kept
}

// wrote tells whether there is nothing in a value but what Muster wrote at these very places.
func (e *entry) wrote(key stconfig.Key, v stconfig.Value) bool {
	if len(e.Earlier) == 0 {
		return false
	}
	all := true
	eachLeaf(key, v, func(at stconfig.Key, leaf stconfig.Value) { all = all && holds(e.Earlier, digestOf(at, leaf)) })
	return all
}

// eachLeaf goes over the leaves of a value. Who introduced a member is the daemon's note, not part of it.
func eachLeaf(key stconfig.Key, v stconfig.Value, visit func(stconfig.Key, stconfig.Value)) {
	stconfig.Leaves(key, v, func(at stconfig.Key, leaf stconfig.Value) {
		if at.Equal(key) || at.At(at.Len()-1).Name != "introducedBy" {
			visit(at, leaf)
		}
	})
}

func holds(digests, digest []byte) bool {
	for have := range slices.Chunk(digests, fleet.EarlierSize) {
		if bytes.Equal(have, digest) {
			return true
		}
	}
	return false
}

// digestOf tells one value at a key from another. It is no secret's keeper: it is sealed at rest like the value
// itself.
func digestOf(key stconfig.Key, v stconfig.Value) []byte {
	text := append([]byte(key.String()), 0)
	if v.Exists() {
		text = append(text, stconfig.Normalise(v).JSON()...)
	}
	sum := sha256.Sum256(text)
	return sum[:fleet.EarlierSize]
}
