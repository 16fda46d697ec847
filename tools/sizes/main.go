// Command sizes prints the number of code lines outside tests for each package. Blank lines and comments do not count.
// `-before TREE` compares with another checkout. A package is named without its ring, so that a tree without rings can
// be compared.
package main

import (
	"flag"
	"fmt"
	"go/scanner"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

func main() {
	tree := flag.String("tree", ".", "root of the tree")
	before := flag.String("before", "", "root of a tree to compare with")
	flag.Parse()
	if err := run(*tree, *before); err != nil {
		fmt.Fprintln(os.Stderr, "sizes:", err)
		os.Exit(1)
	}
}

func run(tree, before string) error {
	now, err := sizes(tree)
	if err != nil {
		return err
	}
	var then map[string]int
	if before != "" {
		if then, err = sizes(before); err != nil {
			return err
		}
	}
	rooms := maps.Clone(now)
	maps.Copy(rooms, then)
	var sumNow, sumThen int
	for _, room := range slices.Sorted(maps.Keys(rooms)) {
		show(room, now[room], then[room], before != "")
		if room != tests {
			sumNow, sumThen = sumNow+now[room], sumThen+then[room]
		}
	}
	show("all but tests", sumNow, sumThen, before != "")
	return nil
}

func show(room string, now, then int, compare bool) {
	if compare {
		fmt.Printf("%-14s %7d %7d %+7d\n", room, then, now, now-then)
		return
	}
	fmt.Printf("%-14s %7d\n", room, now)
}

const tests = "(tests)" // the row for all code that only tests use

func sizes(tree string) (map[string]int, error) {
	files, err := exec.Command("git", "-C", tree, "ls-files", "-z", "-co", "--exclude-standard", "*.go", "*.sql", "*.ts",
		"*.tsx", "*.css").Output()
	if err != nil {
		return nil, fmt.Errorf("list files of %s: %w", tree, err)
	}
	lines := map[string]int{}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(files), "\x00"), "\x00") {
		text, err := os.ReadFile(filepath.Join(tree, name))
		if err != nil {
			continue // The file is deleted in the working tree.
		}
		if strings.HasSuffix(name, ".go") {
			lines[room(name)] += goLines(text)
		} else {
			lines[room(name)] += otherLines(text)
		}
	}
	return lines, nil
}

// forTests matches the paths of files that only tests use.
var forTests = regexp.MustCompile(`^test/|^web/test/|_test\.go$|\.test\.tsx?$|/testdata/|/(pg|store)test/`)

var ring = regexp.MustCompile(`^internal/(?:(?:core|adapter|engine|edge)/)?([^/]+)/`)

// room returns the package of a file: the folder below its ring, or the top-level folder.
func room(name string) string {
	if forTests.MatchString(name) {
		return tests
	}
	if found := ring.FindStringSubmatch(name); found != nil {
		return found[1]
	}
	top, _, deeper := strings.Cut(name, "/")
	if !deeper {
		return tests // Tests of the whole repository are in the root.
	}
	return top
}

// goLines counts the lines that contain code.
func goLines(text []byte) (n int) {
	var s scanner.Scanner
	set := token.NewFileSet()
	file := set.AddFile("", set.Base(), len(text))
	s.Init(file, text, nil, 0)
	last := 0
	for {
		pos, tok, literal := s.Scan()
		if tok == token.EOF {
			return n
		}
		if tok == token.SEMICOLON && literal == "\n" {
			continue
		}
		first := file.Line(pos)
		end := first + strings.Count(literal, "\n")
		n += end - max(first-1, last)
		last = end
	}
}

var comment = regexp.MustCompile(`(?s)/\*.*?\*/`)

// otherLines counts the lines of SQL, TypeScript and CSS that are neither blank nor a comment.
func otherLines(text []byte) (n int) {
	for line := range strings.Lines(string(comment.ReplaceAll(text, nil))) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "//") && !strings.HasPrefix(line, "--") {
			n++
		}
	}
	return n
}
