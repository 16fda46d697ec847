package stconfig

import (
	"math"
	"strings"
	"time"

	"muster/internal/fleet"
)

// shape is what is known about one place of a Syncthing configuration, of every version from 1.12 to 2.x. A document
// may lack fields (its daemon is older) and have others (it is newer): the document decides what exists, the shape how
// it is spelled, compared and composed. The nil shape is a place that nothing is known about.
// Source: lib/config of Syncthing 1.12 to 2.1, and what daemons of 1.19 and 2.1 answer.
type shape struct {
	kind     Kind   // JSON type
	whole    bool   // a Number without fraction
	most     int64  // of a Number: the largest that the daemon can count with; 0: any
	secret   bool   // a String that is never shown
	device   bool   // a String that is a device ID, or empty
	identity string // of an Array: the member's field that names it
	free     bool   // an Object whose names are data: compared exactly, entries come and go
	closed   bool   // of a free Object: entries neither come nor go
	entry    *shape // of an Array's members and a free Object's entries
	fields   map[string]field
	names    []string // of fields, canonical, in the daemon's order
	ordered  []field  // the same fields
	blank    Value    // what a new member of an Array starts from; Absent: from `defaults`, or from nothing
	defaults string   // of an Array: the name below `defaults` that holds what a new member starts from
	own      ownRule
	readOnly bool  // belongs to the daemon
	unique   bool  // of an Array of texts: the daemon trims them and drops repeats
	lines    bool  // of an Array of texts: the lines of a file, which the daemon trims
	empty    Value // of an Array: what the daemon puts in place of none at all; Absent: nothing

	doubt   func(string) string // of a String: why it is most probably a mistake, "" where it is not; nil: any will do
	choices []string            // of a String: all that a daemon knows; another it takes for its default, or ends
}

type field struct {
	name      string // the daemon's spelling
	shape     *shape
	rank      int  // place in the daemon's order
	noDefault bool // never taken from `defaults`: it would share what no template named
}

// ownRule says what a list of devices does with the entry of the device itself.
type ownRule uint8

const (
	ownNothing ownRule = iota
	ownKept            // `set` carries it over
	ownAlways          // the daemon puts it there and does not let it go
)

func (s *shape) field(name string) (field, bool) {
	if s == nil {
		return field{}, false
	}
	f, ok := s.fields[name] // the usual case: the daemon's own spelling
	if !ok {
		f, ok = s.fields[fold(name)]
	}
	return f, ok
}

// below is the shape of a member, by the name that a Key gives it.
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

// identified tells whether members of this list are named by identity.
func (s *shape) identified() bool { return s != nil && s.identity != "" }

// fold is the form in which names are equal to the daemon: Unicode simple folding, as in Go's encoding/json.
func fold(name string) string {
	return strings.ToLower(foldToASCII.Replace(name))
}

// foldToASCII holds the two letters outside ASCII that fold into it: long s and the Kelvin sign.
var foldToASCII = strings.NewReplacer("\u017f", "s", "\u212a", "k")

// deviceNamed tells whether the members of an identified list are named by device IDs: wherever they are, the field
// has this name.
func (s *shape) deviceNamed() bool { return s.identity == "deviceID" }

// identityOf is the identity of a member in a document, canonical; "" when it has none. It trusts what looks like a
// canonical device ID: daemons write no others. What people write goes through applier.identity.
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

// fit is the shape if the document's value is of its JSON type, else nil: the document decides.
func fit(s *shape, v Value) *shape {
	if s != nil && v.kind != s.kind && v.kind != Absent && v.kind != Null && (v.kind != Handle || s.kind != String) {
		return nil
	}
	return s
}

// canonicalID is the canonical form of a device ID, "" when it is none.
func canonicalID(text string) string {
	if id, err := fleet.ParseDeviceID(text); err == nil {
		return string(id)
	}
	return ""
}

// shapeAt is the shape of the place that a key addresses; nil when nothing is known about it.
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

// choice is a text of which daemons know these values only.
func choice(name, values string) []field {
	return named(name, &shape{kind: String, choices: strings.Fields(values)})
}

// doubtful is a text of which some values are most probably mistakes.
func doubtful(doubt func(string) string) *shape { return &shape{kind: String, doubt: doubt} }

// uniqueTexts is a list that the daemon tidies: optionsConfiguration.prepare.
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

// mostOf is the largest number of a unit that the daemon can count with, which counts time in nanoseconds and sizes in
// bytes, in 64 bits: a larger interval is a negative one, of which 1.19.2 dies (scanProgressIntervalS).
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

// zero is an object with the zero value of every field, as the daemon would fill it.
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
