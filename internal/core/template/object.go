package template

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"muster/internal/core/stconfig"
)

// object is an object of a configuration as programs see it. A program reads a member as config.options.natEnabled or
// config["options"]["natEnabled"], in any letter case, and cannot assign one. A member is converted when the program
// reads it, so an unused configuration costs nothing. A member named like a method (get, keys, values, items) hides
// the method.
type object struct {
	value  stconfig.Value
	at     *place
	fields []starlark.Value // converted members, by their position; nil until a program reads one
}

var (
	_ starlark.HasAttrs        = (*object)(nil)
	_ starlark.IterableMapping = (*object)(nil)
	_ starlark.Sequence        = (*object)(nil)
	_ starlark.Comparable      = (*object)(nil)
	_ starlark.HasBinary       = (*object)(nil)
)

func newObject(v stconfig.Value, at *place) *object {
	return &object{value: v, at: at, fields: make([]starlark.Value, v.Len())}
}

// fromValue converts a value of a configuration to what programs see.
func fromValue(v stconfig.Value, at *place) starlark.Value {
	switch v.Kind() {
	case stconfig.Object:
		return newObject(v, at)
	case stconfig.Array:
		members := make([]starlark.Value, v.Len())
		for i := range members {
			members[i] = fromValue(v.At(i), &place{at, memberName(v, i)})
		}
		return frozenList(members)
	case stconfig.String:
		return starlark.String(v.Str())
	case stconfig.Number:
		return number(v.Str())
	case stconfig.Bool:
		return starlark.Bool(v.IsTrue())
	case stconfig.Handle:
		return &secret{v}
	}
	return starlark.None
}

// number converts integers exactly. A fraction too large for a float becomes infinite, which a result must not
// contain.
func number(literal string) starlark.Value {
	if i, err := strconv.ParseInt(literal, 10, 64); err == nil {
		return starlark.MakeInt64(i)
	}
	if i, ok := new(big.Int).SetString(literal, 10); ok {
		return starlark.MakeBigInt(i)
	}
	f, _ := strconv.ParseFloat(literal, 64)
	return starlark.Float(f)
}

func (o *object) path() string {
	switch {
	case o.at == nil:
		return "config"
	case o.at.root() == ownDevice:
		return o.at.key().String()
	}
	return "config." + o.at.key().String()
}

// ownDevice is the place of values that come from the template's device rather than from a configuration.
var ownDevice = &place{nil, "device"}

func (o *object) String() string        { return string(o.value.JSON()) }
func (o *object) Type() string          { return "object" }
func (o *object) Freeze()               {}
func (o *object) Truth() starlark.Bool  { return o.value.Len() > 0 }
func (o *object) Hash() (uint32, error) { return 0, fmt.Errorf("unhashable: %s", o.path()) }
func (o *object) Len() int              { return o.value.Len() }

// member finds a member by name as the daemon does: in any letter case, and the last one when two match.
func (o *object) member(name string) (starlark.Value, bool) {
	for i := o.value.Len() - 1; i >= 0; i-- {
		if strings.EqualFold(o.value.Name(i), name) {
			return o.index(i), true
		}
	}
	return nil, false
}

func (o *object) index(i int) starlark.Value {
	if o.fields[i] == nil {
		o.fields[i] = fromValue(o.value.At(i), &place{o.at, o.value.Name(i)})
	}
	return o.fields[i]
}

func (o *object) names() []string {
	names := make([]string, o.value.Len())
	for i := range names {
		names[i] = o.value.Name(i)
	}
	return names
}

// Attr implements config.options. For an unknown name it returns nil, so that the interpreter makes the error and
// suggests a name.
func (o *object) Attr(name string) (starlark.Value, error) {
	if v, ok := o.member(name); ok {
		return v, nil
	}
	if method, ok := objectMethods[name]; ok {
		return method.BindReceiver(o), nil
	}
	return nil, starlark.NoSuchAttrError(noField(o.path(), name, "", o.names()))
}

func (o *object) AttrNames() []string {
	names := o.names()
	for name := range objectMethods {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Get implements config["options"].
func (o *object) Get(key starlark.Value) (starlark.Value, bool, error) {
	name, ok := starlark.AsString(key)
	if !ok {
		return nil, false, fmt.Errorf("%s is an object: its fields have names, not %s", o.path(), key.Type())
	}
	if v, ok := o.member(name); ok {
		return v, true, nil
	}
	return nil, false, fmt.Errorf("%s has no field %q%s", o.path(), name, didYouMean(name, o.names()))
}

func (o *object) Items() []starlark.Tuple {
	items := make([]starlark.Tuple, o.value.Len())
	for i := range items {
		items[i] = starlark.Tuple{starlark.String(o.value.Name(i)), o.index(i)}
	}
	return items
}

func (o *object) Iterate() starlark.Iterator { return nameIterator(o.names()) }

// CompareSameType compares two objects as stconfig does: by meaning, not by the order of members.
func (o *object) CompareSameType(op syntax.Token, other starlark.Value, _ int) (bool, error) {
	return equality(op, o.Type(), o.value.Equal(other.(*object).value))
}

// Binary implements config.options | {"natEnabled": False}. The result is a new dict. Where both sides have a name,
// the value of the right side counts.
func (o *object) Binary(op syntax.Token, other starlark.Value, side starlark.Side) (starlark.Value, error) {
	mapping, ok := other.(starlark.IterableMapping)
	if op != syntax.PIPE || !ok {
		return nil, nil // The operator is not defined for objects.
	}
	first, second := o.Items(), mapping.Items()
	if side == starlark.Right {
		first, second = second, first
	}
	union := starlark.NewDict(len(first) + len(second))
	for _, item := range slices.Concat(first, second) {
		if err := union.SetKey(item[0], item[1]); err != nil {
			return nil, err
		}
	}
	return union, nil
}

var objectMethods = map[string]*starlark.Builtin{
	"get":    starlark.NewBuiltin("get", objectGet),
	"keys":   starlark.NewBuiltin("keys", objectKeys),
	"values": starlark.NewBuiltin("values", objectValues),
	"items":  starlark.NewBuiltin("items", objectItems),
}

func objectGet(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value,
	error) {
	var name string
	var otherwise starlark.Value = starlark.None
	if err := starlark.UnpackPositionalArgs(b.Name(), args, kwargs, 1, &name, &otherwise); err != nil {
		return nil, err
	}
	if v, ok := b.Receiver().(*object).member(name); ok {
		return v, nil
	}
	return otherwise, nil
}

func objectKeys(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value,
	error) {
	return objectList(b, args, kwargs, func(item starlark.Tuple) starlark.Value { return item[0] })
}

func objectValues(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple,
	kwargs []starlark.Tuple) (starlark.Value, error) {
	return objectList(b, args, kwargs, func(item starlark.Tuple) starlark.Value { return item[1] })
}

func objectItems(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple,
	kwargs []starlark.Tuple) (starlark.Value, error) {
	return objectList(b, args, kwargs, func(item starlark.Tuple) starlark.Value { return item })
}

func objectList(b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple,
	pick func(starlark.Tuple) starlark.Value) (starlark.Value, error) {
	if err := starlark.UnpackPositionalArgs(b.Name(), args, kwargs, 0); err != nil {
		return nil, err
	}
	var values []starlark.Value
	for _, item := range b.Receiver().(*object).Items() {
		values = append(values, pick(item))
	}
	return starlark.NewList(values), nil
}

// nameIterator iterates over the names of an object.
func nameIterator(names []string) starlark.Iterator { return &nameSequence{names} }

type nameSequence struct{ left []string }

func (s *nameSequence) Next(v *starlark.Value) bool {
	if len(s.left) == 0 {
		return false
	}
	*v, s.left = starlark.String(s.left[0]), s.left[1:]
	return true
}

func (s *nameSequence) Done() {}
