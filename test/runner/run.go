package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"
)

// SQLite is C that was translated to Go, arithmetic for TLS and passwords works on values of its own, and a command
// line is parsed in one goroutine: the race detector finds nothing of ours in them, and makes them ten times slower.
var notRaced = []string{
	"modernc.org/sqlite/lib", "modernc.org/libc/...", "modernc.org/memory",
	"golang.org/x/crypto/argon2", "golang.org/x/crypto/blake2b", "golang.org/x/crypto/scrypt",
	"crypto/internal/fips140/mlkem", "crypto/internal/fips140/sha3", "crypto/internal/fips140/bigmod",
	"crypto/internal/fips140/nistec/...", "crypto/internal/fips140/edwards25519/...",
	"github.com/alecthomas/kong", "regexp", "regexp/syntax",
}

func buildFlags(race bool) []string {
	if !race {
		return nil
	}
	flags := []string{"-race"}
	for _, pattern := range notRaced {
		flags = append(flags, "-gcflags="+pattern+"=-race=false")
	}
	return flags
}

// environment has the flag that the program is built with, too: both have their packages from one cache. A process with
// the race detector would sleep for a second at its end; reports that are being written are waited for without that.
// It collects its garbage a quarter as often, which saves a sixth of its processor time; what measures has no race
// detector, and collects as Muster does.
func environment(m mode, race bool) []string {
	env := slices.Concat(os.Environ(), m.env, []string{
		"GOFLAGS=" + strings.TrimSpace(os.Getenv("GOFLAGS")+" -trimpath"),
		"GORACE=" + strings.TrimSpace("atexit_sleep_ms=0 "+os.Getenv("GORACE")),
	})
	if race {
		env = append(env, "GOGC=400")
	}
	return env
}

// build compiles what the tasks need, before several of them would compile the same at once.
func build(ctx context.Context, p plan, m mode) error {
	for _, race := range []bool{true, false} {
		var packages []string
		for _, t := range p.all() {
			if t.race == race {
				packages = append(packages, t.packages...)
			}
		}
		if len(packages) == 0 {
			continue
		}
		slices.Sort(packages)
		list := exec.CommandContext(ctx, "go", slices.Concat([]string{"list", "-test", "-export"}, buildFlags(race),
			slices.Compact(packages))...)
		list.Env, list.Stderr = environment(m, race), os.Stderr
		if err := list.Run(); err != nil {
			return fmt.Errorf("compile the tests: %w", err)
		}
	}
	return nil
}

// interruptGrace is how long a task may take to end once it was interrupted; then it is killed.
const interruptGrace = time.Minute

// runner runs the tasks of a plan.
type runner struct {
	mode mode

	mu     sync.Mutex // guards what follows
	out    io.Writer
	times  times
	ran    int
	used   []used
	failed []result
}

func (r *runner) run(ctx context.Context, p plan) {
	waiting, computing := &queue{tasks: p.waiting}, &queue{tasks: p.computing}
	var beside sync.WaitGroup
	for range r.mode.computing {
		beside.Go(func() { r.work(ctx, true, computing, waiting) })
	}
	var first sync.WaitGroup
	for range r.mode.waiting {
		first.Go(func() { r.work(ctx, false, waiting) })
	}
	first.Wait()
	r.work(ctx, false, &queue{tasks: p.quiet})
	beside.Wait()
}

// work runs the tasks of some queues, one at a time, until all are empty.
func (r *runner) work(ctx context.Context, givesWay bool, queues ...*queue) {
	for _, q := range queues {
		for t, more := q.next(); more && ctx.Err() == nil; t, more = q.next() {
			r.do(ctx, t, givesWay)
		}
	}
}

// queue is what is left of a lane.
type queue struct {
	mu    sync.Mutex // guards tasks
	tasks []task
}

func (q *queue) next() (t task, more bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.tasks) == 0 {
		return task{}, false
	}
	t, q.tasks = q.tasks[0], q.tasks[1:]
	return t, true
}

func (r *runner) do(ctx context.Context, t task, givesWay bool) {
	words := slices.Concat([]string{"go", "test"}, r.mode.flags, buildFlags(t.race), t.packages, t.flags)
	if t.npm != "" {
		words = []string{"npm", "--prefix", "web", "run", "--silent", t.npm}
	}
	if givesWay && t.npm == "" { // A browser beside other tests is slow enough without that.
		words = slices.Concat([]string{"nice", "-n", "5"}, words)
	}
	if t.npm != "" && r.mode.limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, r.mode.limit, fmt.Errorf("it took longer than %v", r.mode.limit))
		defer cancel()
	}
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = interruptGrace
	cmd.Env = environment(r.mode, t.race)
	printed := &results{task: t, began: time.Now(), report: r.report}
	cmd.Stdout, cmd.Stderr = printed, printed
	err := cmd.Run()
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%w: %w", context.Cause(ctx), err)
	}
	printed.end(err)
	r.count(t, cmd.ProcessState)
}

// count adds what a task used. A task that could not be started has no state.
func (r *runner) count(t task, ended *os.ProcessState) {
	if ended == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.used = append(r.used, used{t.String(), ended.UserTime() + ended.SystemTime()})
}

// report prints a result and keeps it for the end.
func (r *runner) report(one result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, _ = r.out.Write(one.text)
	r.ran++
	if one.failed {
		r.failed = append(r.failed, one)
	} else if one.took > 0 {
		r.times[one.name] = one.took
	}
}
