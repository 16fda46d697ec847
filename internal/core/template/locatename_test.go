package template

import (
	"fmt"
	"strings"
	"testing"
)

func TestLocateNameFindsTheLineOfAName(t *testing.T) {
	text := "# maxSendKbps here is a comment\n{\n  options: {\n    natEnabled: false\n    \"maxSendKbps\": 5\n  }\n" +
		"  folders: [\n    {\"id\": \"one\", \"path\": \"/maxSendKbps\"}\n    {\n      id: two\n      path: /b\n    }\n  ]\n}"
	for _, c := range []struct {
		names string
		line  int
	}{
		{"", 2}, {"options", 3}, {"options.maxSendKbps", 5}, {"OPTIONS.maxsendkbps", 5}, {"options.listenAddresses", 3},
		{"folders.two", 9}, {"folders.two.path", 11}, {"folders.one.path", 8}, {"folders.gone", 7}, {"gui", 0},
	} {
		var names []string
		if c.names != "" {
			names = strings.Split(c.names, ".")
		}
		if got := LocateName(text, names); got != c.line {
			t.Errorf("%q: line %d, want %d", c.names, got, c.line)
		}
	}
	for _, text := range []string{"def template(device):\n  return {\"a\": 1}", "{", ""} {
		if got := LocateName(text, []string{"a"}); got != 0 {
			t.Errorf("%q: line %d", text, got)
		}
	}
	if got := LocateName("maxSendKbps: 5", []string{"maxSendKbps"}); got != 1 {
		t.Errorf("without braces: line %d", got)
	}
}

func TestLocateNameKeepsLittleOfDeepLongNames(t *testing.T) {
	var text strings.Builder
	for i := range 150 {
		fmt.Fprintf(&text, "{%s%d: ", strings.Repeat("x", 1000), i)
	}
	text.WriteString("{")
	for i := range 2000 {
		fmt.Fprintf(&text, "m%d: 1\n", i)
	}
	text.WriteString(strings.Repeat("}", 151))
	if allocated := testing.AllocsPerRun(1, func() { LocateName(text.String(), []string{"gone"}) }); allocated > 100_000 {
		t.Errorf("%.0f allocations", allocated)
	}
}
