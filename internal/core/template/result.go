package template

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.starlark.net/starlark"

	"muster/internal/core/stconfig"
)

// toValue converts the result of a program to a value. Its error names the part of the result that JSON cannot
// represent.
func toValue(x starlark.Value, limits Limits) (stconfig.Value, error) {
	c := &converter{values: limits.Values, bytes: limits.ValueBytes, limits: limits}
	return c.value(x)
}

type converter struct {
	values, bytes int              // how many values and bytes the result may still have
	inside        []starlark.Value // the containers that contain the current value
	// members of the objects that contain the current value, as far as converted; stconfig.Obj copies them
	members []stconfig.Member
	limits  Limits
}

// misfit says why a part of the result is not allowed, and which part it is.
type misfit struct {
	path    string
	message string
	whole   bool // the whole result is not allowed, not a part of it
}

func (m *misfit) Error() string {
	if m.path == "" {
		return "the result " + m.message
	}
	return "the result, at " + shorten(m.path) + ", " + m.message
}

func (m *misfit) within(step string) *misfit {
	switch {
	case m.whole:
		return m
	case m.path == "" || m.path[0] == '[':
		return &misfit{path: step + m.path, message: m.message}
	}
	return &misfit{path: step + "." + m.path, message: m.message}
}

func (c *converter) value(x starlark.Value) (stconfig.Value, error) {
	v, err := c.convert(x)
	if err != nil {
		return stconfig.Value{}, err
	}
	return v, nil
}

func (c *converter) convert(x starlark.Value) (stconfig.Value, *misfit) {
	if c.values--; c.values < 0 {
		return stconfig.Value{}, c.tooMany()
	}
	switch x := x.(type) {
	case starlark.NoneType:
		return stconfig.NullValue, nil
	case starlark.Bool:
		return stconfig.Boolean(bool(x)), nil
	case starlark.Int:
		return c.integer(x)
	case starlark.Float:
		return c.float(float64(x))
	case starlark.String:
		return c.text(string(x))
	case *secret:
		return x.handle, c.spend(len(x.handle.Str()))
	case *device:
		v := x.value()
		return v, c.spendAll(v)
	case *object:
		return x.value, c.spendAll(x.value)
	case starlark.IterableMapping:
		return c.object(x)
	case *starlark.List, starlark.Tuple, *starlark.Set:
		return c.list(x.(starlark.Iterable))
	case starlark.Bytes:
		return stconfig.Value{}, &misfit{message: "is bytes: make it a string with str()"}
	case starlark.Callable:
		return stconfig.Value{}, &misfit{message: fmt.Sprintf("is the function %s: call it", x.Name())}
	case starlark.Iterable:
		return c.list(x)
	}
	return stconfig.Value{}, &misfit{message: fmt.Sprintf("is a %s, which no configuration can hold", x.Type())}
}

func (c *converter) tooMany() *misfit {
	return &misfit{message: fmt.Sprintf("has more than %d values", c.limits.Values), whole: true}
}

func (c *converter) spend(n int) *misfit {
	if c.bytes -= n; c.bytes < 0 {
		return &misfit{message: fmt.Sprintf("is larger than %d KiB", c.limits.ValueBytes>>10), whole: true}
	}
	return nil
}

// spendAll subtracts the size of a part of the configuration that the program returned unchanged.
func (c *converter) spendAll(v stconfig.Value) *misfit {
	if c.values -= v.Len(); c.values < 0 {
		return c.tooMany()
	}
	for i := range v.Len() {
		if v.Kind() == stconfig.Object {
			if err := c.spend(len(v.Name(i))); err != nil {
				return err
			}
		}
		if err := c.spendAll(v.At(i)); err != nil {
			return err
		}
	}
	return c.spend(len(v.Str()))
}

func (c *converter) integer(i starlark.Int) (stconfig.Value, *misfit) {
	if small, ok := i.Int64(); ok {
		return stconfig.Literal(strconv.FormatInt(small, 10)), nil
	}
	const bitsPerDigit = 3.3219280948873626
	if float64(i.BigInt().BitLen()) > maxDigits*bitsPerDigit {
		return stconfig.Value{}, &misfit{message: fmt.Sprintf("is a number of more than %d digits", maxDigits)}
	}
	literal := i.String()
	return stconfig.Literal(literal), c.spend(len(literal))
}

// float writes a number without a fraction as an integer. JSON has one type for both, and daemons expect 5 rather than
// 5.0.
func (c *converter) float(f float64) (stconfig.Value, *misfit) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return stconfig.Value{}, &misfit{message: fmt.Sprintf("is %v, which is no number in JSON", starlark.Float(f))}
	}
	format := byte('f')
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	return stconfig.Literal(strconv.FormatFloat(f, format, -1, 64)), nil
}

func (c *converter) text(s string) (stconfig.Value, *misfit) {
	if err := c.spend(len(s)); err != nil {
		return stconfig.Value{}, err
	}
	if !utf8.ValidString(s) {
		return stconfig.Value{}, &misfit{message: "is no text: it is not valid UTF-8"}
	}
	if name, ok := secretName(s); ok {
		return stconfig.Value{}, &misfit{message: fmt.Sprintf("is the text %q: in a program, write secret(%q)", s, name)}
	}
	return stconfig.Text(s), nil
}

// enter refuses a container that contains itself or that is nested too deeply.
func (c *converter) enter(x starlark.Value) *misfit {
	for _, outer := range c.inside {
		if sameContainer(outer, x) {
			return &misfit{message: "contains itself"}
		}
	}
	if len(c.inside) >= MaxDepth {
		return &misfit{message: fmt.Sprintf("is nested deeper than %d levels", MaxDepth)}
	}
	c.inside = append(c.inside, x)
	return nil
}

func (c *converter) leave() { c.inside = c.inside[:len(c.inside)-1] }

// sameContainer reports whether two values are the same list, dict or set. A tuple needs no check: it can contain
// itself only through one of these.
func sameContainer(a, b starlark.Value) bool {
	switch a := a.(type) {
	case *starlark.List:
		other, ok := b.(*starlark.List)
		return ok && a == other
	case *starlark.Dict:
		other, ok := b.(*starlark.Dict)
		return ok && a == other
	}
	return false
}

func (c *converter) list(x starlark.Iterable) (stconfig.Value, *misfit) {
	if err := c.enter(x); err != nil {
		return stconfig.Value{}, err
	}
	defer c.leave()
	iter := x.Iterate()
	defer iter.Done()
	var members []stconfig.Value
	if n := starlark.Len(x); n > 0 && n <= c.values {
		members = make([]stconfig.Value, 0, n)
	}
	var member starlark.Value
	for i := 0; iter.Next(&member); i++ {
		v, err := c.convert(member)
		if err != nil {
			return stconfig.Value{}, err.within("[" + strconv.Itoa(i) + "]")
		}
		members = append(members, v)
	}
	return stconfig.List(members...), nil
}

func (c *converter) object(x starlark.IterableMapping) (stconfig.Value, *misfit) {
	if err := c.enter(x); err != nil {
		return stconfig.Value{}, err
	}
	defer c.leave()
	switch n := starlark.Len(x); {
	case n > c.values:
		return stconfig.Value{}, c.tooMany()
	case n > MaxNames:
		return stconfig.Value{}, &misfit{message: "is too large: " + tooManyNames}
	}
	first := len(c.members)
	for _, item := range x.Items() {
		m, err := c.member(item[0], item[1])
		if err != nil {
			return stconfig.Value{}, err
		}
		c.members = append(c.members, m)
	}
	v, err := stconfig.Obj(c.members[first:]...), unique(c.members[first:])
	c.members = c.members[:first]
	return v, err
}

func (c *converter) member(key, value starlark.Value) (stconfig.Member, *misfit) {
	name, ok := key.(starlark.String)
	if !ok {
		return stconfig.Member{}, &misfit{message: fmt.Sprintf("has the key %s: a key is a string, not %s",
			shorten(key.String()), key.Type())}
	}
	if _, err := c.text(string(name)); err != nil {
		return stconfig.Member{}, err.within(string(name))
	}
	v, err := c.convert(value)
	if err != nil {
		return stconfig.Member{}, err.within(string(name))
	}
	return stconfig.Member{Name: string(name), Value: v}, nil
}

// unique refuses names in one object that differ only in letter case, because the daemon cannot distinguish them. It
// compares few names directly, which is fast for most objects.
func unique(members []stconfig.Member) *misfit {
	if len(members) <= 8 {
		for i, m := range members {
			for _, earlier := range members[:i] {
				if strings.EqualFold(earlier.Name, m.Name) {
					return &misfit{message: "is no object: " + duplicateMessage(earlier.Name, m.Name)}
				}
			}
		}
		return nil
	}
	seen := make(map[string]string, len(members))
	for _, m := range members {
		folded := foldName(m.Name)
		if first, twice := seen[folded]; twice {
			return &misfit{message: "is no object: " + duplicateMessage(first, m.Name)}
		}
		seen[folded] = m.Name
	}
	return nil
}
