package stconfig

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

func kindText(k Kind) string {
	switch k {
	case Null:
		return "null"
	case Bool:
		return "true or false"
	case Number:
		return "a number"
	case String:
		return "a text"
	case Array:
		return "a list"
	case Object:
		return "an object"
	case Handle:
		return "a secret"
	}
	return "nothing"
}

// kind returns the JSON type that the place accepts, or Absent when it is unknown.
func (p place) kind() Kind {
	for _, v := range []Value{p.value, p.base} {
		if v.kind == Handle {
			return String
		}
		if v.kind != Absent && v.kind != Null {
			return v.kind
		}
	}
	if p.shape != nil {
		return p.shape.kind
	}
	return Absent
}

// accept checks that a value has the JSON type that the place accepts, and gives that type.
func (a *applier) accept(p place, v Value) (Kind, error) {
	want, got := p.kind(), v.kind
	switch {
	case got == Null && (p.value.kind == Null || want == Absent):
		return Null, nil
	case got == Null && p.shape != nil && p.shape == folderShape():
		return 0, a.fail("null is no value for %s: where a device gets no folder, return [] at the key folders", a.here())
	case got == Null:
		return 0, a.fail("null is no value for %s: leave it out, or set the value that you want", a.here())
	case want == Absent, want == got, want == String && got == Handle:
		return got, nil
	}
	return 0, a.fail("%s %s", a.here(), p.shape.misfit(a.lastName(), want, v))
}

// scalar checks a value without members, and gives it as the daemon would write it.
func (a *applier) scalar(p place, v Value) (Value, error) {
	if p.value.kind == v.kind && v.Equal(p.value) {
		return p.value, nil // The value does not change, so the daemon's spelling of it stays.
	}
	if err := a.spendAll(v); err != nil {
		return Value{}, err
	}
	switch s := p.shape; {
	case p.identity && p.value.text != "":
		return Value{}, a.fail("%s does not change: remove the member and add another", a.here())
	case s == nil:
	case s.secret && v.kind == String && v.text == MaskedSecret:
		return Value{}, a.fail("%s is what %s shows instead of a secret: give the secret, or leave the field out", v.text,
			a.here())
	case len(s.choices) > 0 && v.kind == String && !slices.Contains(s.choices, v.text):
		return Value{}, a.fail("%s", a.noChoice(s, v.text))
	case s.kind == Number && tooLarge(v.text, s.most):
		return Value{}, a.fail("%s does not take a number as large as %s", a.here(), shortened(v.text))
	case s.device:
		return a.device(v)
	case s.whole && strings.ContainsAny(v.text, ".eE"):
		return Value{}, a.fail("%s takes a whole number, not %s: a program divides with //", a.here(), shortened(v.text))
	case s.whole:
		if _, err := strconv.ParseInt(v.text, 10, 64); err != nil {
			return Value{}, a.fail("%s does not take a number as large as %s", a.here(), shortened(v.text))
		}
	}
	return v, nil
}

// tooLarge reports whether a number is too large for the daemon to read, or its absolute value exceeds most. With
// most 0 there is no second limit.
func tooLarge(literal string, most int64) bool {
	n, err := strconv.ParseFloat(literal, 64)
	return err != nil || most > 0 && math.Abs(n) > float64(most)
}

// noChoice describes the error that a text is not one of the allowed values.
func (a *applier) noChoice(s *shape, text string) string {
	said := fmt.Sprintf("%s is one of %s, not %s", a.here(), quotedList(s.choices),
		appendString(nil, shortened(text)))
	if near := didYouMean(text, s.choices); near != "" {
		said += ": " + near
	}
	return said
}

// device returns a device ID in canonical form, or an empty text.
func (a *applier) device(v Value) (Value, error) {
	if v.kind == Handle {
		return Value{}, a.fail("%s is a device ID and cannot be a secret", a.here())
	}
	id := canonicalID(v.text)
	if id == "" && v.text != "" {
		return Value{}, a.fail("%s takes a device ID, and %s is none", a.here(), appendString(nil, shortened(v.text)))
	}
	return Text(id), nil
}

func shortened(text string) string {
	const enough = 80
	if len(text) <= enough {
		return text
	}
	return strings.ToValidUTF8(text[:enough], "") + "…"
}
