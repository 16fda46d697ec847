package stconfig

import (
	"math"
	"strings"
	"time"

	"muster/internal/fleet"
)

// shape is what Muster knows about one place of a Syncthing configuration, for all versions from 1.12 to 2.x. A
// document may lack fields (of an older daemon) or have unknown ones (of a newer daemon). The document decides which
// fields exist; the shape decides how they are spelled, compared and set. A nil shape means that nothing is known.
// Source: lib/config of Syncthing 1.12 to 2.1, and answers of daemons 1.19 and 2.1.
type shape struct {
	kind     Kind   // JSON type
	whole    bool   // a Number that must be an integer
	most     int64  // Number: the largest that the daemon can count with; 0: no limit
	secret   bool   // a String that is masked wherever it is shown
	device   bool   // a String that is a device ID or empty
	identity string // Array: the field that identifies a member
	free     bool   // an Object whose names are data: they are compared exactly, and entries can be added and removed
	closed   bool   // free Object: entries cannot be added or removed
	entry    *shape // shape of an Array's members, or of a free Object's entries
	fields   map[string]field
	names    []string // names of the fields, in the daemon's spelling and order
	ordered  []field  // the fields, in the daemon's order
	blank    Value    // Array: the initial value of a new member; Absent: `defaults`, or nothing
	defaults string   // Array: the name below `defaults` that is the initial value of a new member
	own      ownRule
	readOnly bool // no template may change it
	unique   bool // Array of texts: the daemon trims them and drops duplicates
	lines    bool // Array of texts: they are the lines of a file, which the daemon trims
	// for an Array: what the daemon stores instead of an empty list; Absent: it stores the empty list
	empty Value

	// for a String: says why a text is most probably a mistake, or ""; nil: every text is allowed
	mistake func(string) string
	misread bool     // String: every daemon reads a text with a mistake as another text
	choices []string // String: all values that a daemon knows; it replaces an unknown one by its default, or panics
}

type field struct {
	name  string // the daemon's spelling
	shape *shape
	rank  int // position in the daemon's order
	// never copied from `defaults`, because the copy would share a path or a device that no template named
	noDefault bool
}

// ownRule says how an op on a list of devices treats the entry of the device whose configuration it is.
type ownRule uint8

const (
	ownNothing ownRule = iota
	ownKept            // `set` keeps the entry
	ownAlways          // the daemon always adds the entry, so no op removes it
)

func (s *shape) field(name string) (field, bool) {
	if s == nil {
		return field{}, false
	}
	f, ok := s.fields[name] // Usually the name already has the daemon's spelling.
	if !ok {
		f, ok = s.fields[fold(name)]
	}
	return f, ok
}

// below returns the shape of a member, by the name that a Key gives it.
func (s *shape) below(name string) *shape {
	if s == nil || s.entry != nil {
		return s.member()
	}
	f, _ := s.field(name)
	return f.shape
}

func (s *shape) member() *shape {
	if s == nil {
		return nil
	}
	return s.entry
}

func (s *shape) isFree() bool { return s != nil && s.free }

// identified reports whether the members of this list have an identity.
func (s *shape) identified() bool { return s != nil && s.identity != "" }

// fold returns the same text for all names that the daemon treats as equal. It uses Unicode simple folding, like
// Go's encoding/json.
func fold(name string) string {
	return strings.ToLower(foldToASCII.Replace(name))
}

// foldToASCII holds the two letters outside ASCII that fold into ASCII: long s and the Kelvin sign.
var foldToASCII = strings.NewReplacer("\u017f", "s", "\u212a", "k")

// deviceNamed reports whether the members of an identified list are identified by device IDs. Their field always has
// this name.
func (s *shape) deviceNamed() bool { return s.identity == "deviceID" }

// identityOf returns the canonical identity of a member in a document, or "". It trusts texts that look like canonical
// device IDs, because daemons write no others. Values that people write go through applier.identity.
func (s *shape) identityOf(member Value) string {
	id := member.first(s.identity)
	switch {
	case id.kind != String:
		return ""
	case s.deviceNamed() && !looksCanonical(id.text):
		return canonicalID(id.text)
	}
	return id.text
}

// looksCanonical checks the form of a device ID, not its check characters.
func looksCanonical(id string) bool {
	if len(id) != 63 {
		return false
	}
	for i := range len(id) {
		c := id[i]
		if i%8 == 7 && c != '-' || i%8 != 7 && (c < 'A' || c > 'Z') && (c < '2' || c > '7') {
			return false
		}
	}
	return true
}

// fit returns the shape when the document's value has its JSON type, else nil: the document decides.
func fit(s *shape, v Value) *shape {
	if s != nil && v.kind != s.kind && v.kind != Absent && v.kind != Null && (v.kind != Handle || s.kind != String) {
		return nil
	}
	return s
}

// canonicalID returns the canonical form of a device ID, or "".
func canonicalID(text string) string {
	if id, err := fleet.ParseDeviceID(text); err == nil {
		return string(id)
	}
	return ""
}

// shapeAt returns the shape of the place at a key; nil when nothing is known about it.
func shapeAt(key Key) *shape {
	s := configuration
	for _, part := range key.parts {
		if part.Every && s != nil && s.entry == nil {
			return nil
		}
		s = s.below(part.Name)
	}
	return s
}

// The constructors below make the table in fields.go readable.

func text(names string) []field  { return scalars(names, &shape{kind: String}) }
func flags(names string) []field { return scalars(names, &shape{kind: Bool}) }
func whole(names string) []field { return numbers(names, shape{kind: Number, whole: true}) }
func number(names string) []field {
	return numbers(names, shape{kind: Number})
}
func secret(names string) []field   { return scalars(names, &shape{kind: String, secret: true}) }
func deviceID(names string) []field { return scalars(names, &shape{kind: String, device: true}) }
func texts(names string) []field {
	return scalars(names, &shape{kind: Array, entry: &shape{kind: String}})
}

// choice is a text with a fixed set of values.
func choice(name, values string) []field {
	return named(name, &shape{kind: String, choices: strings.Fields(values)})
}

// checkedText is a text with a test for likely mistakes.
func checkedText(mistake func(string) string) *shape { return &shape{kind: String, mistake: mistake} }

// wordOf is a text with a test for words that every daemon takes for another word.
func wordOf(mistake func(string) string) *shape {
	return &shape{kind: String, mistake: mistake, misread: true}
}

// uniqueTexts is a list that the daemon trims and whose duplicates it drops: optionsConfiguration.prepare.
func uniqueTexts(name string, entry *shape) []field {
	return named(name, &shape{kind: Array, unique: true, entry: entry})
}

// textsOr is a list that is never empty: deviceConfiguration.prepare.
func textsOr(otherwise, name string, entry *shape) []field {
	return named(name, &shape{kind: Array, empty: List(Text(otherwise)), entry: entry})
}

func scalars(names string, s *shape) []field {
	var fields []field
	for name := range strings.FieldsSeq(names) {
		fields = append(fields, field{name: name, shape: s})
	}
	return fields
}

func numbers(names string, s shape) []field {
	var fields []field
	for name := range strings.FieldsSeq(names) {
		s.most = mostOf(name)
		fields = append(fields, named(name, new(s))...)
	}
	return fields
}

// mostOf returns the largest number for a field with a unit in its name. The daemon counts time in nanoseconds and
// sizes in bytes, in 64 bits: a larger interval becomes negative, and 1.19.2 dies of it (scanProgressIntervalS).
func mostOf(name string) int64 {
	for _, unit := range []struct {
		suffix string
		size   int64
	}{
		{"S", int64(time.Second)}, {"Seconds", int64(time.Second)}, {"M", int64(time.Minute)},
		{"Minutes", int64(time.Minute)},
		{"H", int64(time.Hour)}, {"KiB", 1 << 10}, {"Kbps", 1 << 10},
	} {
		if strings.HasSuffix(name, unit.suffix) {
			return math.MaxInt64 / unit.size
		}
	}
	return 0
}

func named(name string, s *shape) []field { return []field{{name: name, shape: s}} }

func noDefault(fields []field) []field {
	for i := range fields {
		fields[i].noDefault = true
	}
	return fields
}

func object(groups ...[]field) *shape {
	s := &shape{kind: Object, fields: map[string]field{}}
	for _, group := range groups {
		for _, f := range group {
			f.rank = len(s.names)
			s.names, s.ordered = append(s.names, f.name), append(s.ordered, f)
			s.fields[f.name], s.fields[fold(f.name)] = f, f
		}
	}
	return s
}

func freeMap(entry *shape) *shape { return &shape{kind: Object, free: true, entry: entry} }

// zero returns a value with zero in every field, as the daemon would fill it.
func (s *shape) zero() Value {
	switch s.kind {
	case Bool:
		return Boolean(false)
	case Number:
		return Literal("0")
	case String:
		return Text("")
	case Array:
		return List()
	}
	members := make([]Member, 0, len(s.names))
	for _, name := range s.names {
		members = append(members, Member{name, s.fields[name].shape.zero()})
	}
	return Obj(members...)
}
