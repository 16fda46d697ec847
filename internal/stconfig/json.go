package stconfig

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// JSON is the compact document. A Handle is written as the string "${NAME}": resolve handles before sending.
func (v Value) JSON() []byte { return v.AppendJSON(nil) }

// MarshalJSON makes a Value usable in wire types.
func (v Value) MarshalJSON() ([]byte, error) { return v.JSON(), nil }

// AppendJSON appends the compact document to b. Absent is written as null.
func (v Value) AppendJSON(b []byte) []byte {
	switch v.kind {
	case Absent, Null:
		return append(b, "null"...)
	case Bool, Number:
		return append(b, v.text...)
	case String:
		return appendString(b, v.text)
	case Handle:
		return appendString(b, "${"+v.text+"}")
	case Array:
		b = append(b, '[')
		for i, member := range v.kids.values {
			if i > 0 {
				b = append(b, ',')
			}
			b = member.AppendJSON(b)
		}
		return append(b, ']')
	default:
		b = append(b, '{')
		for i, member := range v.kids.values {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendString(b, v.kids.names[i]), ':')
			b = member.AppendJSON(b)
		}
		return append(b, '}')
	}
}

func appendString(b []byte, s string) []byte {
	if isPlain(s) {
		return append(append(append(b, '"'), s...), '"')
	}
	out, err := jsontext.AppendQuote(b, s)
	if err != nil { // invalid UTF-8 only: AppendQuote has replaced it
		out, _ = jsontext.AppendQuote(b, strings.ToValidUTF8(s, "\uFFFD"))
	}
	return out
}

// isPlain tells whether a text needs no escapes.
func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c >= 0x7f || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}
