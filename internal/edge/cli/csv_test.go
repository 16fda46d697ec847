package cli

import (
	"strings"
	"testing"

	"muster/api"
)

func TestAListIsPrintedForSpreadsheets(t *testing.T) {
	type inner struct {
		All int `json:"all"`
	}
	type row struct {
		Label   string   `json:"label"`
		Tags    []string `json:"tags"`
		Folders inner    `json:"folders"`
		Disk    *int     `json:"disk"`
		Inner   []inner  `json:"inner,omitempty"`
	}
	free := -5
	var out strings.Builder
	env := &environment{Streams: Streams{Out: &out}}
	list := []row{{"a, \"b\"", []string{"x", "y"}, inner{2}, nil, nil}, {"c", nil, inner{0}, &free, []inner{{1}}}}
	if err := printValue(env, output{"csv"}, list); err != nil {
		t.Fatal(err)
	}
	want := "label,tags,folders.all,disk,inner\n\"a, \"\"b\"\"\",x; y,2,,\nc,,0,-5,\"[{\"\"all\"\":1}]\"\n"
	if got := out.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	out.Reset()
	if err := printValue(env, output{"csv"}, []row{}); err != nil || out.String() != "\n" {
		t.Errorf("an empty list gives %q, %v", out.String(), err)
	}
	out.Reset()
	if err := printValue(env, output{"csv"}, []string{"b", "=c"}); err != nil || out.String() != "value\nb\n'=c\n" {
		t.Errorf("a list of texts gives %q, %v", out.String(), err)
	}
}

// A label that is a formula was carried out by the spreadsheet that opened the table.
func TestNoCellOfACSVIsAFormula(t *testing.T) {
	for _, label := range []string{"=HYPERLINK(1)", "+1", "-1", "@SUM(A1)", "\t=1", " =1", "＝1"} {
		var out strings.Builder
		devices := []api.InventoryDevice{{Label: label}}
		if err := printValue(&environment{Streams: Streams{Out: &out}}, output{"csv"}, devices); err != nil {
			t.Fatal(err)
		}
		_, row, _ := strings.Cut(out.String(), "\n")
		label := strings.TrimPrefix(strings.Split(row, ",")[1], `"`)
		if !strings.HasPrefix(label, "'") {
			t.Errorf("the label is the cell %q", label)
		}
	}
	for text, want := range map[string]string{"x;=1": "x;'=1", "x; -1;@y": "x; '-1;'@y", "x\n+1": "x\n'+1"} {
		if got := spreadsheetSafe(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
	if got := spreadsheetSafe("1-2=3"); got != "1-2=3" {
		t.Errorf("what begins with no sign became %q", got)
	}
	if got := spreadsheetSafe("a\x1b[2Jb"); strings.Contains(got, "\x1b") {
		t.Errorf("a command to the terminal stayed: %q", got)
	}
}
