package seal

import (
	"slices"
	"strings"
	"sync/atomic"

	"muster/internal/fleet"
)

// maxKeys is more than a rotation, and one that was begun before it ended, need.
const maxKeys = 8

// Ring holds the seal keys of one database. Its first key seals; every one of them opens what it sealed. Outside of a
// rotation there is one. A Ring is safe for concurrent use.
type Ring struct {
	keys atomic.Pointer[[]*Key] // at least one; never changed in place
}

// NewRing makes a Ring of the key that seals and of the older ones.
func NewRing(first *Key, older ...*Key) *Ring {
	r := &Ring{}
	keys := append([]*Key{first}, older...)
	r.keys.Store(&keys)
	return r
}

// ParseRing reads keys as text with white space between, the one that seals first.
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

// ID is that of the key that seals.
func (r *Ring) ID() string { return r.all()[0].ID() }

// IDs are those of all keys, the one that seals first.
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

// Open decrypts with the key that sealed.
func (r *Ring) Open(table, row, column string, sealed []byte) ([]byte, error) {
	keys := r.all()
	for _, key := range keys[1:] {
		if key.Current(sealed) {
			return key.Open(table, row, column, sealed)
		}
	}
	return keys[0].Open(table, row, column, sealed)
}

// Current tells whether something was sealed with the key that seals now.
func (r *Ring) Current(sealed []byte) bool { return r.all()[0].Current(sealed) }

// Derive is a key for one purpose from the oldest key: the one that a database had before it kept such keys itself.
func (r *Ring) Derive(purpose string) ([]byte, error) {
	keys := r.all()
	return keys[len(keys)-1].Derive(purpose)
}

// With is a ring in which another key seals, and all of this one's open.
func (r *Ring) With(first *Key) *Ring { return NewRing(first, r.all()...) }

// Merged is this ring with the keys of another that it does not have.
func (r *Ring) Merged(other *Ring) *Ring {
	keys := slices.Clone(r.all())
	for _, key := range other.all() {
		if !slices.ContainsFunc(keys, func(k *Key) bool { return k.ID() == key.ID() }) {
			keys = append(keys, key)
		}
	}
	return NewRing(keys[0], keys[1:]...)
}

// Newest is a ring of the key that seals, alone.
func (r *Ring) Newest() *Ring { return NewRing(r.all()[0]) }

// Take makes this ring hold the keys of another from now on.
func (r *Ring) Take(other *Ring) { r.keys.Store(other.keys.Load()) }

// Text is what ParseRing reads.
func (r *Ring) Text() fleet.Secret {
	var text strings.Builder
	for _, key := range r.all() {
		text.WriteString(key.text() + "\n")
	}
	return fleet.NewSecret(text.String())
}
