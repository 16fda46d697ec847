// Package demo starts a second Muster server with simulated devices, so that users can try Muster without devices of
// their own. The demo is a separate process with a temporary home directory. It shares nothing with this server and
// can only be reached from this machine.
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
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

const (
	startLimit = time.Minute
	longest    = 4 * time.Hour // time after which a demo is ended
	stopLimit  = 10 * time.Second
)

// Args are the arguments with which the demo's server is started. That server ends when its standard input is closed,
// so it also ends when this process is killed.
var Args = []string{"serve", "--demo", "30", "--listen", "127.0.0.1:0", "--until-input-ends"}

// environment names the variables that the demo's process inherits. It must not inherit this server's settings: with
// the database of this server it would not be a demo.
var environment = []string{"PATH", "HOME", "TMPDIR", "TEMP", "TMP", "LANG", "SYSTEMROOT", "USERPROFILE", "LOCALAPPDATA"}

// Demo starts and ends the one demo that a server may have.
type Demo struct {
	program []string
	log     *slog.Logger

	mu      sync.Mutex
	running *process // nil: no demo runs; guarded by mu
}

type process struct {
	url   *url.URL
	ended chan struct{}
	end   func()
}

// New makes a Demo that runs a program with arguments. In production that is this program with Args.
func New(program []string, log *slog.Logger) *Demo { return &Demo{program: program, log: log} }

// Running returns the URL of the demo, or nil when no demo runs.
func (d *Demo) Running() *url.URL {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.running == nil {
		return nil
	}
	return d.running.url
}

// Start starts a demo. It returns the one-time link that creates the demo's first administrator. When a demo runs
// already it returns an error with the code conflict.
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

// watch waits until a demo has ended, and ends it after the longest time that it may run.
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

// End ends the demo, waits for its process, and removes its home directory. Without a demo it does nothing.
func (d *Demo) End() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.running != nil {
		d.running.end()
		d.running = nil
	}
}

// launch starts the process and waits until the process has printed its address.
func (d *Demo) launch(ctx context.Context) (_ *process, first *url.URL, err error) {
	// The arguments are fixed; no part of a request is in them.
	child := exec.Command(d.program[0], d.program[1:]...) //nolint:gosec
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
		_ = child.Wait() // The process has logged why it ended.
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

// readLink reads the output of a server to its end. It sends the link in the first file of a link that a line names.
func readLink(from io.Reader, to chan<- *url.URL) {
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		if link, ok := linkIn(lines.Text()); ok {
			select {
			case to <- link:
			default: // Only the first link counts.
			}
		}
	}
	// A line was too long for the scanner; the process must still be able to write.
	_, _ = io.Copy(io.Discard, from)
}

// linkIn returns the first line of the file at path, if that is the file of a log-in link.
func linkIn(path string) (link *url.URL, ok bool) {
	if !filepath.IsAbs(path) || filepath.Base(path) != fleet.LoginLinkFile {
		return nil, false
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, false
	}
	first, _, _ := strings.Cut(string(text), "\n")
	link, err = url.Parse(first)
	return link, err == nil && link.IsAbs() && link.Query().Has("code")
}
