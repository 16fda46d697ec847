package template

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/hjson/hjson-go/v4"
	"golang.org/x/tools/txtar"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// seeds are the templates of the golden files.
func seeds(f *testing.F) {
	f.Helper()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		f.Fatalf("no golden files: %v", err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(archive.Files[0].Data))
	}
}

// Every text is either a program or a *fleet.Error that points into the text, and the same one each time.
func FuzzCompile(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Compile(text)
		again, errAgain := Compile(text)
		if err == nil {
			if errAgain != nil || again.Language() != p.Language() {
				t.Fatalf("read once as %s, then %v", p.Language(), errAgain)
			}
			return
		}
		var fault *fleet.Error
		if !errors.As(err, &fault) || len(fault.Details) == 0 || fault.Message == "" {
			t.Fatalf("got error %v, want one with details", err)
		}
		if errAgain == nil || err.Error() != errAgain.Error() {
			t.Fatalf("got error %v, then %v", err, errAgain)
		}
		lines := strings.Split(strings.ReplaceAll(text, "\r", "\n"), "\n")
		for _, d := range fault.Details {
			if d.Line < 1 || d.Line > len(lines)+1 || d.Column < 1 {
				t.Errorf("%d:%d is outside of the text: %s", d.Line, d.Column, d.Message)
			}
		}
	})
}

var openNumber = regexp.MustCompile(`[0-9]\.([^0-9]|$)`)

// What is taken as HJSON has the value that hjson-go gives it; numbers are compared exactly.
func FuzzHJSON(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 4<<10 || checkText(text) != nil { // hjson-go takes quadratic time
			return
		}
		read, fault := readHJSON(text)
		if fault != nil || strings.Contains(text, `\u`) { // hjson-go does not join surrogate pairs
			return
		}
		if strings.ContainsFunc(text, func(r rune) bool { return r > ' ' && unicode.IsSpace(r) }) {
			return // hjson-go strips them before it looks for true, false and null, and not before it looks for a number
		}
		if openNumber.MatchString(text) {
			return // hjson-go takes it for a number, and what comes after the comma behind it for the next member
		}
		if strings.Contains(strings.ReplaceAll(text, "\r\n", ""), "\r") {
			return // hjson-go counts a carriage return that ends no line as a part of the indentation, and drops it elsewhere
		}
		checkWellFormed(t, read.value)
		var node hjson.Node
		options := hjson.DecoderOptions{UseJSONNumber: true, DisallowDuplicateKeys: true}
		if err := hjson.UnmarshalWithOptions([]byte(text), &node, options); err != nil {
			t.Fatalf("hjson-go refuses what was read as %s: %v", read.value.JSON(), err)
		}
		want, ok := fromHJSON(&node)
		if !ok {
			return
		}
		if !read.value.Equal(want) {
			t.Fatalf("got %s, want %s", read.value.JSON(), want.JSON())
		}
	})
}

func checkWellFormed(t *testing.T, v stconfig.Value) {
	t.Helper()
	if v.Kind() == stconfig.Absent || v.Kind() == stconfig.Number && !json.Valid([]byte(v.Str())) {
		t.Fatalf("%q is no JSON value", v.Str())
	}
	for i := range v.Len() {
		checkWellFormed(t, v.At(i))
	}
}

// fromHJSON converts hjson-go's tree. It is not ok where hjson-go takes for a number what JSON does not, like "1.".
func fromHJSON(node *hjson.Node) (value stconfig.Value, ok bool) {
	switch v := node.Value.(type) {
	case bool:
		return stconfig.Boolean(v), true
	case json.Number:
		return stconfig.Literal(string(v)), json.Valid([]byte(v))
	case string:
		if name, ok := secretName(v); ok {
			return stconfig.SecretHandle(secretHandle + name), true
		}
		return stconfig.Text(v), true
	case []any:
		members := make([]stconfig.Value, len(v))
		for i, member := range v {
			if members[i], ok = fromHJSON(member.(*hjson.Node)); !ok {
				return value, false
			}
		}
		return stconfig.List(members...), true
	case *hjson.OrderedMap:
		members := make([]stconfig.Member, len(v.Keys))
		for i, name := range v.Keys {
			members[i].Name = name
			if members[i].Value, ok = fromHJSON(v.Map[name].(*hjson.Node)); !ok {
				return value, false
			}
		}
		return stconfig.Obj(members...), true
	}
	return stconfig.NullValue, true
}
