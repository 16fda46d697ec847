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

// ParseKey reads a key as a person writes it: names with dots between them, blank for the whole document. A name that
// holds a dot, a quote, a backslash, a `*` or outer blanks stands in double quotes, with JSON's escapes. The first
// name must be a section of a Syncthing configuration. Names come back in the daemon's spelling, device IDs canonical.
func ParseKey(s string) (Key, error) {
	if !utf8.ValidString(s) {
		return Key{}, keyError(s, 0, "a key is UTF-8 text")
	}
	if strings.TrimSpace(s) == "" {
		return Key{}, nil
	}
	var key Key
	place := configuration
	for at := 0; ; at++ { // one round per name; at the end of each, s[at] is the dot
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

// parsePart reads the name that starts at s[from] and ends before the returned position: a dot, or the end.
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

// canonicalPart spells a name as the daemon does, and refuses what can be no key in any document.
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

// sections are the first names that a key may have.
func sections() []string {
	return slices.DeleteFunc(slices.Clone(configuration.names), func(name string) bool {
		return configuration.fields[name].shape.readOnly || name == "pendingDevices"
	})
}

// keyError is an error at byte position at of the key.
func keyError(key string, at int, format string, args ...any) error {
	message := fmt.Sprintf(format, args...)
	return &fleet.Error{
		Code: fleet.CodeInvalid, During: "read key", Message: message,
		Hint:    "A key is names with dots between them, as in options.natEnabled or folders.photos.paused.",
		Details: []fleet.Detail{{Field: "key", Line: 1, Column: utf8.RuneCountInString(key[:at]) + 1, Message: message}},
	}
}
