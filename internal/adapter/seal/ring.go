package seal

import (
	"slices"
	"strings"
	"sync/atomic"

	"muster/internal/fleet"
)

// maxKeys is the largest number of keys in a ring. A rotation needs two; rotations that are interrupted leave more.
const maxKeys = 8

// Ring holds the seal keys of one database. The first key seals new values; each key opens the values that it has
// sealed. There is more than one key only during a rotation. A Ring is safe for concurrent use.
type Ring struct {
	keys atomic.Pointer[[]*Key] // contains at least one key; the slice is replaced, never changed
}

// NewRing makes a Ring of the key that seals and of older keys, which only open.
func NewRing(first *Key, older ...*Key) *Ring {
	r := &Ring{}
	keys := append([]*Key{first}, older...)
	r.keys.Store(&keys)
	return r
}

// ParseRing parses keys that are separated by white space. The first one seals.
func ParseRing(text string) (*Ring, error) {
	texts := strings.Fields(text)
	if len(texts) == 0 || len(texts) > maxKeys {
		_, err := Parse("")
		return nil, err
	}
	var keys []*Key
	for _, one := range texts {
		key, err := Parse(one)
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	return NewRing(keys[0], keys[1:]...), nil
}

func (r *Ring) all() []*Key { return *r.keys.Load() }

// ID returns the ID of the key that seals.
func (r *Ring) ID() string { return r.all()[0].ID() }

// IDs returns the IDs of all keys, first that of the key that seals.
func (r *Ring) IDs() []string {
	var ids []string
	for _, key := range r.all() {
		ids = append(ids, key.ID())
	}
	return ids
}

// Seal encrypts with the first key.
func (r *Ring) Seal(table, row, column string, plain []byte) []byte {
	return r.all()[0].Seal(table, row, column, plain)
}

// Open decrypts with the key that sealed the value.
func (r *Ring) Open(table, row, column string, sealed []byte) ([]byte, error) {
	keys := r.all()
	for _, key := range keys[1:] {
		if key.Current(sealed) {
			return key.Open(table, row, column, sealed)
		}
	}
	return keys[0].Open(table, row, column, sealed)
}

// Current reports whether a value was sealed with the first key.
func (r *Ring) Current(sealed []byte) bool { return r.all()[0].Current(sealed) }

// Derive derives a key for one purpose from the oldest key of the ring, so that the result is the same before and
// during a rotation. The store keeps derived keys, because a later derivation would use the new seal key.
func (r *Ring) Derive(purpose string) ([]byte, error) {
	keys := r.all()
	return keys[len(keys)-1].Derive(purpose)
}

// With returns a ring in which first seals, followed by all keys of this ring.
func (r *Ring) With(first *Key) *Ring { return NewRing(first, r.all()...) }

// Merged returns this ring with the additional keys of another ring.
func (r *Ring) Merged(other *Ring) *Ring {
	keys := slices.Clone(r.all())
	for _, key := range other.all() {
		if !slices.ContainsFunc(keys, func(k *Key) bool { return k.ID() == key.ID() }) {
			keys = append(keys, key)
		}
	}
	return NewRing(keys[0], keys[1:]...)
}

// Newest returns a ring with only the key that seals.
func (r *Ring) Newest() *Ring { return NewRing(r.all()[0]) }

// Take replaces the keys of this ring by those of another.
func (r *Ring) Take(other *Ring) { r.keys.Store(other.keys.Load()) }

// Text returns the keys in the form that ParseRing parses.
func (r *Ring) Text() fleet.Secret {
	var text strings.Builder
	for _, key := range r.all() {
		text.WriteString(key.text() + "\n")
	}
	return fleet.NewSecret(text.String())
}
