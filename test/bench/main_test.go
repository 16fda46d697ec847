// Package bench measures Muster with thousands of simulated daemons. A result is a ratio to a yardstick that is
// measured in the same run, because a number of seconds cannot be compared between machines. The simulated daemons,
// the yardsticks and Muster are separate processes, so that the processor time and memory of each can be measured.
package bench

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"muster/test/server"
)

const roleVariable = "MUSTER_BENCH_ROLE" // "farm", "bare", "plain" or "rogue": what the test binary is this time

// TestMain: the test binary is also the server, its workers, the farm and the bare client.
func TestMain(m *testing.M) {
	profiled()
	server.Main()
	switch os.Getenv(roleVariable) {
	case "farm":
		exit(runFarm(os.Stdin, os.Stdout))
	case "plain":
		exit(runPlain(os.Stdin, os.Stdout))
	case "rogue":
		exit(runRogue(os.Stdin, os.Stdout))
	case "bare":
		exit(runBare(os.Stdin, os.Stdout))
	}
	code := m.Run()
	stopFarm()
	os.Exit(code)
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// daemons is the size of the fleet. MUSTER_BENCH_DAEMONS gives another one, for a quick look.
func daemons() int {
	if n, err := strconv.Atoi(os.Getenv("MUSTER_BENCH_DAEMONS")); err == nil {
		return n
	}
	return 10_000
}

// farmFolders are the folders of each daemon: one that all have, and others that three share. MUSTER_BENCH_FOLDERS
// gives another number.
func farmFolders() int {
	if n, err := strconv.Atoi(os.Getenv("MUSTER_BENCH_FOLDERS")); err == nil {
		return n
	}
	return 2
}

// idleFor is how long processor time at rest is measured: every daemon is asked for its status at least twice.
func idleFor() time.Duration {
	if daemons() < 10_000 {
		return 20 * time.Second
	}
	return 2 * time.Minute
}

// say prints one plain line of figures. `go test` leaves the name of the benchmark without a line end before it.
func say(format string, args ...any) { fmt.Printf("\n  "+format, args...) }

// judge prints a figure beside its goal.
func judge(good bool, format string, args ...any) {
	verdict := "ok"
	if !good {
		verdict = "MISSED"
	}
	say(format+"  ["+verdict+"]", args...)
}

func ratio[T time.Duration | int64 | float64](a, b T) float64 { return float64(a) / float64(b) }

// took is how long something takes.
func took(do func()) time.Duration {
	began := time.Now()
	do()
	return time.Since(began)
}

// quantile of durations, which it sorts.
func quantile(of []time.Duration, q float64) time.Duration {
	if len(of) == 0 {
		return 0
	}
	slices.Sort(of)
	return of[min(int(q*float64(len(of))), len(of)-1)]
}
