package stconfig

import (
	"slices"
	"strings"
)

// Key is the dotted address of a place in a configuration: `options.natEnabled`, `folders.photos.devices.<ID>`,
// `folders.*.paused`. It is spelled as the daemon spells it and immutable; the zero Key is the whole document.
type Key struct{ parts []Part }

// Part is one name of a Key.
type Part struct {
	Name  string // a field, an entry of a free map, or the identity of a list's member; "*" when Every
	Every bool   // every member: an unquoted `*`
}

// Len is the number of names; 0 is the whole document.
func (k Key) Len() int { return len(k.parts) }

// IsRoot tells whether the key is the whole document.
func (k Key) IsRoot() bool { return len(k.parts) == 0 }

// At is name i.
func (k Key) At(i int) Part { return k.parts[i] }

// HasEvery tells whether the key holds a `*`, and so stands for any number of places.
func (k Key) HasEvery() bool {
	return slices.ContainsFunc(k.parts, func(p Part) bool { return p.Every })
}

// Equal compares two keys. Keys are canonical, so letter case has been settled.
func (k Key) Equal(other Key) bool { return slices.Equal(k.parts, other.parts) }

// Compare orders keys name by name.
func (k Key) Compare(other Key) int {
	return slices.CompareFunc(k.parts, other.parts, func(a, b Part) int {
		if c := strings.Compare(a.Name, b.Name); c != 0 || a.Every == b.Every {
			return c
		}
		if a.Every { // before the quoted "*", which is a name like any other
			return -1
		}
		return 1
	})
}

// Child is the key of a member.
func (k Key) Child(name string) Key { return Key{append(slices.Clip(k.parts), Part{Name: name})} }

// WithEvery is the key with `*` in the place of name i.
func (k Key) WithEvery(i int) Key {
	parts := slices.Clone(k.parts)
	parts[i] = Part{Name: "*", Every: true}
	return Key{parts}
}

// Parent is the key without its last name; of the whole document the whole document.
func (k Key) Parent() Key { return Key{k.parts[:max(0, len(k.parts)-1)]} }

// HasPrefix tells whether the key is prefix or lies below it. `*` matches only `*`.
func (k Key) HasPrefix(prefix Key) bool {
	return k.Len() >= prefix.Len() && slices.Equal(k.parts[:prefix.Len()], prefix.parts)
}

// Matches tells whether the key, without `*`, is one that pattern names: `folders.*.paused` names
// `folders.photos.paused`.
func (k Key) Matches(pattern Key) bool {
	return slices.EqualFunc(k.parts, pattern.parts, func(a, b Part) bool { return b.Every || a == b })
}

// NamesMember tells whether the key names a member of an identified list: a folder, a device, a share.
func (k Key) NamesMember() bool {
	return !k.IsRoot() && !k.parts[len(k.parts)-1].Every && shapeAt(k.Parent()).identified()
}

// String is the canonical text: ParseKey of it gives the same key.
func (k Key) String() string {
	var b []byte
	for i, part := range k.parts {
		if i > 0 {
			b = append(b, '.')
		}
		if !part.Every && needsQuotes(part.Name) {
			b = appendString(b, part.Name)
		} else {
			b = append(b, part.Name...)
		}
	}
	return string(b)
}

// MarshalText is String, so that a Key can be a member of a wire type.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }
