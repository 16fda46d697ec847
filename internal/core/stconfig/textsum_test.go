package stconfig

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestTheSumOfATextDoesNotDependOnItsIndentation(t *testing.T) {
	text := `{"a": [1, "x \" y\\", {"b c": "\ttab"}], "d": {}}`
	var plain bytes.Buffer
	if err := json.Indent(&plain, []byte(text), "", "  "); err != nil {
		t.Fatal(err)
	}
	want := SumOfText(append([]byte("\n "), append(plain.Bytes(), '\n')...))
	for _, indent := range []string{"", " ", "\t", "    "} {
		var indented bytes.Buffer
		if err := json.Indent(&indented, []byte(text), "      ", indent); err != nil {
			t.Fatal(err)
		}
		if SumOfText(indented.Bytes()) != want {
			t.Errorf("indented with %q it has another sum", indent)
		}
	}
	for _, other := range []string{
		`{"a":[1,"x \" y\\",{"bc":"\ttab"}],"d":{}}`, `{"a":[1,"x\" y\\",{"b c":"\ttab"}],"d":{}}`,
		`{"d":{},"a":[1,"x \" y\\",{"b c":"\ttab"}]}`, `{"a":[1,"x \" y\\",{"b c":"\ttab"}],"d":{}`,
		`{"a":[1,"x \" y\\ ",{"b c":"\ttab"}],"d":{}}`, ``,
	} {
		var indented bytes.Buffer
		if json.Indent(&indented, []byte(other), "", "  ") == nil && SumOfText(indented.Bytes()) == want {
			t.Errorf("%s has the sum of %s", other, text)
		}
	}
}

func TestTheSumOfATextInPiecesIsThatOfTheWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(rapid.StringMatching(`([ \n\t{}":,a-c]|\n *|"[ a]*"){0,400}`).Draw(t, "text"))
		text = append(text, strings.Repeat("x", rapid.SampledFrom([]int{0, 1023, 1024, 5000}).Draw(t, "more"))...)
		s := NewTextSummer()
		s.Write([]byte(`"what came before`))
		s.Reset()
		for rest := text; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "piece")
			s.Write(rest[:n])
			rest = rest[n:]
		}
		if s.Sum() != SumOfText(text) {
			t.Errorf("the sum of the pieces of %q is another", text)
		}
	})
}
