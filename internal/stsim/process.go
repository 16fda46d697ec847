package stsim

import (
	"context"
	"sync"
	"time"

	"muster/internal/core/stconfig"
)

// process is one run of a daemon, from start to end. What it began ends with it.
type process struct {
	ctx     context.Context //nolint:containedctx // a process is a lifetime: every request and timer of it ends with this
	cancel  context.CancelFunc
	started time.Time
	events  *eventLog

	work sync.WaitGroup // goroutines and timers of this run

	mu     sync.Mutex // guards everything below
	timers map[*time.Timer]struct{}
	ended  bool
	lines  []line // The log has them. Those of the start are made when they are read.
}

func newProcess(now time.Time) *process {
	p := &process{started: now, events: newEventLog()}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p
}

// run starts a goroutine that must return soon after ctx ends. It does nothing once the process has ended.
func (p *process) run(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ended {
		p.work.Go(f)
	}
}

// after runs f once, later, unless the process ends before.
func (p *process) after(delay time.Duration, f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return
	}
	p.work.Add(1)
	var t *time.Timer
	t = time.AfterFunc(delay, func() {
		defer p.work.Done()
		p.mu.Lock() // also waits until t is set
		delete(p.timers, t)
		p.mu.Unlock()
		if p.ctx.Err() == nil {
			f()
		}
	})
	if p.timers == nil {
		p.timers = map[*time.Timer]struct{}{}
	}
	p.timers[t] = struct{}{}
}

// end stops everything and waits for it.
func (p *process) end() {
	p.cancel()
	p.mu.Lock()
	p.ended = true
	for t := range p.timers {
		if t.Stop() {
			p.work.Done()
		}
	}
	p.timers = nil
	p.mu.Unlock()
	p.work.Wait()
}

func (p *process) log(name string, data stconfig.Value) { p.events.log(time.Now(), name, data) }
