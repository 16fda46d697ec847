package desired

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// entry is a fleet.BaseEntry with its JSON parsed.
type entry struct {
	fleet.BaseEntry
	key                     stconfig.Key
	base, written, intended stconfig.Value
}

// record is what is known about the ownership of one place. The records of a device do not overlap, with one
// exception: values that people or the daemon set inside a member that Muster made.
type record struct {
	entry
	inner []entry // for a made member: the values inside it that people or the daemon set, by key
}

// load parses stored entries and sorts them by key. A value that equals the value of the document doc at the same key
// shares its memory.
func load(stored []fleet.BaseEntry, doc stconfig.Value) ([]record, error) {
	read := entryReader{doc: doc}
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
			if *part.to, err = read.value(e.key, part.from); err != nil {
				return nil, fmt.Errorf("base entry %q: %w", s.Key, err)
			}
		}
		entries = append(entries, e)
	}
	return gather(entries), nil
}

// largeValue is the size in bytes from which load compares a stored value with the document, to share its memory.
// Parsing a smaller value anew takes less.
const largeValue = 128

// entryReader reads the values of stored entries. Most folders that Muster made have the same value in the document
// and in their entry. Parsed a second time, these values would take as much memory as the document.
type entryReader struct {
	doc  stconfig.Value
	text []byte // JSON of the value compared last; only its memory is used again
}

// value parses text, the JSON of an entry's value at key, or returns the document's value there if it has the same
// JSON.
func (r *entryReader) value(key stconfig.Key, text []byte) (stconfig.Value, error) {
	if len(text) >= largeValue {
		if there := stconfig.Lookup(r.doc, key); there.Exists() {
			if r.text = there.AppendJSON(r.text[:0]); bytes.Equal(r.text, text) {
				return there, nil
			}
		}
	}
	return stconfig.Parse(text)
}

// gather puts the entries that lie inside a made member into the record of that member.
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

// take puts an entry into the record of the member (made by Muster) that contains its place. A leaf inside such a
// member has an entry of its own when a person had taken over the member before. Then the entry's written value joins
// the member's, and the leaf becomes the person's.
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

// store is the inverse of load. A value that did not change keeps the memory of its stored text.
func store(records []record) []fleet.BaseEntry {
	var stored []fleet.BaseEntry
	var write entryWriter
	add := func(e entry) {
		was := e.BaseEntry
		e.BaseEntry.Key = e.key.String()
		e.BaseEntry.Base, e.BaseEntry.Written = write.bytes(e.base, was.Base), write.bytes(e.written, was.Written)
		e.BaseEntry.Intended = nil
		if e.State == fleet.BaseSending {
			e.BaseEntry.Intended = write.bytes(e.intended, was.Intended)
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

// entryWriter writes the values of entries.
type entryWriter struct {
	text []byte // JSON of the value written last; only its memory is used again
}

// bytes returns the JSON of v, nil if v is Absent. If that JSON equals before, it returns before itself, which saves
// memory.
func (w *entryWriter) bytes(v stconfig.Value, before []byte) []byte {
	if !v.Exists() {
		return nil
	}
	if w.text = v.AppendJSON(w.text[:0]); bytes.Equal(w.text, before) {
		return before
	}
	return bytes.Clone(w.text)
}

// mostEarlier bounds the digests that one entry remembers. The oldest are dropped first.
const mostEarlier = 1024

// remember notes that Muster wrote a value at the entry's key or below it.
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

// forget removes what remember noted about the value v at key, because the value belongs to a person from now on.
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

// wrote reports whether Muster wrote, at some time, every leaf of v at its place. v is a value at key. wrote returns
// false if the entry remembers nothing.
func (e *entry) wrote(key stconfig.Key, v stconfig.Value) bool {
	if len(e.Earlier) == 0 {
		return false
	}
	all := true
	eachLeaf(key, v, func(at stconfig.Key, leaf stconfig.Value) { all = all && holds(e.Earlier, digestOf(at, leaf)) })
	return all
}

// eachLeaf visits the leaves of a value. It leaves out `introducedBy`, which the daemon sets.
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

// digestOf returns a digest of one value at a key. The digest is not keyed, so somebody who has it can check a guess
// of a secret. Therefore the store seals the digest like the value itself.
func digestOf(key stconfig.Key, v stconfig.Value) []byte {
	text := append([]byte(key.String()), 0)
	if v.Exists() {
		text = append(text, stconfig.Normalise(v).JSON()...)
	}
	sum := sha256.Sum256(text)
	return sum[:fleet.EarlierSize]
}
