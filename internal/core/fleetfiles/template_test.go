//muster:test -rapid.checks=20
//muster:test -race=false -rapid.checks=1000
//muster:soak
//muster:soak -race=false -rapid.checks=10000
package fleetfiles

import (
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"muster/internal/fleet"
)

func TestAHeaderGivesWhatTheServiceKeepsBesideTheText(t *testing.T) {
	for name, test := range map[string]struct {
		file string
		want Template
	}{
		"a line for each": {
			"# label: Team, all of it\n# priority: -3\n# op: MERGE\n# key: folders.team\n# tags: b, a,a\n{}\n",
			Template{"Team, all of it", -3, "merge", "folders.team", []string{"a", "b"}, "{}\n", false, 0}},
		"one line": {"# op: merge, key: folders.team, tags: x, y\n{}", Template{"", 0, "merge", "folders.team",
			[]string{"x", "y"}, "{}", false, 0}},
		"none":                        {"# a comment\n{}", Template{Text: "# a comment\n{}"}},
		"another comment after it":    {"# key: a\n# tagged: b\n1", Template{Key: "a", Text: "# tagged: b\n1"}},
		"a text that is like one":     {"# key: a\n# ---\n# key: b\n1", Template{Key: "a", Text: "# key: b\n1"}},
		"no tags":                     {"# key: a\n# tags:\n1", Template{Key: "a", Tags: []string{}, Text: "1"}},
		"line ends of Windows":        {"# key: a\r\n# ---\r\n1\r\n", Template{Key: "a", Text: "1\r\n"}},
		"a quoted value":              {`# label: " x, key: y"` + "\n1", Template{Label: " x, key: y", Text: "1"}},
		"a key with the word in it":   {"# key: options.label: x\n1", Template{Key: "options.label: x", Text: "1"}},
		"a blank label":               {"# label:\n1", Template{Blank: true, Text: "1"}},
		"an empty file":               {"", Template{}},
		"a removal without a text":    {"# op: remove\n# key: a", Template{Op: "remove", Key: "a", Text: "true\n"}},
		"a removal and blank lines":   {"# op: remove\n# ---\n\n \n", Template{Op: "remove", Text: "true\n"}},
		"a removal with a text":       {"# op: remove\n[1]", Template{Op: "remove", Text: "[1]"}},
		"a header that ends the file": {"# key: a", Template{Key: "a"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseTemplate(test.file)
			got.HeaderLines = 0
			if err != nil || !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %#v, %v, want %#v", got, err, test.want)
			}
		})
	}
}

func TestAHeaderThatIsWrongNamesTheLine(t *testing.T) {
	for file, want := range map[string]string{
		"# key: a\n# priority: high\n1": `line 2: priority "high" is no whole number`,
		"# op: replace\n1":              "line 1: ",
		"# key: a\n# key: b\n1":         "line 2: key is given twice",
	} {
		_, err := ParseTemplate(file)
		if fleet.CodeOf(err) != fleet.CodeInvalid || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", file, err, want)
		}
	}
}

func TestAFileIsReadAsItWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SampledFrom(
			[]string{"", "1", "# key: a\n", "# ---\n", "{a: 1}\n", "#\n", "\r\n", "# label: x, op: y\n"},
		)
		of := func(name string) string { return strings.Join(rapid.SliceOfN(text, 0, 3).Draw(t, name), "") }
		want := Template{
			Label:    rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"a, key: b", ` "x"`, "tags: y"})).Draw(t, "label"),
			Priority: rapid.Int64().Draw(t, "priority"), Op: rapid.SampledFrom([]string{"set", "remove"}).Draw(t, "op"),
			Key:  rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"a,op: b", "folders.*"})).Draw(t, "key"),
			Tags: rapid.SampledFrom([][]string{nil, {}, {"a"}, {"a", "b c"}}).Draw(t, "tags"), Text: of("text"),
		}
		want.Blank = rapid.Bool().Draw(t, "blank")
		want.Label, want.Key = strings.ToValidUTF8(want.Label, ""), strings.ToValidUTF8(want.Key, "")
		want.Blank = want.Blank && want.Label == ""
		got, err := ParseTemplate(want.String())
		if lines := strings.Count(want.String(), "\n") - strings.Count(want.Text, "\n"); got.HeaderLines != lines {
			t.Fatalf("got %d lines of the header, want %d", got.HeaderLines, lines)
		}
		got.HeaderLines = 0
		if want.Op == "remove" && strings.TrimSpace(want.Text) == "" {
			want.Text = "true\n" // A removal needs no text.
		}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("got %#v, %v, want %#v from\n%s", got, err, want, want)
		}
	})
}

// "# lable: x" was a comment, and the template had the name of its file.
func TestAMisspeltHeaderIsAFault(t *testing.T) {
	for text, says := range map[string]string{
		"# label: x\n# priorty: 3\n{}":             `line 2: "priorty" is no field of the header`,
		"# lable: x\n# key: folders\n# ---\n{}":    `did you mean label?`,
		"# key: folders\n# owner: me\n# ---\n{}":   `line 2: "owner"`,
		"# key: folders\n# owner: me\n{}":          "",
		"# key: folders\n# A text: with words\n{}": "",
		"# key: folders\n# see https://x\n{}":      "",
		"# ---\n# lable: x\n{}":                    "",
		"{\n# lable: x\n}":                         "",
	} {
		_, err := ParseTemplate(text)
		if got := fleet.Reason(err); (err == nil) != (says == "") || err != nil && !strings.Contains(got, says) {
			t.Errorf("%q: got %q, want %q", text, got, says)
		}
	}
}
