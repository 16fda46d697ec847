// Package wait makes tests wait for a condition instead of for a time.
package wait

import "time"

const (
	limit = 2 * time.Minute
	every = 50 * time.Millisecond // each question costs the server, and servers are many at a time
)

// T is what waiting needs of a test. A test of rapid has it, too.
type T interface {
	Helper()
	Fatalf(format string, args ...any)
}

// Until waits for a condition. The function missing gives "" when it holds, else what is still missing.
func Until(t T, missing func() string) {
	t.Helper()
	deadline, again := time.NewTimer(limit), time.NewTicker(every)
	defer deadline.Stop()
	defer again.Stop()
	for what := missing(); what != ""; what = missing() {
		select {
		case <-again.C:
		case <-deadline.C:
			t.Fatalf("after %v: %s", limit, what)
		}
	}
}

// For waits until something holds; what says it in words.
func For(t T, what string, holds func() bool) {
	t.Helper()
	ForState(t, func() string { return "not yet: " + what }, holds)
}

// ForState is For with words for how things are instead, which are asked for when they are needed.
func ForState(t T, state func() string, holds func() bool) {
	t.Helper()
	Until(t, func() string {
		if holds() {
			return ""
		}
		return state()
	})
}
