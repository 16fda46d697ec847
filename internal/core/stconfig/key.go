package stconfig

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"muster/internal/fleet"
)

// Key is the dotted address of a place in a configuration: `options.natEnabled`, `folders.photos.devices.<ID>`,
// `folders.*.paused`. It is immutable and in the daemon's spelling. The zero Key is the whole document.
type Key struct{ parts []Part }

// Part is one name of a Key.
type Part struct {
	Name  string // a field, an entry of a free map, or the identity of a list's member; "*" when Every
	Every bool   // an unquoted `*`: selects every member
}

// Len returns the number of names. The whole document has 0.
func (k Key) Len() int { return len(k.parts) }

// IsRoot reports whether the key is the whole document.
func (k Key) IsRoot() bool { return len(k.parts) == 0 }

// At returns name i.
func (k Key) At(i int) Part { return k.parts[i] }

// HasEvery reports whether the key contains `*` and may select several places.
func (k Key) HasEvery() bool {
	return slices.ContainsFunc(k.parts, func(p Part) bool { return p.Every })
}

// Equal compares two keys. Letter case counts, because keys are in the daemon's spelling.
func (k Key) Equal(other Key) bool { return slices.Equal(k.parts, other.parts) }

// Compare orders keys name by name.
func (k Key) Compare(other Key) int {
	return slices.CompareFunc(k.parts, other.parts, func(a, b Part) int {
		if c := strings.Compare(a.Name, b.Name); c != 0 || a.Every == b.Every {
			return c
		}
		if a.Every { // `*` sorts before the quoted name "*".
			return -1
		}
		return 1
	})
}

// Child returns the key of a member.
func (k Key) Child(name string) Key { return Key{append(slices.Clip(k.parts), Part{Name: name})} }

// WithEvery returns the key with `*` in place of name i.
func (k Key) WithEvery(i int) Key {
	parts := slices.Clone(k.parts)
	parts[i] = Part{Name: "*", Every: true}
	return Key{parts}
}

// Parent returns the key without its last name. The parent of the whole document is the whole document.
func (k Key) Parent() Key { return Key{k.parts[:max(0, len(k.parts)-1)]} }

// HasPrefix reports whether the key is at or below prefix. `*` matches only `*`.
func (k Key) HasPrefix(prefix Key) bool {
	return k.Len() >= prefix.Len() && slices.Equal(k.parts[:prefix.Len()], prefix.parts)
}

// Matches reports whether pattern selects this key, which has no `*`: `folders.*.paused` selects
// `folders.photos.paused`.
func (k Key) Matches(pattern Key) bool {
	return slices.EqualFunc(k.parts, pattern.parts, func(a, b Part) bool { return b.Every || a == b })
}

// NamesMember reports whether the key names a member of an identified list: a folder, a device, a share.
func (k Key) NamesMember() bool {
	return !k.IsRoot() && !k.parts[len(k.parts)-1].Every && shapeAt(k.Parent()).identified()
}

// String returns the canonical text. ParseKey of it gives the same key.
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

// MarshalText returns String, so that wire types can have Keys.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// ParseKey reads a key as users write it: names separated by dots, or an empty text for the whole document. A name
// that contains a dot, quote, backslash or `*`, or that begins or ends with a blank, must be in double quotes, with
// JSON's escapes. The first name must be a section of a Syncthing configuration. The result is in the daemon's
// spelling, with canonical device IDs.
func ParseKey(s string) (Key, error) {
	if !utf8.ValidString(s) {
		return Key{}, keyError(s, 0, "a key is UTF-8 text")
	}
	if strings.TrimSpace(s) == "" {
		return Key{}, nil
	}
	var key Key
	place := configuration
	for at := 0; ; at++ { // Each round reads one name. At the end of a round s[at] is the dot.
		part, end, err := parsePart(s, at)
		if err != nil {
			return Key{}, err
		}
		if part, err = canonicalPart(place, part, key.IsRoot()); err != nil {
			return Key{}, keyError(s, at, "%s", err)
		}
		key.parts = append(key.parts, part)
		place = nextPlace(place, part)
		if at = end; at == len(s) {
			return key, nil
		}
	}
}

// parsePart reads the name that starts at s[from]. It gives the position after the name: of a dot, or of the end.
func parsePart(s string, from int) (Part, int, error) {
	if from < len(s) && s[from] == '"' {
		return parseQuoted(s, from)
	}
	end := from + strings.IndexByte(s[from:]+".", '.')
	name := s[from:end]
	switch {
	case name == "":
		return Part{}, 0, keyError(s, from, `a name is missing here (an empty name is written "")`)
	case name == "*":
		return Part{Name: "*", Every: true}, end, nil
	}
	if i := strings.IndexFunc(name, needsQuotesRune); i >= 0 {
		return Part{}, 0, keyError(s, from+i, "a name with this character stands in quotes: %s", appendString(nil, name))
	}
	if trimmed := strings.TrimSpace(name); trimmed != name {
		return Part{}, 0, keyError(s, from, "a name with blanks around it stands in quotes: %s", appendString(nil, name))
	}
	return Part{Name: name}, end, nil
}

func parseQuoted(s string, from int) (Part, int, error) {
	end := from + 1
	for ; end < len(s) && s[end] != '"'; end++ {
		if s[end] == '\\' {
			end++
		}
	}
	if end >= len(s) {
		return Part{}, 0, keyError(s, from, "the closing quote of this name is missing")
	}
	end++
	name, err := jsontext.AppendUnquote(nil, s[from:end])
	if err != nil {
		return Part{}, 0, keyError(s, from, "this quoted name is not valid: it takes the escapes of JSON")
	}
	if end < len(s) && s[end] != '.' {
		return Part{}, 0, keyError(s, end, "a dot is missing after the quoted name")
	}
	return Part{Name: string(name)}, end, nil
}

func needsQuotesRune(r rune) bool {
	return r == '"' || r == '\\' || r == '*' || r == '.' || unicode.IsControl(r) || r == utf8.RuneError
}

func needsQuotes(name string) bool {
	return name == "" || strings.TrimSpace(name) != name || strings.ContainsFunc(name, needsQuotesRune)
}

// canonicalPart returns a name in the daemon's spelling, and refuses names that no document can have.
func canonicalPart(place *shape, part Part, first bool) (Part, error) {
	if part.Every {
		if first {
			return part, fmt.Errorf("a key starts with the name of a section: %s", strings.Join(sections(), ", "))
		}
		return part, nil
	}
	if place.identified() && place.deviceNamed() {
		id, err := fleet.ParseDeviceID(part.Name)
		if err != nil {
			return part, fmt.Errorf("a device is named by its ID here: %w", err)
		}
		return Part{Name: string(id)}, nil
	}
	f, known := place.field(part.Name)
	switch {
	case known && f.shape.readOnly:
		return part, fmt.Errorf("%s belongs to the daemon: no template may change it", f.name)
	case known:
		return Part{Name: f.name}, nil
	case first:
		return part, fmt.Errorf("a configuration has no section %q: %s", part.Name,
			cmp.Or(didYouMean(part.Name, sections()), "it has "+strings.Join(sections(), ", ")))
	}
	return part, nil
}

func nextPlace(place *shape, part Part) *shape {
	if part.Every && place != nil && place.entry == nil {
		return nil
	}
	return place.below(part.Name)
}

// sections returns the names with which a key may begin.
func sections() []string {
	return slices.DeleteFunc(slices.Clone(configuration.names), func(name string) bool {
		return configuration.fields[name].shape.readOnly || name == "pendingDevices"
	})
}

// keyError returns an error at byte position at of the key.
func keyError(key string, at int, format string, args ...any) error {
	message := fmt.Sprintf(format, args...)
	return &fleet.Error{
		Code: fleet.CodeInvalid, During: "read key", Message: message,
		Hint:    "A key is names with dots between them, as in options.natEnabled or folders.photos.paused.",
		Details: []fleet.Detail{{Field: "key", Line: 1, Column: utf8.RuneCountInString(key[:at]) + 1, Message: message}},
	}
}
