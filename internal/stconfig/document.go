package stconfig

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"slices"
	"strings"
	"sync"

	"muster/internal/fleet"
)

// Normalise puts identified lists in the order of their identities and the members of objects in that of their names:
// two documents that mean the same become the same text.
func Normalise(doc Value) Value { return normalise(doc, configuration) }

func normalise(v Value, s *shape) Value {
	s = fit(s, v)
	switch v.kind {
	case Object:
		return normaliseObject(v, s)
	case Array:
		k := &kids{values: make([]Value, v.Len())}
		for i, member := range v.kids.values {
			k.values[i] = normalise(member, s.member())
		}
		if s.allNamed(v) {
			slices.SortStableFunc(k.values, func(a, b Value) int { return strings.Compare(s.identityOf(a), s.identityOf(b)) })
		}
		return Value{kind: Array, kids: k}
	}
	return v
}

func normaliseObject(v Value, s *shape) Value {
	members := make([]Member, 0, v.Len())
	for i, name := range v.kids.names {
		if !s.isFree() && v.index(name) != i {
			continue // the daemon takes the later of two spellings
		}
		if f, known := s.field(name); known {
			name = f.name
		}
		members = append(members, Member{name, normalise(v.At(i), s.below(name))})
	}
	slices.SortStableFunc(members, func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
	return Obj(members...)
}

// Digest is the SHA-256 of the normalised document, hex. It does not show secrets, but tells whether they changed.
func Digest(doc Value) string {
	sum := sha256.Sum256(Normalise(doc).JSON())
	return hex.EncodeToString(sum[:])
}

// Usable says whether an observed document may be believed and planned from: it has a version, the device's own entry
// and an API key.
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

// SampleID is the device that the sample belongs to.
const SampleID fleet.DeviceID = "KIDNLUX-332MDOX-SBM2AYS-WFLMMIU-GPCSP3A-5JDEFRG-DRGSGIS-6ZA2YQW"

//go:embed sample.json
var sampleJSON []byte

// Sample is a plausible document of a current daemon, for evaluating templates when no device was ever read.
func Sample() Value { return sample() }

var sample = sync.OnceValue(func() Value { return mustParse(sampleJSON) })

// builtinJSON is what daemons before 1.15, whose documents have no `defaults`, start folders and devices from.
//
//go:embed builtin.json
var builtinJSON []byte

var builtinDefaults = sync.OnceValue(func() Value { return mustParse(builtinJSON) })

func mustParse(data []byte) Value {
	v, err := Parse(data)
	if err != nil {
		panic(err) // part of the binary, and read by tests
	}
	return v
}
