package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// helpers start what a suite then has to say that it needs.
var helpers = map[string]string{
	"muster/test/server":                   daemons,
	"muster/test/daemon":                   daemons,
	"muster/internal/adapter/store/pgtest": database,
	"muster/test/page":                     browser,
}

func TestEverySuiteSaysWhatItNeeds(t *testing.T) {
	suites, err := findSuites("muster/...")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range suites {
		for _, imported := range s.imports {
			need := helpers[imported]
			if need != "" && !slices.Contains(s.needs, need) {
				t.Errorf("%s imports %s and does not say //muster:needs %s", s.pkg, imported, need)
			}
		}
	}
}

func TestADeclarationIsReadAboveThePackageClause(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x_test.go")
	read := func(head string) (suite, error) {
		t.Helper()
		s := suite{runs: map[string][][]string{}}
		if err := os.WriteFile(path, []byte(head+"\npackage x\n\nfunc TestX(t *testing.T) {}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return s, s.read(path)
	}
	s, err := read("// Package x.\n//\n//muster:needs daemons database\n//muster:test\n//muster:test -race=false -n=2")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(s.needs, []string{daemons, database}) || !s.tests {
		t.Errorf("read %+v", s)
	}
	for mode, want := range map[string]string{"quick": `null`, "test": `[[],["-race=false","-n=2"]]`,
		"soak": `[[],["-race=false","-n=2"]]`} {
		if got, _ := json.Marshal(s.runsIn(mode)); string(got) != want {
			t.Errorf("%s runs %s, want %s", mode, got, want)
		}
	}
	for _, wrong := range []string{"//muster:", "//muster:needs demons", "//muster:tests -n=2"} {
		if _, err := read(wrong); err == nil {
			t.Errorf("%s is taken", wrong)
		}
	}
}

func TestTheLongestOfEachLaneIsFirst(t *testing.T) {
	suites := []suite{
		{pkg: "unit"}, {pkg: "short", needs: []string{daemons}}, {pkg: "new", needs: []string{daemons}, bytes: 9 << 10},
		{pkg: "long", needs: []string{daemons}}, {pkg: "measures", needs: []string{daemons, quiet}},
		{pkg: "matrix", needs: []string{daemons}, runs: map[string][][]string{"test": {{unraced}}}},
	}
	known := times{"test short": 2, "test long": 30, "test unit": 1, "test matrix -race=false": 5}
	const want = "waiting    test long\nwaiting    test new\nwaiting    test short\n" +
		"computing  npm run test:browser\ncomputing  test matrix -race=false\ncomputing  test unit\n" +
		"computing  npm run test\nquiet      test measures -race=false\n"
	whole := modes["test"]
	whole.console = true
	if got := schedule("test", whole, suites, known).String(); got != want {
		t.Errorf("the order is\n%s", got)
	}
	if got := schedule("quick", modes["quick"], suites, known).String(); got != "computing  quick unit\n" {
		t.Errorf("quick is\n%s", got)
	}
}

func TestWhatFailedIsPrintedAndNamed(t *testing.T) {
	const printed = "ok  \ta\t1.5s\n--- FAIL: TestX (0.00s)\n    x_test.go:1: wrong\nFAIL\nFAIL\tb\t0.250s\nFAIL\n"
	var out bytes.Buffer
	r := &runner{out: &out, times: times{}}
	w := &results{task: task{mode: "test", packages: []string{"a", "b"}, flags: []string{"-n=2"}}, report: r.report}
	for part := range slices.Chunk([]byte(printed), 7) {
		if _, err := w.Write(part); err != nil {
			t.Fatal(err)
		}
	}
	w.end(context.Canceled)
	if !slices.Equal(r.failed, []string{"test b -n=2"}) || r.ran != 2 || r.times["test a -n=2"] != 1.5 {
		t.Errorf("failed %q of %d, times %v", r.failed, r.ran, r.times)
	}
	if got := out.String(); !strings.Contains(got, "ok  \ta\t1.5s\t-n=2\n") ||
		!strings.Contains(got, "x_test.go:1: wrong\nFAIL\nFAIL\tb\t0.250s\t-n=2\n") {
		t.Errorf("printed:\n%s", got)
	}
}
