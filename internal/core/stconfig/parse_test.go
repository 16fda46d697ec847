package stconfig

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"muster/internal/fleet"
)

// reference is Parse by jsontext's tokens: slower, and written by others.
func reference(data []byte) (Value, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(data), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	v, err := referenceValue(dec)
	if err == nil {
		if _, end := dec.ReadToken(); !errors.Is(end, io.EOF) {
			err = errors.New("more")
		}
	}
	return v, err
}

func referenceValue(dec *jsontext.Decoder) (Value, error) {
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
	}
	k, closing, kind := &kids{}, jsontext.Kind(']'), Array
	if tok.Kind() == '{' {
		closing, kind = '}', Object
	}
	for dec.PeekKind() != closing {
		if kind == Object {
			name, err := dec.ReadToken()
			if err != nil {
				return Value{}, err
			}
			k.names = append(k.names, name.String())
		}
		member, err := referenceValue(dec)
		if err != nil {
			return Value{}, err
		}
		k.values = append(k.values, member)
	}
	_, err = dec.ReadToken()
	return Value{kind: kind, kids: k}, err
}

func checkParse(t failer, data []byte) {
	t.Helper()
	got, err := Parse(data)
	want, wantErr := reference(data)
	if depthOf(want) > MaxDepth {
		if fleet.CodeOf(err) != fleet.CodeMalformed {
			t.Fatalf("%q: nested too deep, and got %v", data, err)
		}
		return
	}
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("%q: got %v, jsontext says %v", data, err, wantErr)
	}
	if err != nil {
		if fleet.CodeOf(err) != fleet.CodeMalformed {
			t.Fatalf("%q: got code %s", data, fleet.CodeOf(err))
		}
		return
	}
	if a, b := string(got.JSON()), string(want.JSON()); a != b {
		t.Fatalf("%q: got %s, jsontext says %s", data, a, b)
	}
	again, err := Parse(got.JSON())
	if err != nil || string(again.JSON()) != string(got.JSON()) {
		t.Fatalf("%q: printed and read again it is %s (%v)", data, again.JSON(), err)
	}
}

func depthOf(v Value) int {
	deepest := -1
	for at := range v.Len() {
		deepest = max(deepest, depthOf(v.At(at)))
	}
	if v.Kind() != Array && v.Kind() != Object {
		return 0
	}
	return deepest + 1
}

var jsonSeeds = []string{
	`{}`, `[]`, `null`, `true`, `false`, `""`, `0`, `-0`, `-1.5e+10`, `1E400`, `12345678901234567890`, ` [ 1 , 2 ] `,
	`{"a":1,"A":2,"a":3}`, `"\ud83d\ude00"`, `"\ud83d"`, `"\u0000\n\t\"\\\/"`, "\"\xff\"", "\"\xff\xfe\\n\"", `"ä"`,
	"\"a\x01\"",
	``, ` `, `[`, `{`, `{"a"`, `{"a":`, `{"a":1,}`, `[1,]`, `[,]`, `01`, `1.`, `.5`, `-`, `1e`, `+1`, `tru`, `nul`, `"`,
	`"\x"`,
	`[] []`, `{"a" 1}`, `{1:2}`, `[1 2]`, "\ufeff{}", `{"a":[{"b":{}}]}`, `"\u12"`, "\"\\\xff\"",
}

func TestParseAgreesWithJSONText(t *testing.T) {
	for _, seed := range jsonSeeds {
		checkParse(t, []byte(seed))
	}
	checkParse(t, Sample().JSON())
	checkParse(t, []byte(strings.Repeat("[", MaxDepth+1)+strings.Repeat("]", MaxDepth+1)))
	checkParse(t, []byte(strings.Repeat("[", MaxDepth+2)+strings.Repeat("]", MaxDepth+2)))
}

func TestParseRefusesDeepNestingWithoutReadingOn(t *testing.T) {
	_, err := Parse([]byte(strings.Repeat(`{"a":`, 1_000_000)))
	if fleet.CodeOf(err) != fleet.CodeMalformed || !strings.Contains(err.Error(), "nested deeper") {
		t.Fatalf("got %v", err)
	}
}

func TestMembersOfParsedDocumentsCanBeAddedToSafely(t *testing.T) {
	doc := parsed(t, `{"a":[1,2],"b":[3,4],"c":{"x":1},"d":{"y":2}}`)
	before := string(doc.JSON())
	_ = doc.Get("a").plus("", Literal("9"))
	_ = doc.Get("c").plus("z", Literal("9"))
	_ = doc.Get("c").With("w", Literal("9"))
	if got := string(doc.JSON()); got != before {
		t.Fatalf("got %s, want %s", got, before)
	}
}

// The names of the folders took a third of a large configuration's memory.
func TestObjectsWithTheSameNamesShareThem(t *testing.T) {
	const text = `[{"id":"a","n":{"x":1}},{"id":"b","n":{"y":2}},{"id":"c","n":{"x":3}},{"ID":"d","n":{}},[]]`
	doc := parsed(t, text)
	first, second := doc.At(0), doc.At(1)
	if &first.kids.names[0] != &second.kids.names[0] {
		t.Error("two objects with the same names have two lists of them")
	}
	if got := string(doc.JSON()); got != text {
		t.Errorf("parsed as %s", got)
	}
	longer := first.With("more", Boolean(true))
	if second.Get("more").Exists() || longer.Len() != 3 || second.Len() != 2 {
		t.Errorf("a member of one object is in the other: %s", second.JSON())
	}
	checkParse(t, []byte(`[{"a":1,"A":2},{"a":3,"b":4},{"a":5,"A":6}]`)) // the names of some are not distinct
}

func FuzzParse(f *testing.F) {
	for _, seed := range jsonSeeds {
		f.Add([]byte(seed))
	}
	f.Add(Sample().JSON())
	f.Fuzz(func(t *testing.T, data []byte) { checkParse(t, data) })
}

func TestAnObjectOfTooManyMembersIsRefused(t *testing.T) {
	object := func(members int) []byte {
		text := []byte("{")
		for i := range members {
			text = fmt.Appendf(text, `"m%d":0,`, i)
		}
		return append(text[:len(text)-1], '}')
	}
	if _, err := Parse(object(MaxMembers)); err != nil {
		t.Errorf("the largest allowed: %v", err)
	}
	if _, err := Parse(object(MaxMembers + 1)); fleet.CodeOf(err) != fleet.CodeMalformed {
		t.Errorf("one more: got %v, want malformed", err)
	}
}
