package cli

import (
	"encoding/json"
	"os"
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
	if err := printValue(env, output{"csv"}, []row{}); err != nil ||
		out.String() != "label,tags,folders.all,disk,inner\n" {
		t.Errorf("an empty list gives %q, %v", out.String(), err)
	}
	out.Reset()
	if err := printValue(env, output{"csv"}, []string{"b", "=c"}); err != nil || out.String() != "value\nb\n'=c\n" {
		t.Errorf("a list of texts gives %q, %v", out.String(), err)
	}
}

// The column of a state of folders came and went with the devices that were in it.
func TestTheColumnsOfACSVAreThoseOfTheType(t *testing.T) {
	header := func(list any) string {
		var out strings.Builder
		if err := printValue(&environment{Streams: Streams{Out: &out}}, output{"csv"}, list); err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(out.String(), "\n")
		return first
	}
	empty := header([]api.InventoryDevice{})
	if !strings.Contains(empty, ",folders.all,folders.upToDate,folders.scanning,") {
		t.Errorf("got %s", empty)
	}
	some := []api.InventoryDevice{{DeviceID: idNAS, Folders: api.FolderCounts{"all": 1, "stopped": 1}}}
	if got := header(some); got != empty {
		t.Errorf("got %s, without a device %s", got, empty)
	}
	type thing struct {
		api.Vars
		On *api.Identity `json:"on,omitempty"`
		At *api.Time     `json:"at"`
	}
	var out strings.Builder
	things := []thing{{Vars: api.Vars{Vars: map[string]json.RawMessage{"a": raw("1")}}}, {On: &api.Identity{Issuer: "i"}}}
	if err := printValue(&environment{Streams: Streams{Out: &out}}, output{"csv"}, things); err != nil {
		t.Fatal(err)
	}
	if want := "vars,on.issuer,on.subject,at\n\"{\"\"a\"\":1}\",,,\n,i,,\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
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
	if got := spreadsheetSafe("a\x1b[2Jb"); strings.Contains(got, "\x1b") {
		t.Errorf("a command to the terminal stayed: %q", got)
	}
}

// The command line and the console made different cells of one text: a quote or a wide blank hid a formula from one of
// them. The test of the console reads the same cases.
func TestCellsAreThoseOfTheConsole(t *testing.T) {
	text, err := os.ReadFile("testdata/csv-cells.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct{ Text, Cell string }
	if err := json.Unmarshal(text, &cases); err != nil || len(cases) < 20 {
		t.Fatalf("%d cases, %v", len(cases), err)
	}
	for _, c := range cases {
		if got := withoutFormulas(c.Text); got != c.Cell {
			t.Errorf("%q became %q, want %q", c.Text, got, c.Cell)
		}
	}
}

// Whole JSON documents stood in one cell.
func TestWhatIsNoTableIsRefusedAsCSV(t *testing.T) {
	address, _ := serving(t, map[string]any{"waiting": api.Waiting{Groups: []api.WaitingGroup{stoppedFor("a", "b")}}})
	code, out, errs := run(t, "status", "-o", "csv", "--server", address, "--token", "x")
	if code != exitUsage || out != "" || !strings.Contains(errs, "-o json") {
		t.Errorf("status: got %d, %q, %q", code, out, errs)
	}
	code, out, errs = run(t, "waiting", "-o", "csv", "--server", address, "--token", "x")
	if code != exitDone || !strings.Contains(out, "critical,folderStopped,photos,2,") || strings.Contains(out, "{") {
		t.Errorf("waiting: got %d, %q, %q", code, out, errs)
	}
}
