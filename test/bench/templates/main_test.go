// Package templates measures the template language against yardsticks taken in the same run: what it costs is a ratio,
// not a number of seconds that another machine would not repeat.
package templates

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"muster/internal/adapter/sandbox"
	"muster/internal/core/template"
	"muster/internal/fleet"
)

// The test binary is its own worker.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "worker" {
		if err := sandbox.Serve(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// startPool runs worker processes until the benchmark ends.
func startPool(b *testing.B) *sandbox.Pool {
	b.Helper()
	pool := sandbox.New(sandbox.Options{Command: []string{os.Args[0], "worker"}})
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = pool.Run(ctx)
	}()
	b.Cleanup(func() {
		cancel()
		<-ended
	})
	if _, err := pool.Describe(b.Context(), "1"); err != nil { // a worker is warm
		b.Fatal(err)
	}
	return pool
}

// factsOf is a fleet of n devices that carry the tag "all".
func factsOf(n int) []template.Facts {
	devices := make([]template.Facts, n)
	for i := range devices {
		devices[i] = template.Facts{
			DeviceID: fleet.DeviceIDOf([32]byte{byte(i), byte(i >> 8), byte(i >> 16)}), Label: fmt.Sprintf("device %d", i),
			Tags: []fleet.Tag{"all"}, APIPort: fleet.DefaultAPIPort, OS: "linux", Arch: "amd64", Version: "v2.1.3",
		}
	}
	return devices
}

// took is how long something takes.
func took(do func()) time.Duration {
	start := time.Now()
	do()
	return time.Since(start)
}

// fastest is the least that something takes in several rounds: what else runs on the machine only adds.
func fastest(rounds int, do func(round int)) time.Duration {
	best := time.Duration(1<<63 - 1)
	for round := range rounds {
		best = min(best, took(func() { do(round) }))
	}
	return best
}

// onAll does n things on all processors.
func onAll(n int, do func(i int)) {
	var all sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for w := range workers {
		all.Go(func() {
			for i := w; i < n; i += workers {
				do(i)
			}
		})
	}
	all.Wait()
}

// say prints one plain line of figures. `go test` leaves the name of the benchmark without a line end before it.
func say(format string, args ...any) { fmt.Printf("\n  "+format, args...) }
