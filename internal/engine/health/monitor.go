package health

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

const (
	checkEvery = 2 * time.Second
	checkLimit = 5 * time.Second // longest time of a check before its part counts as impaired
)

// Check finds out whether a part of the service works. It returns nil when it does. It ends soon after its context.
type Check struct {
	Part fleet.Part
	Run  func(context.Context) *fleet.Impairment
}

// Monitor knows which parts of the service do not work as they should. Checks run in the background, so that asking
// costs nothing and waits for nothing; what begins and what is over is logged.
type Monitor struct {
	log    *slog.Logger
	checks []Check

	mu      sync.Mutex // guards the fields below
	found   map[fleet.Part]fleet.Impairment
	checked map[fleet.Part]bool // parts that were checked at least once
}

// NewMonitor makes a Monitor. It checks nothing before Run is called.
func NewMonitor(log *slog.Logger, checks ...Check) *Monitor {
	return &Monitor{log: log.With(logkey.Component, "health"), checks: checks, found: map[fleet.Part]fleet.Impairment{},
		checked: map[fleet.Part]bool{}}
}

// Run checks every part again and again until ctx ends. A check that hangs does not delay the others.
func (h *Monitor) Run(ctx context.Context) error {
	var checking sync.WaitGroup
	for _, c := range h.checks {
		checking.Go(func() { h.watch(ctx, c) })
	}
	checking.Wait()
	return ctx.Err()
}

func (h *Monitor) watch(ctx context.Context, c Check) {
	again := time.NewTicker(checkEvery)
	defer again.Stop()
	for ctx.Err() == nil {
		h.note(c.Part, h.ask(ctx, c))
		select {
		case <-again.C:
		case <-ctx.Done():
		}
	}
}

// ask runs one check. The part counts as impaired when the check takes longer than checkLimit.
func (h *Monitor) ask(ctx context.Context, c Check) *fleet.Impairment {
	late := time.AfterFunc(checkLimit, func() {
		h.note(c.Part, &fleet.Impairment{
			Part: c.Part, Blocking: true, Reason: "it did not answer in time",
			Next: "Look at the load of the machine and of the database.",
		})
	})
	defer late.Stop()
	ctx, cancel := context.WithTimeout(ctx, checkLimit)
	defer cancel()
	return c.Run(ctx)
}

// note records the result of a check, and logs changes.
func (h *Monitor) note(part fleet.Part, now *fleet.Impairment) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.checked[part] = true
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

// Impairments returns the parts that do not work properly, in a stable order.
func (h *Monitor) Impairments() []fleet.Impairment {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := make([]fleet.Impairment, 0, len(h.found))
	for _, part := range slices.Sorted(maps.Keys(h.found)) {
		all = append(all, h.found[part])
	}
	return all
}

// HasChecked reports whether every part was checked at least once.
func (h *Monitor) HasChecked() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.checked) == len(h.checks)
}

// Blocking returns the impairment of a part without which the service cannot work. Its cause is only logged, because
// not every caller may read it.
func Blocking(part fleet.Part, err error) *fleet.Impairment {
	if err == nil {
		return nil
	}
	impaired := fleet.Impairment{Part: part, Blocking: true, Reason: "it does not work", Next: "The log says why."}
	if known := (*fleet.Error)(nil); errors.As(err, &known) {
		impaired.Reason, impaired.Next = fleet.Reason(err), known.Hint
	}
	return &impaired
}
