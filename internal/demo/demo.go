// Package demo runs a second server beside this one, with simulated devices to look around in. It is a process with a
// folder of its own, which goes with it; it shares nothing with this server, and is reached on this machine alone.
package demo

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

const (
	startLimit = time.Minute
	longest    = 4 * time.Hour // that a demo runs
	stopLimit  = 10 * time.Second
)

// Args are what a server of a demo is started with, after the name of the program. It ends when its standard input
// does: also where this process is killed.
var Args = []string{"serve", "--demo", "30", "--listen", "127.0.0.1:0", "--until-input-ends"}

// environment has the names of the variables that a demo gets. It must get none of this server's settings: with its
// database it would be no demo.
var environment = []string{"PATH", "HOME", "TMPDIR", "TEMP", "TMP", "LANG", "SYSTEMROOT", "USERPROFILE", "LOCALAPPDATA"}

// Demo starts and ends the one demo that a server may have.
type Demo struct {
	program []string
	log     *slog.Logger

	mu      sync.Mutex
	running *process // nil: none; guarded by mu
}

type process struct {
	url   *url.URL
	ended chan struct{}
	end   func()
}

// New makes one that runs a program with some arguments: this program with Args.
func New(program []string, log *slog.Logger) *Demo { return &Demo{program: program, log: log} }

// Running is where the demo answers, nil when none runs.
func (d *Demo) Running() *url.URL {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.running == nil {
		return nil
	}
	return d.running.url
}

// Start starts a demo, and gives the link that makes its first administrator, once. Where one runs, the error has the
// code conflict.
func (d *Demo) Start(ctx context.Context) (first *url.URL, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.running != nil {
		return nil, &fleet.Error{Code: fleet.CodeConflict, Message: "a demo runs already, at " + d.running.url.String(),
			Hint: "Open it, or end it first."}
	}
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	made, first, err := d.launch(ctx)
	if err != nil {
		return nil, fmt.Errorf("start a demo: %w", err)
	}
	d.running = made
	d.log.Info("demo started", logkey.Address, made.url.Host)
	go d.watch(made)
	return first, nil
}

// watch ends a demo that ran for long, and forgets one that has ended.
func (d *Demo) watch(p *process) {
	limit := time.NewTimer(longest)
	defer limit.Stop()
	select {
	case <-p.ended:
	case <-limit.C:
		p.end()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.running == p {
		d.running = nil
	}
	d.log.Info("demo ended", logkey.Address, p.url.Host)
}

// End ends the demo and waits until it is gone, with all that it had. It is fine where none runs.
func (d *Demo) End() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.running != nil {
		d.running.end()
		d.running = nil
	}
}

// launch starts the process and waits until it has said where it is.
func (d *Demo) launch(ctx context.Context) (_ *process, first *url.URL, err error) {
	child := exec.Command(d.program[0], d.program[1:]...) //nolint:gosec // this program, without a word of a request
	child.Env = slices.DeleteFunc(os.Environ(), func(one string) bool {
		name, _, _ := strings.Cut(one, "=")
		return !slices.Contains(environment, strings.ToUpper(name))
	})
	input, err := child.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	output, err := child.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := child.Start(); err != nil {
		return nil, nil, err
	}
	p := &process{ended: make(chan struct{})}
	p.end = func() {
		_ = input.Close()
		select {
		case <-p.ended:
		case <-time.After(stopLimit):
			_ = child.Process.Kill()
			<-p.ended
		}
	}
	links := make(chan *url.URL, 1)
	go func() {
		defer close(p.ended)
		readLink(output, links)
		_ = child.Wait() // it says itself why it ended
	}()
	select {
	case first = <-links:
		p.url = &url.URL{Scheme: first.Scheme, Host: first.Host, Path: "/ui/"}
		return p, first, nil
	case <-p.ended:
		return nil, nil, fmt.Errorf("it ended before it was ready: %v", child.ProcessState)
	case <-ctx.Done():
		p.end()
		return nil, nil, ctx.Err()
	}
}

// readLink reads what a server prints to the end, and hands on the line that is a link.
func readLink(from io.Reader, to chan<- *url.URL) {
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		if link, err := url.Parse(lines.Text()); err == nil && link.IsAbs() && link.Query().Has("code") {
			select {
			case to <- link:
			default: // the first one counts
			}
		}
	}
	_, _ = io.Copy(io.Discard, from) // a line was too long
}
