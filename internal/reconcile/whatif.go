package reconcile

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"muster/internal/fleet"
	"muster/internal/plan"
	"muster/internal/stconfig"
)

// whatIfChunk is how many devices are planned under one registry before the other one's turn comes: the workers keep
// the facts of one fleet at a time.
const whatIfChunk = 256

// WhatIf plans the fleet under another registry, from what was last read of the daemons, and says what differs from
// the plans under the present one. Devices for which nothing differs are left out. It asks daemons for nothing but
// ignore patterns that were not read yet, and leaves no trace. each is called by one goroutine at a time, for devices
// in any order.
func (e *Engine) WhatIf(ctx context.Context, now, then *fleet.Registry, each func(plan.Effect)) error {
	w := whatIf{Engine: e, now: e.newView(now), then: e.newView(then), asking: &asking{Engine: e}, each: each}
	concerned := w.concerned()
	for len(concerned) > 0 {
		chunk := concerned[:min(len(concerned), whatIfChunk)]
		left, err := w.compare(ctx, chunk)
		if err != nil {
			return err
		}
		concerned = append(left, concerned[len(chunk):]...)
	}
	return nil
}

type whatIf struct {
	*Engine
	now, then *view
	asking    *asking

	mu   sync.Mutex // one call of each at a time
	each func(plan.Effect)
}

// Concerned are the devices that are planned from something else under another registry, sorted. Nothing is planned.
func (e *Engine) Concerned(now, then *fleet.Registry) []fleet.DeviceID {
	w := whatIf{Engine: e, now: e.newView(now), then: e.newView(then)}
	return w.concerned()
}

func (w *whatIf) concerned() (ids []fleet.DeviceID) {
	for _, id := range slices.Sorted(maps.Keys(w.then.registry.Devices)) {
		if w.concerns(id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// concerns tells whether a device is planned from anything else under the other registry.
func (w *whatIf) concerns(id fleet.DeviceID) bool {
	if w.now.registry.Devices[id] == nil {
		return true
	}
	known := w.o.Daemon.Known(id)
	print := func(v *view) fingerprint { return w.fingerprint(v, id, fleet.ModeOn, known, v.registry.RootsOf(id)) }
	return print(w.now) != print(w.then)
}

// maxKept is how many bytes of plans under the present registry are kept until the other one's turn comes.
const maxKept = 2 << 20

// compare plans some devices under both registries. Those for whose plans there was no room are left.
func (w *whatIf) compare(ctx context.Context, ids []fleet.DeviceID) (left []fleet.DeviceID, err error) {
	planned, done := make([][]plan.Change, len(ids)), make([]bool, len(ids))
	var kept atomic.Int64
	err = forAll(ctx, len(ids), func(ctx context.Context, i int) error {
		if i > 0 && kept.Load() > maxKept {
			return nil
		}
		done[i] = true
		return w.o.Memory.Do(ctx, func(ctx context.Context) error {
			j, err := w.plan(ctx, w.now, ids[i])
			if reported(err) {
				return nil // a device that fails now has no changes
			}
			planned[i] = j.plan.Changes
			kept.Add(sizeOf(planned[i]))
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	err = forAll(ctx, len(ids), func(ctx context.Context, i int) error {
		if !done[i] {
			return nil
		}
		return w.o.Memory.Do(ctx, func(ctx context.Context) error { return w.effect(ctx, ids[i], planned[i]) })
	})
	for i, id := range ids {
		if !done[i] {
			left = append(left, id)
		}
	}
	return left, err
}

// effect plans a device under the other registry, and tells what differs.
func (w *whatIf) effect(ctx context.Context, id fleet.DeviceID, planned []plan.Change) error {
	effect := plan.Effect{Device: id}
	j, err := w.plan(ctx, w.then, id)
	switch {
	case errors.Is(err, errNothingSeen):
		effect.Unread = true
	case reported(err):
		effect.Err = err
	case err != nil:
		return err
	default:
		effect.Brings = plan.Without(j.plan.Changes, planned)
		effect.Drops = plan.Without(planned, j.plan.Changes)
	}
	if effect.Unread || effect.Err != nil || len(effect.Brings)+len(effect.Drops) > 0 {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.each(effect)
	}
	return nil
}

// sizeOf is about how many bytes of memory changes take.
func sizeOf(changes []plan.Change) (n int64) {
	const perChange = 400
	for _, c := range changes {
		n += int64(perChange + c.From.JSONSize(maxKept) + c.To.JSONSize(maxKept))
	}
	return n
}

// forAll calls do for every number below n, a few at a time; the first error ends it.
func forAll(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	work, working := errgroup.WithContext(ctx)
	work.SetLimit(2 * runtime.GOMAXPROCS(0)) // workers evaluate while others fold
	for i := range n {
		if working.Err() != nil {
			break
		}
		work.Go(func() error { return do(working, i) })
	}
	return cmp.Or(work.Wait(), ctx.Err())
}

// plan makes a device's plan under one of the registries. What stopped a key is forgotten when templates change, so
// it only counts under the present one.
func (w *whatIf) plan(ctx context.Context, v *view, id fleet.DeviceID) (*job, error) {
	w.Engine.mu.Lock()
	m := w.items[id]
	w.Engine.mu.Unlock()
	fresh := newItem(id)
	if m == nil {
		m = fresh
	} else if v == w.then {
		fresh.history.ignores = m.history.lastIgnores()
		m = fresh
	}
	j := w.jobOf(m, v.registry, v)
	if j.device == nil {
		return j, nil
	}
	var err error
	if j.entries, err = w.o.Store.BaseEntries(ctx, id); err != nil {
		return j, err
	}
	observed, err := w.o.Store.ObservedConfig(ctx, id)
	if fleet.CodeOf(err) == fleet.CodeNotFound {
		return j, errNothingSeen
	}
	if err != nil {
		return j, err
	}
	if err := j.setDocument(ctx, observed, stconfig.Value{}); err != nil {
		return j, err
	}
	if err := w.makePlan(ctx, j, false); err != nil || v == w.now {
		return j, err
	}
	known := m.history.lastIgnores()
	patterns := w.asking.patterns(ctx, j, j.result.Ignores, known)
	if len(patterns) == len(known) && len(j.unread) == 0 {
		return j, nil
	}
	m.history.ignores = patterns // of an item that is forgotten with the answer
	return j, w.makePlan(ctx, j, false)
}

// reported tells an error that belongs to a device from one that ends the whole request.
func reported(err error) bool {
	if errors.Is(err, errNothingSeen) {
		return true
	}
	switch fleet.CodeOf(err) {
	case fleet.CodeInvalid, fleet.CodeTooLarge, fleet.CodeMalformed, fleet.CodeUnbelievable, fleet.CodeNotFound:
		return true
	}
	return false
}
