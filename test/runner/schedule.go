package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

const unraced = "-race=false"

// task is one call of go test, or of the tests of the console.
type task struct {
	mode     string
	packages []string // the longest first
	flags    []string
	race     bool
	npm      string // the script of the console that runs in place of go test
	bytes    int64  // of the test files
}

func (t task) String() string {
	if t.npm != "" {
		return "npm run " + t.npm
	}
	return strings.Join(slices.Concat([]string{t.mode}, t.packages, t.flags), " ")
}

// of is the task for one of its packages.
func (t task) of(pkg string) task {
	t.packages = []string{pkg}
	return t
}

// plan is the order of all runs of a mode.
type plan struct {
	waiting   []task // suites that wait for daemons most of the time
	computing []task // suites that compute, beside them
	quiet     []task // suites that measure, one at a time, after those that wait
}

func (p plan) all() []task { return slices.Concat(p.waiting, p.computing, p.quiet) }

func (p plan) String() string {
	var b strings.Builder
	for _, lane := range []struct {
		name  string
		tasks []task
	}{{"waiting", p.waiting}, {"computing", p.computing}, {"quiet", p.quiet}} {
		for _, t := range lane.tasks {
			fmt.Fprintf(&b, "%-9s  %s\n", lane.name, t)
		}
	}
	return b.String()
}

// schedule gives every run of a mode its place, the longest of each lane first. A suite with daemons that runs without
// the race detector has many cases, whose code others race: it computes.
func schedule(name string, m mode, suites []suite, known times) plan {
	var p plan
	for _, s := range suites {
		for _, flags := range s.runsIn(name) {
			t := task{mode: name, packages: []string{s.pkg}, flags: flags, bytes: s.bytes}
			t.race = name != "quick" && !slices.Contains(flags, unraced)
			switch {
			case slices.Contains(s.needs, quiet):
				p.quiet = append(p.quiet, t)
			case m.computing == 0 || t.race && len(s.needs) > 0:
				p.waiting = append(p.waiting, t)
			default:
				p.computing = append(p.computing, t)
			}
		}
	}
	if m.console {
		p.addConsole(name)
	}
	for _, lane := range [][]task{p.waiting, p.computing, p.quiet} {
		slices.SortStableFunc(lane, func(a, b task) int { return cmp.Compare(known.of(b), known.of(a)) })
	}
	if m.together {
		p.computing = together(p.computing)
	}
	return p
}

// addConsole adds the tests of the console: its units, and browsers before servers with simulated daemons.
func (p *plan) addConsole(mode string) {
	const guess = 100 << 10
	switch mode {
	case "test":
		p.computing = append(p.computing, task{npm: "test"}, task{npm: "test:browser", bytes: guess})
	case "soak":
		p.quiet = append(p.quiet, task{npm: "measure", bytes: guess})
	}
}

// together makes one task of all that have the same flags.
func together(tasks []task) (joined []task) {
	for _, t := range tasks {
		i := slices.IndexFunc(joined, func(j task) bool { return slices.Equal(j.flags, t.flags) })
		if i < 0 {
			joined = append(joined, t)
			continue
		}
		joined[i].packages = append(joined[i].packages, t.packages...)
	}
	return joined
}
