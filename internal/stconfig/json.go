package stconfig

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"muster/internal/fleet"
)

// MaxDepth is the deepest nesting that Parse takes. Real configurations have seven levels.
const MaxDepth = 200

// Parse reads one JSON document. Numbers stay exact; of a name that is there twice the later one counts.
func Parse(data []byte) (Value, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(data), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	v, err := parseValue(dec, 0)
	if err == nil {
		if _, end := dec.ReadToken(); !errors.Is(end, io.EOF) {
			err = errors.New("there is text after the document")
		}
	}
	if err != nil {
		return Value{}, &fleet.Error{Code: fleet.CodeMalformed, During: "read JSON", Message: "this is not one JSON document", Err: err}
	}
	return v, nil
}

func parseValue(dec *jsontext.Decoder, depth int) (Value, error) {
	if depth > MaxDepth {
		return Value{}, fmt.Errorf("nested deeper than %d levels", MaxDepth)
	}
	tok, err := dec.ReadToken()
	if err != nil {
		return Value{}, err
	}
	switch tok.Kind() {
	case 'n':
		return NullValue, nil
	case 't', 'f':
		return Boolean(tok.Bool()), nil
	case '"':
		return Text(tok.String()), nil
	case '0':
		return Literal(tok.String()), nil
	case '[':
		k := &kids{}
		for dec.PeekKind() != ']' {
			member, err := parseValue(dec, depth+1)
			if err != nil {
				return Value{}, err
			}
			k.values = append(k.values, member)
		}
		_, err := dec.ReadToken()
		return Value{kind: Array, kids: k}, err
	default:
		return parseObject(dec, depth)
	}
}

func parseObject(dec *jsontext.Decoder, depth int) (Value, error) {
	k := &kids{}
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return Value{}, err
		}
		text := name.String()
		member, err := parseValue(dec, depth+1)
		if err != nil {
			return Value{}, err
		}
		k.names, k.values = append(k.names, text), append(k.values, member)
	}
	_, err := dec.ReadToken()
	return Value{kind: Object, kids: k}, err
}

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
	out, err := jsontext.AppendQuote(b, s)
	if err != nil { // invalid UTF-8 only: AppendQuote has replaced it
		out, _ = jsontext.AppendQuote(b, strings.ToValidUTF8(s, "\uFFFD"))
	}
	return out
}

// sameNumber compares two literals by value, exactly. Exponents that would need a huge number are compared as text.
func sameNumber(a, b string) bool {
	if len(a) > 400 || len(b) > 400 || hasBigExponent(a) || hasBigExponent(b) {
		return a == b
	}
	x, okX := new(big.Rat).SetString(a)
	y, okY := new(big.Rat).SetString(b)
	return okX && okY && x.Cmp(y) == 0
}

func hasBigExponent(s string) bool {
	_, exponent, ok := strings.Cut(strings.ToLower(s), "e")
	return ok && len(strings.TrimLeft(exponent, "+-")) > 3
}
