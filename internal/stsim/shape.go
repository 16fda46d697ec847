package stsim

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// shape is the type of one value of a configuration. The daemon reads JSON into Go structs, so decode follows
// encoding/json: names without regard to case, unknown ones dropped, null leaves scalars alone, what is there is
// merged with what comes.
type shape struct {
	kind   shapeKind
	fields []field           // of an object, in the daemon's order
	index  map[string]int    // of fields, by lower-case name
	elem   *shape            // of a list
	words  map[string]string // of an enum: spelling read -> word written; any other becomes ""
	zero   stconfig.Value    // Go's zero value
	preset stconfig.Value    // the zero value with every default filled in
	resets bool              // reading it fills in its defaults first (the daemon's VersioningConfiguration)
}

type shapeKind uint8

const (
	boolean shapeKind = iota
	integer
	float
	text
	enum
	deviceID
	instant
	list
	dict // of strings
	object
)

type field struct {
	name    string
	shape   *shape
	preset  stconfig.Value // Absent: the shape's own
	restart bool           // a change needs a restart of the daemon
}

// nothing stands for a nil list or map until fillNil: it is told from an empty one.
var nothing = stconfig.NullValue

var (
	aBoolean  = &shape{kind: boolean, zero: stconfig.Boolean(false)}
	anInteger = &shape{kind: integer, zero: number(0)}
	aFloat    = &shape{kind: float, zero: number(0)}
	aText     = &shape{kind: text, zero: stconfig.Text("")}
	aDeviceID = &shape{kind: deviceID, zero: stconfig.Text("")}
	anInstant = &shape{kind: instant, zero: stconfig.Text("0001-01-01T00:00:00Z")}
	aDict     = &shape{kind: dict, zero: nothing}
	texts     = listOf(aText)
)

func number(n int64) stconfig.Value { return stconfig.Literal(strconv.FormatInt(n, 10)) }

func listOf(elem *shape) *shape { return &shape{kind: list, elem: elem, zero: nothing} }

// words is an enum: the first word is the zero value and stands in for every unknown one. "old=new" is an old
// spelling.
func words(spellings ...string) *shape {
	s := &shape{kind: enum, words: map[string]string{}, zero: stconfig.Text(spellings[0])}
	for _, spelling := range spellings {
		read, word, old := strings.Cut(spelling, "=")
		if !old {
			word = read
		}
		s.words[read] = word
	}
	return s
}

func structOf(fields ...field) *shape {
	s := &shape{kind: object, fields: fields, index: make(map[string]int, len(fields))}
	zero, preset := make([]stconfig.Member, len(fields)), make([]stconfig.Member, len(fields))
	for i, f := range fields {
		s.index[strings.ToLower(f.name)] = i
		zero[i] = stconfig.Member{Name: f.name, Value: f.shape.zero}
		preset[i] = stconfig.Member{Name: f.name, Value: f.shape.presetValue()}
		if f.preset.Exists() {
			preset[i].Value = f.preset
		}
	}
	s.zero, s.preset = stconfig.Obj(zero...), stconfig.Obj(preset...)
	return s
}

func (s *shape) presetValue() stconfig.Value {
	if s.kind == object {
		return s.preset
	}
	return s.zero
}

// decode reads body over current, as json.Unmarshal into a struct that holds current would.
func (s *shape) decode(current, body stconfig.Value, at string) (stconfig.Value, error) {
	switch s.kind {
	case object:
		return s.decodeObject(current, body, at)
	case list:
		return s.decodeList(current, body, at)
	case dict:
		return s.decodeDict(current, body, at)
	}
	if body.Kind() == stconfig.Null {
		return current, nil
	}
	return s.decodeScalar(body, at)
}

func (s *shape) decodeObject(current, body stconfig.Value, at string) (stconfig.Value, error) {
	if s.resets {
		current = s.withPresets(current)
	}
	switch body.Kind() {
	case stconfig.Null:
		return current, nil
	case stconfig.Object:
	default:
		return current, mismatch(body, at, "struct")
	}
	for name, member := range body.Members() {
		i, known := s.index[strings.ToLower(name)]
		if !known {
			continue
		}
		f := s.fields[i]
		was := current.At(i)
		value, err := f.shape.decode(was, member, join(at, f.name))
		if err != nil {
			return current, err
		}
		if !value.Equal(was) {
			current = current.With(f.name, value)
		}
	}
	return current, nil
}

func (s *shape) withPresets(current stconfig.Value) stconfig.Value {
	for _, f := range s.fields {
		if f.preset.Exists() {
			current = current.With(f.name, f.preset)
		}
	}
	return current
}

// decodeList replaces the list, but like encoding/json it reads a member over the one that stood at its place: what
// the new member does not name, it inherits from the old one.
func (s *shape) decodeList(current, body stconfig.Value, at string) (stconfig.Value, error) {
	switch body.Kind() {
	case stconfig.Null:
		return nothing, nil
	case stconfig.Array:
	default:
		return current, mismatch(body, at, "[]"+s.elem.goType())
	}
	members := make([]stconfig.Value, body.Len())
	for i := range members {
		over := s.elem.zero
		if i < current.Len() {
			over = current.At(i)
		}
		member, err := s.elem.decode(over, body.At(i), at)
		if err != nil {
			return current, err
		}
		members[i] = member
	}
	return stconfig.List(members...), nil
}

// decodeDict merges: reading JSON into a Go map never removes an entry. Entries come out sorted, their names keep
// their case.
func (s *shape) decodeDict(current, body stconfig.Value, at string) (stconfig.Value, error) {
	switch body.Kind() {
	case stconfig.Null:
		return nothing, nil
	case stconfig.Object:
	default:
		return current, mismatch(body, at, "map[string]string")
	}
	entries := map[string]stconfig.Value{}
	for name, value := range current.Members() {
		entries[name] = value
	}
	for name, value := range body.Members() {
		over, there := entries[name]
		if !there {
			over = aText.zero
		}
		read, err := aText.decode(over, value, join(at, name))
		if err != nil {
			return current, err
		}
		entries[name] = read
	}
	return dictOf(entries), nil
}

func dictOf(entries map[string]stconfig.Value) stconfig.Value {
	members := make([]stconfig.Member, 0, len(entries))
	for name, value := range entries {
		members = append(members, stconfig.Member{Name: name, Value: value})
	}
	slices.SortFunc(members, func(a, b stconfig.Member) int { return strings.Compare(a.Name, b.Name) })
	return stconfig.Obj(members...)
}

func (s *shape) decodeScalar(body stconfig.Value, at string) (stconfig.Value, error) {
	switch s.kind {
	case boolean:
		if body.Kind() == stconfig.Bool {
			return body, nil
		}
	case integer:
		if body.Kind() == stconfig.Number {
			n, err := strconv.ParseInt(body.Str(), 10, 64)
			if err == nil {
				return number(n), nil
			}
		}
	case float:
		if body.Kind() == stconfig.Number {
			n, err := strconv.ParseFloat(body.Str(), 64)
			if err == nil {
				return floatLiteral(n), nil
			}
		}
	default:
		if body.Kind() == stconfig.String {
			return s.decodeText(body)
		}
	}
	return s.zero, mismatch(body, at, s.goType())
}

func (s *shape) decodeText(body stconfig.Value) (stconfig.Value, error) {
	switch s.kind {
	case enum:
		if word, known := s.words[body.Str()]; known {
			return stconfig.Text(word), nil
		}
		return s.zero, nil
	case deviceID:
		id, err := parseDeviceID(body.Str())
		return stconfig.Text(string(id)), err
	case instant:
		if _, err := time.Parse(time.RFC3339Nano, body.Str()); err != nil {
			return s.zero, err
		}
	}
	return body, nil
}

// parseDeviceID takes the empty ID too, as the daemon does.
func parseDeviceID(s string) (fleet.DeviceID, error) {
	if s == "" {
		return "", nil
	}
	id, err := fleet.ParseDeviceID(s)
	if err != nil {
		return "", fmt.Errorf("%q: device ID invalid: incorrect length", s)
	}
	return id, nil
}

// floatLiteral writes a float as encoding/json does.
func floatLiteral(n float64) stconfig.Value {
	b, err := json.Marshal(n)
	if err != nil { // ParseFloat of a JSON number gives no infinity without an error
		return number(0)
	}
	return stconfig.Literal(string(b))
}

// fillNil turns every nil list into its default and every nil map into an empty one.
func (s *shape) fillNil(v stconfig.Value) stconfig.Value {
	switch {
	case v.Kind() == stconfig.Null && s.kind == list:
		return stconfig.List()
	case v.Kind() == stconfig.Null && s.kind == dict:
		return stconfig.Obj()
	case s.kind == object:
		for i, f := range s.fields {
			was := v.At(i)
			if was.Kind() != stconfig.Null && f.shape.kind != object && f.shape.kind != list {
				continue
			}
			if filled := f.shape.fillNil(was); !filled.Equal(was) {
				v = v.With(f.name, filled)
			}
		}
	case s.kind == list && s.elem.kind == object:
		members := slices.Collect(v.Values())
		changed := false
		for i, member := range members {
			if filled := s.elem.fillNil(member); !filled.Equal(member) {
				members[i], changed = filled, true
			}
		}
		if changed {
			return stconfig.List(members...)
		}
	}
	return v
}

func (s *shape) goType() string {
	switch s.kind {
	case boolean:
		return "bool"
	case integer:
		return "int"
	case float:
		return "float64"
	case object:
		return "struct"
	}
	return "string"
}

func join(at, name string) string {
	if at == "" {
		return name
	}
	return at + "." + name
}

// mismatch is the text of encoding/json, which is what the daemon answers with.
func mismatch(body stconfig.Value, at, want string) error {
	var is string
	switch body.Kind() {
	case stconfig.Bool:
		is = "bool"
	case stconfig.Number:
		is = "number " + body.Str()
	case stconfig.String:
		is = "string"
	case stconfig.Array:
		is = "array"
	default:
		is = "object"
	}
	if at == "" {
		return fmt.Errorf("json: cannot unmarshal %s into Go value of type %s", is, want)
	}
	return fmt.Errorf("json: cannot unmarshal %s into Go struct field %s of type %s", is, at, want)
}
