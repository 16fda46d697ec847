package app

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"runtime"
	"slices"
	"sync"
	"time"

	"muster/internal/budget"
	"muster/internal/fleet"
	"muster/internal/logkey"
	"muster/internal/sandbox"
)

const (
	healthEvery = 2 * time.Second
	healthLimit = 5 * time.Second // that a check may take before its part counts as impaired
)

// check finds out whether a part of the service works; nil: it does. It ends when its context does, or soon after.
type check struct {
	part  fleet.Part
	check func(context.Context) *fleet.Impairment
}

// health knows which parts of the service do not work as they should. Checks run in the background, so that asking
// costs nothing and waits for nothing; what begins and what is over is logged.
type health struct {
	log    *slog.Logger
	checks []check

	mu    sync.Mutex // guards found
	found map[fleet.Part]fleet.Impairment
}

func newHealth(log *slog.Logger, checks ...check) *health {
	return &health{log: log.With(logkey.Component, "health"), checks: checks, found: map[fleet.Part]fleet.Impairment{}}
}

// Run checks every part again and again until ctx ends. A part whose check hangs keeps no other one waiting.
func (h *health) Run(ctx context.Context) error {
	var checking sync.WaitGroup
	for _, c := range h.checks {
		checking.Go(func() { h.watch(ctx, c) })
	}
	checking.Wait()
	return ctx.Err()
}

func (h *health) watch(ctx context.Context, c check) {
	again := time.NewTicker(healthEvery)
	defer again.Stop()
	for ctx.Err() == nil {
		h.note(c.part, h.ask(ctx, c))
		select {
		case <-again.C:
		case <-ctx.Done():
		}
	}
}

// ask runs one check. While one takes too long its part is impaired.
func (h *health) ask(ctx context.Context, c check) *fleet.Impairment {
	late := time.AfterFunc(healthLimit, func() {
		h.note(c.part, &fleet.Impairment{
			Part: c.part, Blocking: true, Reason: "it did not answer in time",
			Next: "Look at the load of the machine and of the database.",
		})
	})
	defer late.Stop()
	ctx, cancel := context.WithTimeout(ctx, healthLimit)
	defer cancel()
	return c.check(ctx)
}

// note remembers what a check found, and logs what changed.
func (h *health) note(part fleet.Part, now *fleet.Impairment) {
	h.mu.Lock()
	defer h.mu.Unlock()
	before, impaired := h.found[part]
	switch {
	case now == nil && impaired:
		delete(h.found, part)
		h.log.Info("works again", logkey.Part, part)
	case now != nil:
		h.found[part] = *now
		if now.Reason == before.Reason {
			return
		}
		h.log.Warn("does not work as it should", logkey.Part, part, logkey.Reason, now.Reason, logkey.Next, now.Next)
	}
}

// Impairments are the parts that do not work as they should, in a stable order.
func (h *health) Impairments() []fleet.Impairment {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := make([]fleet.Impairment, 0, len(h.found))
	for _, part := range slices.Sorted(maps.Keys(h.found)) {
		all = append(all, h.found[part])
	}
	return all
}

// checks are what this server's health depends on.
func (a *App) checks(pool *sandbox.Pool) []check {
	return []check{
		{fleet.PartDatabase, func(ctx context.Context) *fleet.Impairment {
			return blocking(fleet.PartDatabase, a.store.Ready(ctx))
		}},
		{fleet.PartLock, func(context.Context) *fleet.Impairment {
			return blocking(fleet.PartLock, a.store.LockLost())
		}},
		{fleet.PartWorkers, func(ctx context.Context) *fleet.Impairment {
			return blocking(fleet.PartWorkers, pool.Ready(ctx))
		}},
		{fleet.PartDescriptors, func(context.Context) *fleet.Impairment { return a.checkDescriptors() }},
	}
}

// blocking is the impairment of a part without which the service cannot do its work. The cause is in the log, and may
// hold what not every caller may see.
func blocking(part fleet.Part, err error) *fleet.Impairment {
	if err == nil {
		return nil
	}
	impaired := fleet.Impairment{Part: part, Blocking: true, Reason: "it does not work", Next: "The log says why."}
	if known := (*fleet.Error)(nil); errors.As(err, &known) {
		impaired.Reason, impaired.Next = fleet.Reason(err), known.Hint
	}
	return &impaired
}

// checkDescriptors tells whether every daemon is followed.
func (a *App) checkDescriptors() *fleet.Impairment {
	visited := a.mirror.Visited()
	if visited == 0 {
		return nil
	}
	return &fleet.Impairment{
		Part: fleet.PartDescriptors, Reason: a.budget.Shortage(),
		Next: budget.Advice(len(a.mirror.Snapshots()), runtime.NumCPU()),
	}
}
