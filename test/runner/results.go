package main

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// results is what a task prints, handed on when a package has its result, so that nothing of another stands between.
type results struct {
	task   task
	began  time.Time
	report func(r result)
	text   []byte // that belongs to the next result
	failed bool   // a result was a failure
}

// result is what one run of one package came to.
type result struct {
	name   string
	text   []byte
	took   float64 // in seconds; 0: not known
	failed bool
}

// summary is the line that go test prints last for a package.
var summary = regexp.MustCompile(`^(ok  |FAIL|\?   )\t(\S+)(?:\s+([0-9.]+)s)?`)

func (w *results) Write(p []byte) (int, error) {
	w.text = append(w.text, p...)
	for at := 0; ; {
		end := bytes.IndexByte(w.text[at:], '\n')
		if end < 0 {
			return len(p), nil
		}
		line := w.text[at : at+end]
		at += end + 1
		found := summary.FindSubmatch(line)
		if found == nil {
			continue
		}
		took, _ := strconv.ParseFloat(string(found[3]), 64) // nothing where the result is of a run before
		failed := string(found[1]) == "FAIL"
		w.failed = w.failed || failed
		text := append(append(bytes.Clone(w.text[:at-1]), w.flags()...), '\n')
		w.report(result{w.task.of(string(found[2])).String(), text, took, failed})
		w.text, at = bytes.Clone(w.text[at:]), 0
	}
}

// flags tell runs of the same package apart.
func (w *results) flags() string {
	if len(w.task.flags) == 0 {
		return ""
	}
	return "\t" + strings.Join(w.task.flags, " ")
}

// end hands on what is left, which is the whole result where the task is not a call of go test.
func (w *results) end(err error) {
	rest := result{name: w.task.String(), text: w.text, failed: err != nil && !w.failed}
	if rest.failed {
		rest.text = fmt.Appendf(rest.text, "%s: %v\n", rest.name, err)
	}
	if w.task.npm != "" {
		rest.took = time.Since(w.began).Seconds()
	}
	if w.task.npm != "" || rest.failed {
		w.report(rest)
	}
}

// says finds the lines in which go test and vitest tell which test failed, and why.
var says = regexp.MustCompile(
	`^\s*(--- FAIL|FAIL  |\S+_test\.go:\d+:|panic:|WARNING: DATA RACE|\w*Error: |- waiting for|❯ test/|.*: it took longer than)`,
)

// colours are those of a terminal.
var colours = regexp.MustCompile("\x1b\\[[0-9;]*m")

// reasons names the runs that failed, each with the first lines that tell why: who sees the end of the output only
// needs no other.
func reasons(failed []result) string {
	const most = 12
	slices.SortFunc(failed, func(a, b result) int { return cmp.Compare(a.name, b.name) })
	var b strings.Builder
	for _, one := range failed {
		fmt.Fprintf(&b, "  %s\n", one.name)
		left := most
		for line := range bytes.Lines(colours.ReplaceAll(one.text, nil)) {
			if left > 0 && says.Match(line) {
				fmt.Fprintf(&b, "    %.200s\n", bytes.TrimSpace(line))
				left--
			}
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// used is the processor time of a task: of go test, of the linker, and of all processes that were waited for.
type used struct {
	name string
	time time.Duration
}

// mostUsed says how much processor time all tasks used, and which of them used the most. Where that is the time of all
// cores, the tests take less time only when one of these uses less.
func mostUsed(all []used) string {
	const most = 40
	slices.SortFunc(all, func(a, b used) int { return cmp.Compare(b.time, a.time) })
	var sum time.Duration
	for _, one := range all {
		sum += one.time
	}
	var b strings.Builder
	fmt.Fprintf(&b, "processor time: %.0f s", sum.Seconds())
	for _, one := range all[:min(most, len(all))] {
		fmt.Fprintf(&b, "\n%7.1f s  %s", one.time.Seconds(), one.name)
	}
	return b.String()
}
