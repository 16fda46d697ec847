// Package sandbox evaluates templates in child processes of this same binary, with hard limits on memory, time and
// output. A program that breaks a limit costs its child, never the server. What a template means is in package
// template.
package sandbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"muster/internal/core/template"
	"muster/internal/fleet"
	"muster/internal/logkey"
)

// Options of a Pool. A zero field takes the default.
type Options struct {
	Command    []string // starts a worker, whose main is Serve; default: this executable with the argument "worker"
	Limits     Limits
	Warm       int    // workers kept ready; default 1
	Max        int    // evaluations at once; default 16: a program that hogs its worker leaves others to work
	CacheBytes int64  // bytes of results that are kept; default 4 MiB
	Memory     Memory // memory of the server; default: not bounded
	Log        *slog.Logger
}

// Limits of one evaluation. A zero field takes the default.
type Limits struct {
	Memory   int64         // bytes that a program may use beyond what an idle worker does; default 128 MiB
	Wall     time.Duration // default 1.5 s
	Counting template.Limits
}

const (
	defaultMemory = 128 << 20
	defaultWall   = 1500 * time.Millisecond
	defaultWarm   = 1
	defaultMax    = 16
	defaultCache  = 4 << 20

	retireEvery = 10 * time.Second // how often workers beyond the warm ones are looked at
	retireAfter = 30 * time.Second // idle time after which a worker is ended
)

func (o Options) withDefaults() Options {
	if o.Limits.Memory == 0 {
		o.Limits.Memory = defaultMemory
	}
	if o.Limits.Wall == 0 {
		o.Limits.Wall = defaultWall
	}
	o.Limits.Counting = o.Limits.Counting.WithDefaults()
	if o.Warm == 0 {
		o.Warm = defaultWarm
	}
	if o.Max == 0 {
		o.Max = defaultMax
	}
	if o.CacheBytes == 0 {
		o.CacheBytes = defaultCache
	}
	if o.Memory == nil {
		o.Memory = unboundedMemory{}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// Pool evaluates templates in worker processes and keeps the results, by what went into them.
type Pool struct {
	opts      Options
	slots     chan struct{}       // holds a token for each running evaluation
	starts    chan chan<- started // asks Run for a worker
	lacking   chan struct{}       // tells Run that warm workers are missing
	stopped   chan struct{}       // closed when Run ends
	alive     sync.WaitGroup      // worker processes
	allowance atomic.Int64        // memory for the fleet, of workers to come
	programs  *cache[digest, described]
	results   *cache[digest, outcome]

	mu       sync.Mutex // guards the rest
	idle     []idleWorker
	warming  int
	all      map[*worker]bool
	fleets   []*encodedFleet // at most keptFleets, ordered by last use, the newest first
	flights  map[digest]*flight
	failures map[digest]*costlyFailures

	confinement Confinement // confinement of the worker that started last
}

type started struct {
	worker *worker
	err    error
}

type idleWorker struct {
	*worker
	since time.Time
}

// New makes a pool; Run starts its workers.
func New(opts Options) *Pool {
	opts = opts.withDefaults()
	p := &Pool{
		opts: opts, slots: make(chan struct{}, opts.Max), starts: make(chan chan<- started), lacking: make(chan struct{}, 1),
		stopped: make(chan struct{}), all: map[*worker]bool{},
		programs: newCache[digest, described](1 << 20), results: newCache[digest, outcome](opts.CacheBytes),
		flights: map[digest]*flight{}, failures: map[digest]*costlyFailures{},
	}
	p.allowance.Store(allowanceFor(noFleet.fleet))
	return p
}

// Run owns the workers until ctx ends; then it ends them all and returns when they are gone. Evaluations wait until it
// runs. Call it once. It keeps its thread: the kernel ends a worker together with the thread that started it.
func (p *Pool) Run(ctx context.Context) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	command, err := p.command()
	if err != nil {
		return err
	}
	keepDescriptors()
	defer p.endAll()
	p.wantWarm()
	retire := time.NewTicker(retireEvery)
	defer retire.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case reply := <-p.starts:
			w, err := p.start(command)
			reply <- started{w, err}
		case <-p.lacking:
			p.warm(command)
		case <-retire.C:
			p.retire(time.Now().Add(-retireAfter))
		}
	}
}

func (p *Pool) command() ([]string, error) {
	if len(p.opts.Command) > 0 {
		return p.opts.Command, nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the binary of the workers: %w", err)
	}
	return []string{self, "worker"}, nil
}

func (p *Pool) start(command []string) (*worker, error) {
	w, err := startWorker(command, p.opts.Limits, p.allowance.Load())
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all[w] = true
	p.alive.Add(1)
	return w, nil
}

func (p *Pool) wantWarm() {
	select {
	case p.lacking <- struct{}{}:
	default: // Run has been told
	}
}

// warm starts workers until enough are idle or on their way.
func (p *Pool) warm(command []string) {
	for {
		p.mu.Lock()
		enough := len(p.idle)+p.warming >= p.opts.Warm
		if !enough {
			p.warming++
		}
		p.mu.Unlock()
		if enough {
			return
		}
		w, err := p.start(command)
		if err != nil {
			p.opts.Log.Error("worker does not start", logkey.Err(err))
			p.warmed(nil)
			return
		}
		go func() {
			if err := p.greet(w); err != nil {
				p.opts.Log.Error("worker does not start", logkey.Err(err))
				p.discard(w)
				w = nil
			}
			p.warmed(w)
		}()
	}
}

func (p *Pool) greet(w *worker) error {
	err := w.greet()
	if err == nil {
		p.noteConfinement(w.confinement)
	}
	return err
}

func (p *Pool) warmed(w *worker) {
	p.mu.Lock()
	p.warming--
	p.mu.Unlock()
	if w != nil {
		p.keep(w)
	}
}

// keep makes a worker idle, or ends it when Run has ended.
func (p *Pool) keep(w *worker) {
	p.mu.Lock()
	select {
	case <-p.stopped:
		p.mu.Unlock()
		p.discard(w)
	default:
		p.idle = append(p.idle, idleWorker{w, time.Now()})
		p.mu.Unlock()
	}
}

// retire ends workers beyond the warm ones that have been idle since before.
func (p *Pool) retire(before time.Time) {
	p.mu.Lock()
	var old []*worker
	for len(p.idle) > p.opts.Warm && p.idle[0].since.Before(before) {
		old = append(old, p.idle[0].worker)
		p.idle = slices.Delete(p.idle, 0, 1)
	}
	p.mu.Unlock()
	for _, w := range old {
		p.discard(w)
	}
}

// endAll ends every worker. The caller that talks to one sees it die and buries it.
func (p *Pool) endAll() {
	close(p.stopped)
	p.mu.Lock()
	idle := p.idle
	p.idle = nil
	for w := range p.all {
		w.kill()
	}
	p.mu.Unlock()
	for _, w := range idle {
		p.discard(w.worker)
	}
	p.alive.Wait()
}

// acquire returns a worker that no other caller talks to: release or drop it.
func (p *Pool) acquire(ctx context.Context) (*worker, error) {
	select {
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-p.stopped:
		return nil, errStopped()
	}
	for {
		w := p.takeIdle()
		if w == nil {
			break
		}
		if !w.isGone() {
			return w, nil
		}
		p.discard(w)
	}
	w, err := p.newWorker(ctx)
	if err != nil {
		<-p.slots
	}
	return w, err
}

// takeIdle takes the idle worker that was used last: its memory is warm, and it has the usual programs.
func (p *Pool) takeIdle() *worker {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := len(p.idle) - 1
	if last < 0 {
		return nil
	}
	w := p.idle[last].worker
	p.idle = p.idle[:last]
	return w
}

func (p *Pool) newWorker(ctx context.Context) (*worker, error) {
	reply := make(chan started, 1)
	select {
	case p.starts <- reply:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-p.stopped:
		return nil, errStopped()
	}
	s := <-reply // Run answers at once
	if s.err == nil {
		if s.err = p.greet(s.worker); s.err == nil {
			return s.worker, nil
		}
		p.discard(s.worker)
	}
	return nil, &fleet.Error{Code: fleet.CodeUnavailable,
		Message: "templates cannot be evaluated now: no worker process starts",
		Hint:    "The server's log says why.", Err: s.err}
}

func errStopped() error {
	return &fleet.Error{Code: fleet.CodeUnavailable, Message: "the server is shutting down",
		Err: errors.New("sandbox has stopped")}
}

// release gives a worker back.
func (p *Pool) release(w *worker) {
	p.keep(w)
	<-p.slots
}

// drop is release for a worker that is dead or should be. The caller does not wait until the kernel has taken the
// worker's memory back; Run does, at its end.
func (p *Pool) drop(w *worker) {
	w.kill()
	<-p.slots
	go p.discard(w)
	p.wantWarm()
}

func (p *Pool) discard(w *worker) {
	w.bury()
	p.mu.Lock()
	delete(p.all, w)
	p.mu.Unlock()
	p.alive.Done()
}
