package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// suite is a package with tests, and what it says of itself.
type suite struct {
	pkg     string   // its import path
	imports []string // of its test files
	bytes   int64    // of its test files
	tests   bool     // it has more than benchmarks
	needs   []string
	runs    map[string][][]string // by mode: the flags of each run
}

// What a suite may need.
const (
	daemons  = "daemons"  // it starts servers or daemons, and waits for them most of the time
	database = "database" // a PostgreSQL
	browser  = "browser"
	quiet    = "quiet" // it measures, or starts thousands: no suite that waits runs beside it
)

const directive = "//muster:"

// findSuites gives the packages with tests that match a pattern of the go command.
func findSuites(pattern string) ([]suite, error) {
	const members = "-json=ImportPath,Dir,TestGoFiles,XTestGoFiles,TestImports,XTestImports"
	out, err := exec.Command("go", "list", members, pattern).Output()
	if err != nil {
		return nil, fmt.Errorf("list the packages: %w", err)
	}
	var suites []suite
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath, Dir           string
			TestGoFiles, XTestGoFiles []string
			TestImports, XTestImports []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return suites, nil
		} else if err != nil {
			return nil, err
		}
		s := suite{pkg: p.ImportPath, imports: append(p.TestImports, p.XTestImports...),
			runs: map[string][][]string{}}
		for _, file := range slices.Concat(p.TestGoFiles, p.XTestGoFiles) {
			if err := s.read(filepath.Join(p.Dir, file)); err != nil {
				return nil, err
			}
		}
		for mode, runs := range s.runs {
			if err := complete(runs); err != nil && mode != "quick" {
				return nil, fmt.Errorf("%s: %s%s: %w", s.pkg, directive, mode, err)
			}
		}
		if s.tests {
			suites = append(suites, s)
		}
	}
}

// test matches what go test runs without further flags; TestMain has another parameter.
var test = regexp.MustCompile(`(?m)^func (Test\w*\(\w+ \*testing\.T\)|Fuzz|Example)`)

// read takes up what one test file says above its package clause.
func (s *suite) read(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	s.bytes += int64(len(text))
	s.tests = s.tests || test.Match(text)
	file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.PackageClauseOnly|parser.ParseComments)
	if err != nil {
		return err
	}
	for _, group := range file.Comments {
		for _, comment := range group.List {
			line, ours := strings.CutPrefix(comment.Text, directive)
			if !ours {
				continue
			}
			if err := s.declare(strings.Fields(line)); err != nil {
				return fmt.Errorf("%s: %s: %w", path, comment.Text, err)
			}
		}
	}
	return nil
}

func (s *suite) declare(words []string) error {
	if len(words) == 0 {
		return errors.New("nothing is declared")
	}
	verb, rest := words[0], words[1:]
	if _, isMode := modes[verb]; isMode {
		s.runs[verb] = append(s.runs[verb], rest)
		return nil
	}
	if verb != "needs" {
		return fmt.Errorf("want needs or one of the targets, not %q", verb)
	}
	for _, need := range rest {
		if !slices.Contains([]string{daemons, database, browser, quiet}, need) {
			return fmt.Errorf("%q is not a need", need)
		}
		s.needs = append(s.needs, need)
	}
	return nil
}

// complete returns an error for runs of which none has the tests that the others leave out. A run has all tests, or
// leaves out by -skip what others name by -run, in the same words.
func complete(runs [][]string) error {
	named := map[string]bool{}
	for _, flags := range runs {
		if skip := valueOf("-skip", flags); skip == "" {
			for pattern := range strings.SplitSeq(valueOf("-run", flags), "|") {
				named[pattern] = true // "" for a run with all tests
			}
		}
	}
	has := func(flags []string) bool {
		missing := func(pattern string) bool { return !named[pattern] }
		return valueOf("-run", flags) == "" && !slices.ContainsFunc(strings.Split(valueOf("-skip", flags), "|"), missing)
	}
	if named[""] || slices.ContainsFunc(runs, has) {
		return nil
	}
	return errors.New("a test may be in no run: give a run without -run whose -skip has only patterns that the -run " +
		"of another run has")
}

// valueOf returns the value of a flag of go test; "" without it.
func valueOf(name string, flags []string) string {
	for _, flag := range flags {
		if value, is := strings.CutPrefix(flag, name+"="); is {
			return value
		}
	}
	return ""
}

// runsIn gives the flags of each run of the suite in a mode.
func (s *suite) runsIn(mode string) [][]string {
	declared := s.runs[mode]
	switch {
	case declared != nil:
		return declared
	case mode == "quick" && len(s.needs) > 0:
		return nil
	case mode == "soak" && s.runs["test"] != nil:
		return s.runs["test"]
	case mode != "quick" && slices.Contains(s.needs, quiet):
		return [][]string{{unraced}}
	}
	return [][]string{nil}
}
