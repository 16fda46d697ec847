package stconfig

import (
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"slices"
	"strings"
	"sync"

	"muster/internal/fleet"
)

// Normalise brings a document into one form: identified lists sorted by identity, members of objects in the daemon's
// order, and numbers in one spelling. Two documents with the same meaning get the same text. A document that a daemon
// wrote is in this form already and is returned as it is.
func Normalise(doc Value) Value { return normalise(doc, configuration) }

func normalise(v Value, s *shape) Value {
	s = fit(s, v)
	switch v.kind {
	case Object:
		return normaliseObject(v, s)
	case Array:
		values := normaliseArray(v, s.member())
		byIdentity := func(a, b Value) int { return strings.Compare(s.identityOf(a), s.identityOf(b)) }
		if s.identified() && !slices.IsSortedFunc(values, byIdentity) && s.allNamed(v) {
			values = slices.SortedFunc(slices.Values(values), byIdentity)
		}
		return v.withValues(values)
	case Number:
		return Literal(canonicalNumber(v.text))
	}
	return v
}

// normaliseArray returns the normalised members. It returns the original slice when nothing changes.
func normaliseArray(v Value, member *shape) []Value {
	values := replacing{of: v.kids.values}
	for i, was := range v.kids.values {
		values.set(i, normalise(was, member))
	}
	return values.of
}

func normaliseObject(v Value, s *shape) Value {
	values, ordered := replacing{of: v.kids.values}, s.isFree() || v.kids.distinct
	before := rankedMember{rank: -1}
	for i, name := range v.kids.names {
		f := s.fieldAfter(before.rank, name)
		values.set(i, normalise(v.kids.values[i], f.shape))
		this := rankedMember{f.rank, Member{Name: name}}
		ordered = ordered && f.name == name && (i == 0 || before.compare(this) < 0)
		before = this
	}
	if ordered {
		return v.withValues(values.of)
	}
	return reordered(v, s, values.of)
}

// replacing is a list that is copied at the first change.
type replacing struct {
	of     []Value
	copied bool
}

func (r *replacing) set(i int, v Value) {
	if r.of[i] == v {
		return
	}
	if !r.copied {
		r.of, r.copied = slices.Clone(r.of), true
	}
	r.of[i] = v
}

// reordered returns the object with these values in the daemon's order and spelling, each name once.
func reordered(v Value, s *shape, values []Value) Value {
	members := make([]rankedMember, 0, v.Len())
	for i, name := range v.kids.names {
		if s.isFree() && v.exact(name) != i || !s.isFree() && v.indexNear(name, i) != i {
			continue // The daemon takes the later of two spellings.
		}
		f := s.fieldOrUnknown(name)
		members = append(members, rankedMember{f.rank, Member{f.name, values[i]}})
	}
	slices.SortStableFunc(members, rankedMember.compare)
	all := make([]Member, len(members))
	for i, m := range members {
		all[i] = m.Member
	}
	return Obj(all...)
}

// fieldAfter does what fieldOrUnknown does. It first tries the field that daemons write after the one with this rank.
func (s *shape) fieldAfter(rank int, name string) field {
	if next := rank + 1; s != nil && next < len(s.ordered) && s.ordered[next].name == name {
		return s.ordered[next]
	}
	return s.fieldOrUnknown(name)
}

func (s *shape) fieldOrUnknown(name string) field {
	f, known := s.field(name)
	if !known {
		f = field{name: name, rank: unknownRank, shape: s.below(name)}
	}
	return f
}

// unknownRank is beyond every field that the schema knows.
const unknownRank = 1 << 16

type rankedMember struct {
	rank int
	Member
}

func (m rankedMember) compare(other rankedMember) int {
	if m.rank != other.rank {
		return cmp.Compare(m.rank, other.rank)
	}
	return strings.Compare(m.Name, other.Name)
}

// Digest returns the SHA-256 of the normalised document in hex.
func Digest(doc Value) string {
	sum := sha256.New()
	Normalise(doc).WriteJSON(sum)
	return hex.EncodeToString(sum.Sum(nil))
}

// Usable refuses an observed document that must not be planned from: one without a version, the device's own entry or
// an API key.
func Usable(doc Value, own fleet.DeviceID) error {
	devices := place{value: doc.Get("devices"), shape: configuration.below("devices")}
	switch {
	case doc.kind != Object:
		return unusable("is not an object")
	case doc.Get("version").kind != Number:
		return unusable("has no version")
	case devices.value.kind != Array || devices.find(string(own)) < 0:
		return unusable("does not know its own device " + own.Short())
	case doc.Get("gui").Get("apiKey").kind != String || doc.Get("gui").Get("apiKey").text == "":
		return unusable("has no API key")
	}
	return nil
}

func unusable(why string) error {
	return &fleet.Error{Code: fleet.CodeUnbelievable, During: "read configuration",
		Message: "the configuration that the daemon gave " + why,
		Hint:    "Nothing is planned from it. Look at the daemon: it may be starting, or be no Syncthing."}
}

// SampleID is the device ID in the sample document.
const SampleID fleet.DeviceID = "KIDNLUX-332MDOX-SBM2AYS-WFLMMIU-GPCSP3A-5JDEFRG-DRGSGIS-6ZA2YQW"

//go:embed testdata/v2.1.json
var sampleJSON []byte

// Sample returns a plausible document of a current daemon, for evaluating templates while no device was ever read.
func Sample() Value { return sample() }

var sample = sync.OnceValue(func() Value { return mustParse(sampleJSON) })

// builtinJSON has the values with which daemons before 1.15 start folders and devices. Their documents have no
// `defaults`.
//
//go:embed builtin.json
var builtinJSON []byte

var builtinDefaults = sync.OnceValue(func() Value { return mustParse(builtinJSON) })

func mustParse(data []byte) Value {
	v, err := Parse(data)
	if err != nil {
		panic(err) // The data is part of the binary, and tests read it.
	}
	return v
}
