// Command runner runs the tests of the tree. A suite is a package with tests; what it needs is written above the
// package clause of one of its test files:
//
//	//muster:needs daemons database   it starts servers or daemons; or a PostgreSQL, a browser; or it measures (quiet)
//	//muster:test -rapid.checks=1000  one run in `make test`, with these flags of go test; a line for each run
//	//muster:soak -rapid.checks=9000  the same for `make soak`; without such a line a soak runs what a test runs
//	//muster:quick -skip=/postgres    the same for `make quick`; a suite with needs is in it only with such a line
//
// A matrix of thousands of cases that check one thing after another has a run -race=false with all of them, and a run
// -short with the race detector and a sample.
//
// Runs have the race detector unless they say -race=false; those of `make quick` and of suites that measure have none.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"time"
)

// mode is one of the targets of make.
type mode struct {
	waiting   int      // suites at a time that wait for daemons: more than there are cores
	computing int      // suites at a time that compute beside them, and give way; 0: they run with the others
	together  bool     // suites with the same flags are one call of go test
	console   bool     // the tests of the console run, too
	flags     []string // of go test; it ends a suite that takes longer than -timeout, and prints its goroutines
	env       []string
	limit     time.Duration // time that the tests of the console may take; 0: any
}

// Vet is a part of lint, and debuggers need no symbols of these programs: they link in half the time.
var common = []string{"-vet=off", "-ldflags=-w"}

var modes = map[string]mode{
	"quick": {computing: 2, together: true, flags: []string{"-timeout=5m"}},
	"test":  {waiting: 4, computing: 2, flags: []string{"-parallel=4", "-timeout=30m"}, limit: 30 * time.Minute},
	"soak":  {waiting: 2, flags: []string{"-timeout=0", "-count=1"}, env: []string{"MUSTER_SOAK=1", "MEASURE_MINUTES=10"}},
}

const everything = "./..."

func main() {
	list := flag.Bool("list", false, "print the runs in their order, and run nothing")
	pattern := flag.String("in", everything, "run the suites that match this pattern of the go command only")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "runner [-list] [-in PATTERN] quick|test|soak [FLAG OF GO TEST ...]")
	}
	flag.Parse()
	name := flag.Arg(0)
	m, known := modes[name]
	if !known {
		flag.Usage()
		os.Exit(2)
	}
	m.flags = slices.Concat(common, m.flags, flag.Args()[1:])
	if err := run(name, m, *pattern, *list); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(name string, m mode, pattern string, list bool) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	began := time.Now()
	suites, err := findSuites(pattern)
	if err != nil {
		return err
	}
	m.console = pattern == everything
	times := readTimes()
	plan := schedule(name, m, suites, times)
	if list {
		fmt.Print(plan)
		return nil
	}
	if err := build(ctx, plan, m); err != nil {
		return err
	}
	r := &runner{mode: m, out: os.Stdout, times: times}
	r.run(ctx, plan)
	times.write()
	took := time.Since(began).Round(time.Second)
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("interrupted after %v", took)
	}
	fmt.Println(mostUsed(r.used))
	if len(r.failed) > 0 {
		return fmt.Errorf("%d of %d runs failed after %v on %d cores:\n%s", len(r.failed), r.ran, took,
			runtime.NumCPU(), reasons(r.failed))
	}
	fmt.Printf("%d runs passed in %v on %d cores\n", r.ran, took, runtime.NumCPU())
	return nil
}
