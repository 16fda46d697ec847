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
	"time"
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

// A pattern that stands in one run only would leave tests out, and nothing would say so.
func TestEachTestIsInARun(t *testing.T) {
	for text, want := range map[string]bool{
		"-race=false":                       true,
		"-short; -race=false":               true,
		"-run=A|B; -race=false -skip=A|B":   true,
		"-skip=A|B; -race=false -run=C|A|B": true,
		"-run=A; -race=false":               true,
		"-run=A; -race=false -skip=A|B":     false,
		"-run=A|B; -run=C":                  false,
		"-skip=A":                           false,
		"-run=A -skip=B; -skip=A":           false,
	} {
		var runs [][]string
		for run := range strings.SplitSeq(text, "; ") {
			runs = append(runs, strings.Fields(run))
		}
		if err := complete(runs); (err == nil) != want {
			t.Errorf("%s: got %v, want every test in a run: %t", text, err, want)
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
	const why = "  test b -n=2\n    --- FAIL: TestX (0.00s)\n    x_test.go:1: wrong"
	if reasons(r.failed) != why || r.ran != 2 || r.times["test a -n=2"] != 1.5 {
		t.Errorf("failed %s of %d, times %v", reasons(r.failed), r.ran, r.times)
	}
	if got := out.String(); !strings.Contains(got, "ok  \ta\t1.5s\t-n=2\n") ||
		!strings.Contains(got, "x_test.go:1: wrong\nFAIL\nFAIL\tb\t0.250s\t-n=2\n") {
		t.Errorf("printed:\n%s", got)
	}
}

// Of a failure in CI only the end of the output may be left, and it named no test.
func TestTheReasonsOfTheConsolesTestsAreAtTheEnd(t *testing.T) {
	const printed = " \x1b[31m❯\x1b[39m test/a.test.ts (2 tests | 1 failed) 9ms\n   ✓ one 4ms\n\n" +
		" FAIL  test/a.test.ts > two\nTimeoutError: waitFor: 110000ms exceeded.\nCall log:\n  - waiting for getByText('a')\n"
	const want = "  npm run test:browser\n    ❯ test/a.test.ts (2 tests | 1 failed) 9ms\n" +
		"    FAIL  test/a.test.ts > two\n    TimeoutError: waitFor: 110000ms exceeded.\n    - waiting for getByText('a')"
	if got := reasons([]result{{name: "npm run test:browser", text: []byte(printed)}}); got != want {
		t.Errorf("the reasons are\n%s\nwant\n%s", got, want)
	}
}

// A suite that hangs was to be found by what did not end.
func TestASuiteThatHangsIsNamedAndShowsWhereItWaits(t *testing.T) {
	dir := t.TempDir()
	const hangs = "package hangs\n\nimport \"testing\"\n\n" +
		"func TestHangs(t *testing.T) { waitForever(make(chan int)) }\n\nfunc waitForever(c chan int) { <-c }\n"
	for name, text := range map[string]string{"go.mod": "module hangs\n\ngo 1.24\n", "hangs_test.go": hangs} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	r := &runner{out: &out, times: times{}, mode: mode{flags: []string{"-C", dir, "-vet=off", "-timeout=2s"}}}
	r.do(t.Context(), task{mode: "test", packages: []string{"hangs"}}, false)
	if got := reasons(r.failed); !strings.HasPrefix(got, "  test hangs\n    panic: test timed out") {
		t.Errorf("failed %s", got)
	}
	for _, want := range []string{"test timed out", "TestHangs", "hangs.waitForever"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, &out)
		}
	}
}

// The tests of the console had no limit.
func TestTestsOfTheConsoleThatHangAreNamed(t *testing.T) {
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "npm"), []byte("#!/bin/sh\nexec sleep 600\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	var out bytes.Buffer
	r := &runner{out: &out, times: times{}, mode: mode{limit: time.Second}}
	r.do(t.Context(), task{npm: "test:browser"}, false)
	if got := reasons(
		r.failed,
	); got != "  npm run test:browser\n    npm run test:browser: it took longer than 1s: signal: interrupt" {
		t.Errorf("failed %s", got)
	}
	if !strings.Contains(out.String(), "npm run test:browser: it took longer than 1s") {
		t.Errorf("printed:\n%s", &out)
	}
}

func TestTheTasksWithTheMostProcessorTimeAreNamedFirst(t *testing.T) {
	all := []used{{"test short", time.Second}, {"test long", 90 * time.Second}}
	if got := mostUsed(all); got != "processor time: 91 s\n   90.0 s  test long\n    1.0 s  test short" {
		t.Errorf("got\n%s", got)
	}
}

// A process that a test waits for is counted: servers are processes of their own.
func TestTheProcessorTimeOfATaskIsCounted(t *testing.T) {
	bin := t.TempDir()
	const counts = "#!/bin/sh\nsh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done'\n"
	if err := os.WriteFile(filepath.Join(bin, "npm"), []byte(counts), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	r := &runner{out: &bytes.Buffer{}, times: times{}}
	r.do(t.Context(), task{npm: "test"}, false)
	if len(r.used) != 1 || r.used[0].name != "npm run test" || r.used[0].time <= 0 {
		t.Errorf("got %v", r.used)
	}
}
