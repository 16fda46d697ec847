package sandbox

import (
	"encoding/binary"
	"errors"

	"muster/internal/core/stconfig"
	"muster/internal/core/template"
)

// Values cross the pipe in a form that is cheaper than JSON and keeps Handles: a byte for the kind, then a text with
// its length, or the number of members and the members.
const (
	tagNull   = 'n'
	tagFalse  = 'f'
	tagTrue   = 't'
	tagNumber = '#'
	tagText   = 's'
	tagHandle = 'h'
	tagList   = '['
	tagObject = '{'
)

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// appendValue encodes; Absent becomes null.
func appendValue(b []byte, v stconfig.Value) []byte {
	switch v.Kind() {
	case stconfig.Bool:
		if v.IsTrue() {
			return append(b, tagTrue)
		}
		return append(b, tagFalse)
	case stconfig.Number:
		return appendText(append(b, tagNumber), v.Str())
	case stconfig.String:
		return appendText(append(b, tagText), v.Str())
	case stconfig.Handle:
		return appendText(append(b, tagHandle), v.Str())
	case stconfig.Array:
		b = binary.AppendUvarint(append(b, tagList), uint64(v.Len()))
		for i := range v.Len() {
			b = appendValue(b, v.At(i))
		}
		return b
	case stconfig.Object:
		b = binary.AppendUvarint(append(b, tagObject), uint64(v.Len()))
		for i := range v.Len() {
			b = appendValue(appendText(b, v.Name(i)), v.At(i))
		}
		return b
	}
	return append(b, tagNull)
}

// reader decodes from one string, of which the texts that it gives are parts.
type reader struct {
	left    string
	values  int // how many more values may come
	scratch []stconfig.Member
}

var errCodec = errors.New("a damaged frame")

func (r *reader) uvarint() (uint64, error) {
	var n uint64
	for i, shift := 0, 0; i < len(r.left) && shift < 64; i, shift = i+1, shift+7 {
		n |= uint64(r.left[i]&0x7f) << shift
		if r.left[i] < 0x80 {
			r.left = r.left[i+1:]
			return n, nil
		}
	}
	return 0, errCodec
}

func (r *reader) text() (string, error) {
	n, err := r.uvarint()
	if err != nil || n > uint64(len(r.left)) {
		return "", errCodec
	}
	s := r.left[:n]
	r.left = r.left[n:]
	return s, nil
}

// count reads a number of members. It is an error when the text is too short for them: each takes at least a byte.
func (r *reader) count() (int, error) {
	n, err := r.uvarint()
	if err != nil || n > uint64(len(r.left)) || n > uint64(r.values) {
		return 0, errCodec
	}
	r.values -= int(n)
	return int(n), nil
}

func (r *reader) value(depth int) (stconfig.Value, error) {
	if r.left == "" || depth > template.MaxDepth {
		return stconfig.Value{}, errCodec
	}
	tag := r.left[0]
	r.left = r.left[1:]
	switch tag {
	case tagNull:
		return stconfig.NullValue, nil
	case tagTrue, tagFalse:
		return stconfig.Boolean(tag == tagTrue), nil
	case tagList:
		return r.list(depth)
	case tagObject:
		return r.object(depth)
	}
	s, err := r.text()
	switch {
	case err != nil:
		return stconfig.Value{}, err
	case tag == tagNumber:
		return stconfig.Literal(s), nil
	case tag == tagText:
		return stconfig.Text(s), nil
	case tag == tagHandle:
		return stconfig.SecretHandle(s), nil
	}
	return stconfig.Value{}, errCodec
}

func (r *reader) list(depth int) (stconfig.Value, error) {
	n, err := r.count()
	if err != nil {
		return stconfig.Value{}, err
	}
	members := make([]stconfig.Value, n)
	for i := range members {
		if members[i], err = r.value(depth + 1); err != nil {
			return stconfig.Value{}, err
		}
	}
	return stconfig.List(members...), nil
}

// object collects members on a stack that all objects share: Obj copies them.
func (r *reader) object(depth int) (stconfig.Value, error) {
	n, err := r.count()
	if err != nil {
		return stconfig.Value{}, err
	}
	first := len(r.scratch)
	for range n {
		var m stconfig.Member
		if m.Name, err = r.text(); err != nil {
			return stconfig.Value{}, err
		}
		if m.Value, err = r.value(depth + 1); err != nil {
			return stconfig.Value{}, err
		}
		r.scratch = append(r.scratch, m)
	}
	v := stconfig.Obj(r.scratch[first:]...)
	r.scratch = r.scratch[:first]
	return v, nil
}
