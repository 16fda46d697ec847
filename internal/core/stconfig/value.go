// Package stconfig represents a Syncthing configuration as a tree: exact values, the grammar of keys, applying an op
// at a key, the rules of identity and shape, and a semantic diff. It knows documents, not daemons: what may be written
// is decided in plan.
package stconfig

import (
	"iter"
	"slices"
	"strings"
)

// Kind is the JSON type of a Value.
type Kind uint8

const (
	Absent Kind = iota // no value; Get returns it for a missing member
	Null
	Bool
	Number
	String
	Array
	Object
	Handle // an opaque secret; its text is "secret:NAME", "config:KEY" or "literal:TEXT"
)

// Value is one immutable JSON value. Numbers keep their literal and objects the order of their members, so that
// untouched parts are written back as they were read. The zero Value is Absent. Methods that change give a new Value,
// which shares the unchanged parts.
type Value struct {
	kind Kind
	text string // String: the text; Number: the literal; Bool: "true", "false"; Handle: its name
	kids *kids
}

type kids struct {
	names    []string // names of an object's members; nil for an array
	values   []Value
	distinct bool // No two names are equal without regard to case. This is the usual case, and makes look-ups cheap.
}

// NullValue is JSON null.
var NullValue = Value{kind: Null}

// Text is a JSON string.
func Text(s string) Value { return Value{kind: String, text: s} }

// Boolean is true or false.
func Boolean(b bool) Value {
	if b {
		return Value{kind: Bool, text: "true"}
	}
	return Value{kind: Bool, text: "false"}
}

// Literal is a number from its JSON literal, which the caller has checked.
func Literal(number string) Value { return Value{kind: Number, text: number} }

// SecretHandle is an opaque reference to a secret.
func SecretHandle(name string) Value { return Value{kind: Handle, text: name} }

// List is an array. It takes over the slice.
func List(values ...Value) Value { return Value{kind: Array, kids: &kids{values: values}} }

// Member is one member of an object.
type Member struct {
	Name  string
	Value Value
}

// Obj is an object with these members in this order.
func Obj(members ...Member) Value {
	k := &kids{names: make([]string, len(members)), values: make([]Value, len(members))}
	for i, m := range members {
		k.names[i], k.values[i] = m.Name, m.Value
	}
	k.distinct = distinct(k.names)
	return Value{kind: Object, kids: k}
}

// Kind is the JSON type.
func (v Value) Kind() Kind { return v.kind }

// Exists reports whether there is a value. Null counts as one.
func (v Value) Exists() bool { return v.kind != Absent }

// Str returns the text of a String, the literal of a Number, "true" or "false", or the name of a Handle; "" for other
// kinds.
func (v Value) Str() string { return v.text }

// IsTrue reports whether the value is the boolean true.
func (v Value) IsTrue() bool { return v.kind == Bool && v.text == "true" }

// Len is the number of members of an Array or Object.
func (v Value) Len() int {
	if v.kids == nil {
		return 0
	}
	return len(v.kids.values)
}

// At is member i of an Array, or the value of member i of an Object.
func (v Value) At(i int) Value { return v.kids.values[i] }

// Name is the name of member i of an Object.
func (v Value) Name(i int) string { return v.kids.names[i] }

// Members goes over an Object in its order.
func (v Value) Members() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		if v.kind != Object {
			return
		}
		for i, name := range v.kids.names {
			if !yield(name, v.kids.values[i]) {
				return
			}
		}
	}
}

// Values goes over an Array in its order.
func (v Value) Values() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		if v.kind != Array {
			return
		}
		for _, member := range v.kids.values {
			if !yield(member) {
				return
			}
		}
	}
}

// Get returns the member of that name, or Absent. Names are compared without regard to case, as in the daemon. Of two
// spellings of a name the later counts.
func (v Value) Get(name string) Value {
	if i := v.index(name); i >= 0 {
		return v.kids.values[i]
	}
	return Value{}
}

func (v Value) index(name string) int {
	if v.kind != Object {
		return -1
	}
	if v.kids.distinct {
		if i := slices.Index(v.kids.names, name); i >= 0 {
			return i
		}
	}
	for i := len(v.kids.names) - 1; i >= 0; i-- {
		if n := v.kids.names[i]; n == name || strings.EqualFold(n, name) {
			return i
		}
	}
	return -1
}

// indexNear is index with a hint: it looks first at position i, where another object of the same origin has the
// name.
func (v Value) indexNear(name string, i int) int {
	if v.kind == Object && v.kids.distinct && i < len(v.kids.names) && v.kids.names[i] == name {
		return i
	}
	return v.index(name)
}

// distinct reports whether no two names are equal without regard to case. It may say false when the test would take
// long.
func distinct(names []string) bool {
	const most = 1000 // The time grows with the square of the number of names.
	if len(names) > most {
		return false
	}
	var seen [16]uint64 // bits of the hashes so far; the hash ignores letter case
	for i, name := range names {
		hash := uint(len(name))
		for j := range len(name) {
			if name[j] >= 0x80 {
				return false
			}
			hash = hash*31 + uint(name[j]|0x20)
		}
		hash %= uint(len(seen) * 64)
		if seen[hash/64]&(1<<(hash%64)) != 0 && containsFold(names[:i], name) {
			return false
		}
		seen[hash/64] |= 1 << (hash % 64)
	}
	return true
}

func containsFold(names []string, name string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) })
}

// With returns the object with that member replaced (its spelling stays) or added at the end.
func (v Value) With(name string, member Value) Value {
	if v.kind != Object {
		return Obj(Member{name, member})
	}
	if i := v.index(name); i >= 0 {
		return v.withAt(i, member)
	}
	return v.plus(name, member)
}

// Without returns the object without that member.
func (v Value) Without(name string) Value {
	if i := v.index(name); i >= 0 {
		return v.withoutAt(i)
	}
	return v
}

// Equal compares by meaning: the order of an object's members and the spelling of numbers (1 and 1.0) do not count,
// the order of arrays does.
func (v Value) Equal(w Value) bool {
	if v.kind != w.kind {
		return false
	}
	switch v.kind {
	case Number:
		return v.text == w.text || sameNumber(v.text, w.text)
	case Array:
		return v.kids == w.kids || slices.EqualFunc(v.kids.values, w.kids.values, Value.Equal)
	case Object:
		if v.kids == w.kids {
			return true
		}
		if v.Len() != w.Len() {
			return false
		}
		for name, member := range v.Members() {
			if other := w.Get(name); !other.Exists() || !member.Equal(other) {
				return false
			}
		}
		return true
	}
	return v.text == w.text
}

// first does what Get does. It is quick for the member that daemons write first, which identifies a list's member.
func (v Value) first(name string) Value {
	if i := v.indexNear(name, 0); i >= 0 {
		return v.kids.values[i]
	}
	return Value{}
}

// exact returns the position of a free map's entry, or -1. Letter case counts, because the names are data. Of two equal
// names the later counts.
func (v Value) exact(name string) int {
	if v.kind != Object {
		return -1
	}
	for i := len(v.kids.names) - 1; i >= 0; i-- {
		if v.kids.names[i] == name {
			return i
		}
	}
	return -1
}

// Detached returns a copy that shares no memory with the document.
func (v Value) Detached() Value {
	v.text = strings.Clone(v.text)
	if v.kids == nil {
		return v
	}
	k := kids{distinct: v.kids.distinct, values: make([]Value, len(v.kids.values))}
	for i, member := range v.kids.values {
		k.values[i] = member.Detached()
	}
	for _, name := range v.kids.names {
		k.names = append(k.names, strings.Clone(name))
	}
	v.kids = &k
	return v
}

// withAt returns the Array or Object with another value at position i.
func (v Value) withAt(i int, member Value) Value {
	if v.kids.values[i] == member {
		return v
	}
	k := *v.kids
	k.values = slices.Clone(k.values)
	k.values[i] = member
	return Value{kind: v.kind, kids: &k}
}

// withoutAt returns the Array or Object without position i.
func (v Value) withoutAt(i int) Value {
	k := *v.kids
	k.values = slices.Delete(slices.Clone(k.values), i, i+1)
	if v.kind == Object {
		k.names = slices.Delete(slices.Clone(k.names), i, i+1)
	}
	return Value{kind: v.kind, kids: &k}
}

// plus returns the Array with one more member, or the Object with a member of a name that it does not have yet.
func (v Value) plus(name string, member Value) Value {
	k := *v.kids
	if v.kind == Object {
		k.distinct = k.distinct && v.index(name) < 0 && distinct([]string{name})
		k.names = append(slices.Clip(k.names), name)
	}
	k.values = append(slices.Clip(k.values), member)
	return Value{kind: v.kind, kids: &k}
}

// withValues returns the Array or Object with all values replaced; itself when none changed.
func (v Value) withValues(values []Value) Value {
	if slices.Equal(values, v.kids.values) {
		return v
	}
	k := *v.kids
	k.values = values
	return Value{kind: v.kind, kids: &k}
}

func (v Value) childValues() []Value {
	if v.kids == nil {
		return nil
	}
	return v.kids.values
}
