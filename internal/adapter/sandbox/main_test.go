//muster:quick -skip=^TestBombs$
package sandbox

import (
	"bufio"
	"context"
	"errors"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// The test binary is its own worker, as the server's is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && roles[os.Args[1]] != nil {
		if err := roles[os.Args[1]](); err != nil {
			os.Stderr.WriteString(err.Error())
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

var roles = map[string]func() error{
	"worker":      func() error { return Serve(os.Stdin, os.Stdout) },
	"telling":     telling,
	"huge":        func() error { return lie([]byte{0xff, 0xff, 0xff, 0xff, byte(kindResult)}) },
	"garbage":     func() error { return lie([]byte{0, 0, 0, 1, byte(kindResult), '?'}) },
	"silent":      func() error { return lie(nil) },
	"environment": func() error { return errors.New(strings.Join(os.Environ(), " ")) },
	"dies":        func() error { return errors.New("no such thing as a worker") },
}

// lie is a worker that says hello as it should, and to everything else always the same.
func lie(answer []byte) error {
	in := bufio.NewReader(os.Stdin)
	if _, _, err := readFrame(in, 1<<20); err != nil {
		return err
	}
	if err := writeFrame(os.Stdout, kindHello, []byte("{}")); err != nil {
		return err
	}
	for {
		if _, _, err := readFrame(in, 1<<20); err != nil {
			return err
		}
		if _, err := os.Stdout.Write(answer); err != nil {
			return err
		}
	}
}

// as is the command for this binary in another role.
func as(t testing.TB, role string, arguments ...string) []string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return append([]string{self, role}, arguments...)
}

// greeted is a worker in a role, ready for requests.
func greeted(t testing.TB, role string) *worker {
	t.Helper()
	runtime.LockOSThread() // the worker ends with the thread
	t.Cleanup(runtime.UnlockOSThread)
	w, err := startWorker(as(t, role), Options{}.withDefaults().Limits, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.bury)
	if err := w.greet(); err != nil {
		t.Fatal(err)
	}
	return w
}

// running is a pool that ends with the test. Unless the test limits their time, its programs have enough of it on a
// busy machine.
func running(t testing.TB, opts Options) *Pool {
	t.Helper()
	if opts.Limits.Wall == 0 {
		opts.Limits.Wall = patience
	}
	p := New(opts)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("Run ended with %v", err)
		}
	})
	return p
}

// within is a context whose end means that something hangs.
func within(t testing.TB, limit time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	return ctx
}
