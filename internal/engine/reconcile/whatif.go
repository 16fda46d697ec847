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
	"time"

	"golang.org/x/sync/errgroup"

	"muster/internal/core/desired"
	"muster/internal/core/plan"
	"muster/internal/core/stconfig"
	"muster/internal/core/template"
	"muster/internal/fleet"
)

// whatIfChunk is how many devices are planned under the present registry before the same devices are planned under the
// other one. So the sandbox's workers, which keep the facts of only one fleet at a time, rarely have to load the other
// fleet's.
const whatIfChunk = 256

// WhatIf compares the plans of devices under the registry `then`, which a change would make, with their plans under
// the present registry `now`. It plans from what was last read of the daemons. It asks daemons only for ignore
// patterns that were not read yet and for configurations that the store does not have yet. It stores nothing. It
// calls each for every device whose plans differ or cannot be compared, in any order, and from one goroutine at a
// time.
func (e *Engine) WhatIf(ctx context.Context, now, then *fleet.Registry, each func(plan.Effect)) error {
	w := whatIf{Engine: e, now: e.newGeneration(now), then: e.newGeneration(then), asking: &asking{Engine: e}, each: each}
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
	now, then *generation
	asking    *asking

	freshReads atomic.Int64 // reads of daemons
	// documents has what was compared under the present registry, for the plan under the other one: the document that a
	// daemon gave, or an empty one in the place of the stored document.
	documents sync.Map

	mu   sync.Mutex // held while each is called
	each func(plan.Effect)
}

// Concerned returns, sorted, the devices whose plans have other inputs under the registry `then` than under `now`. It
// plans nothing.
func (e *Engine) Concerned(now, then *fleet.Registry) []fleet.DeviceID {
	w := whatIf{Engine: e, now: e.newGeneration(now), then: e.newGeneration(then)}
	return w.concerned()
}

// Altered returns the devices to which the templates may give other values under the registry `then` than under `now`.
// It asks no daemon and does not depend on the daemons' configurations. Devices that are registered in only one of the
// two are left out.
func (e *Engine) Altered(ctx context.Context, now, then *fleet.Registry) (altered []fleet.DeviceID, err error) {
	version := func(id fleet.DeviceID) fleet.Version { return e.o.Daemon.Known(id).Version }
	compared := desired.Compare(desired.FleetOf(now, version), desired.FleetOf(then, version),
		func(text string, in template.Input) (template.Result, error) {
			return e.o.Evaluator.Evaluate(ctx, text, in)
		})
	for _, id := range slices.Sorted(maps.Keys(then.Devices)) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if now.Devices[id] != nil && compared.Alters(id) {
			altered = append(altered, id)
		}
	}
	return altered, nil
}

func (w *whatIf) concerned() (ids []fleet.DeviceID) {
	for _, id := range slices.Sorted(maps.Keys(w.then.registry.Devices)) {
		if w.concerns(id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// concerns reports whether the plan of a device has other inputs under the other registry. It is true for a device
// that only the other registry has.
func (w *whatIf) concerns(id fleet.DeviceID) bool {
	if w.now.registry.Devices[id] == nil {
		return true
	}
	known := w.o.Daemon.Known(id)
	print := func(g *generation) fingerprint {
		return w.fingerprint(g, id, fleet.ModeOn, known, reachOf(g.registry, id))
	}
	return print(w.now) != print(w.then)
}

// maxKept is the most bytes that plans under the present registry take while they wait to be compared.
const maxKept = 2 << 20

// compare plans these devices under both registries. left are those devices for whose plans there was no memory; the
// caller compares them later.
func (w *whatIf) compare(ctx context.Context, ids []fleet.DeviceID) (left []fleet.DeviceID, err error) {
	planned, done, fails := make([][]plan.Change, len(ids)), make([]bool, len(ids)), make([]bool, len(ids))
	var kept atomic.Int64
	err = forAll(ctx, len(ids), func(ctx context.Context, i int) error {
		if i > 0 && kept.Load() > maxKept {
			return nil
		}
		done[i] = true
		return w.o.Memory.Do(ctx, func(ctx context.Context) error {
			out, err := w.plan(ctx, w.now, ids[i])
			if belongsToDevice(err) {
				fails[i] = true
				return nil // a device whose plan fails under the present registry has no changes
			}
			planned[i] = out.plan.Changes
			kept.Add(sizeOf(planned[i]) + w.keptOf(ids[i]))
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
		return w.o.Memory.Do(ctx, func(ctx context.Context) error { return w.effect(ctx, ids[i], planned[i], fails[i]) })
	})
	for i, id := range ids {
		if !done[i] {
			left = append(left, id)
		}
	}
	return left, err
}

// effect plans a device under the other registry, and calls each if the plans differ. planned are the device's changes
// under the present registry. failsNow is true if no plan can be made under the present registry.
func (w *whatIf) effect(ctx context.Context, id fleet.DeviceID, planned []plan.Change, failsNow bool) error {
	effect := plan.Effect{Device: id, FailsNow: failsNow}
	out, err := w.plan(ctx, w.then, id)
	switch {
	case errors.Is(err, errNeverRead):
		effect.Unread = true
	case belongsToDevice(err):
		effect.Err = err
	case err != nil:
		return err
	default:
		effect.Brings, effect.Drops = plan.Compare(planned, out.plan.Changes)
		effect.Alone = plan.LastShares(id, effect.Brings, out.doc, out.result.Desired)
		effect.Answerable = w.answerable(id, effect.Brings)
	}
	if effect.Unread || effect.Err != nil || len(effect.Brings)+len(effect.Drops) > 0 {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.each(effect)
	}
	return nil
}

// answerable returns, by key, those changes that the answer of an undo may cover.
func (w *whatIf) answerable(id fleet.DeviceID, changes []plan.Change) map[string]plan.Answerable {
	all := map[string]plan.Answerable{}
	for _, c := range changes {
		if c.UndoAnswers() {
			all[c.Key.String()] = plan.Answerable{Digest: c.ConsentDigest(id, w.o.DigestKey), Removes: c.Removes()}
		}
	}
	return all
}

// sizeOf returns about how many bytes of memory changes take.
func sizeOf(changes []plan.Change) (n int64) {
	const perChange = 400
	for _, c := range changes {
		n += int64(perChange + c.From.JSONSize(maxKept) + c.To.JSONSize(maxKept))
	}
	return n
}

// forAll calls do for every number below n, a few at a time. After the first error it starts no more and returns that
// error.
func forAll(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	work, working := errgroup.WithContext(ctx)
	work.SetLimit(2 * runtime.GOMAXPROCS(0)) // twice as many, because some wait for the sandbox while others fold
	for i := range n {
		if working.Err() != nil {
			break
		}
		work.Go(func() error { return do(working, i) })
	}
	return cmp.Or(work.Wait(), ctx.Err())
}

// plan makes a device's plan under one of the two registries. Answers count only under the present one, because they
// end when templates change. Stops count under the other one, too, unless the change ends them.
func (w *whatIf) plan(ctx context.Context, g *generation, id fleet.DeviceID) (planned, error) {
	in := w.inputOf(id, g.registry, g)
	if in.device == nil {
		return planned{input: in}, nil
	}
	if g != w.now {
		in.replaced = w.now.registry
	}
	if m := w.queue.find(id); m != nil {
		if in.ignores = m.history.lastIgnores(); g != w.then {
			in = in.remembering(&m.history)
		}
	}
	in, err := w.keptDocument(ctx, in)
	if err != nil {
		return planned{input: in}, err
	}
	if m := w.queue.find(id); m != nil && g != w.now {
		in.stopped = m.history.stops.After(plan.Inputs{Templates: in.templates, Observed: in.digest, Now: time.Now(),
			Moved: true})
	}
	out, err := w.makePlan(ctx, in)
	if err != nil || g == w.now {
		return out, err
	}
	patterns, unread := w.asking.patterns(ctx, in, out.result.Ignores, in.ignores)
	if len(patterns) == len(in.ignores) && len(unread) == 0 {
		return out, nil
	}
	in.ignores, in.unread = patterns, unread
	return w.makePlan(ctx, in)
}

// mostFreshReads bounds how many daemons one comparison reads.
const mostFreshReads = 64

// freshDocument returns the device's document as the store has it, or as the daemon has it where the entries may be of
// a newer one: the mirror stores documents with a delay. With an older document, a value that Muster has replaced since
// would look as if somebody had put it back. Both plans of a device are made from the same document.
func (w *whatIf) freshDocument(ctx context.Context, in input) (fleet.ObservedConfig, error) {
	earlier, isSecond := w.documents.LoadAndDelete(in.id)
	if isSecond {
		if observed := earlier.(fleet.ObservedConfig); observed.JSON != nil {
			return observed, nil
		}
		return w.o.Store.ObservedConfig(ctx, in.id)
	}
	observed, isFresh, err := w.chosenDocument(ctx, in)
	if err == nil && w.now != w.then {
		if !isFresh {
			w.documents.Store(in.id, fleet.ObservedConfig{})
			return observed, nil
		}
		w.documents.Store(in.id, observed)
	}
	return observed, err
}

// keptOf returns how many bytes of memory the document of a device takes until it is compared.
func (w *whatIf) keptOf(id fleet.DeviceID) int64 {
	observed, isKept := w.documents.Load(id)
	if !isKept {
		return 0
	}
	return int64(len(observed.(fleet.ObservedConfig).JSON))
}

// chosenDocument returns the document that a device is compared by. isFresh is true if its daemon was asked for it.
func (w *whatIf) chosenDocument(ctx context.Context, in input) (observed fleet.ObservedConfig, isFresh bool,
	err error) {
	stored, err := w.o.Store.ObservedConfig(ctx, in.id)
	if err != nil || !in.known.Online {
		return stored, false, err
	}
	overtaken := in.known.Unstored && stored.Digest != in.known.Digest
	if m := w.queue.find(in.id); m != nil {
		overtaken = overtaken || m.history.overtakes(stored)
	}
	if !overtaken || w.freshReads.Add(1) > mostFreshReads {
		return stored, false, nil
	}
	now, err := w.o.Daemon.Config(ctx, in.id)
	if err != nil && ctx.Err() == nil {
		return stored, false, nil //nolint:nilerr // A daemon that went away has its stored document.
	}
	return now, true, err
}

// keptDocument returns the input with the device's entries and document as the store has them.
func (w *whatIf) keptDocument(ctx context.Context, in input) (input, error) {
	var err error
	if in.base, err = w.o.Store.BaseEntries(ctx, in.id); err != nil {
		return in, err
	}
	observed, err := w.freshDocument(ctx, in)
	if fleet.CodeOf(err) == fleet.CodeNotFound {
		return in, errNeverRead
	}
	if err != nil {
		return in, err
	}
	return in.withDocument(w.takeMemory(ctx), observed, stconfig.Value{})
}

// Desired computes the configurations that devices would have under the registry `then`, from what was last read of
// the daemons. It calls each for every device with the configuration, or with the reason (failed) why the device would
// have none. Devices that were never read are left out. each is called from one goroutine at a time.
func (e *Engine) Desired(ctx context.Context, then *fleet.Registry, devices []fleet.DeviceID,
	each func(id fleet.DeviceID, desired stconfig.Value, failed error)) error {
	return e.planEach(ctx, then, devices, func(id fleet.DeviceID, out planned, failed error) {
		each(id, out.result.Desired, failed)
	})
}

// Planned computes the changes that are to be made on devices under the registry `now`, from what was last read of the
// daemons. It calls each for every device with the changes, or with the reason (failed) why the device has no plan.
// Devices that were never read are left out. each is called from one goroutine at a time, in any order.
func (e *Engine) Planned(ctx context.Context, now *fleet.Registry, devices []fleet.DeviceID,
	each func(id fleet.DeviceID, changes []plan.Change, failed error)) error {
	return e.planEach(ctx, now, devices, func(id fleet.DeviceID, out planned, failed error) {
		each(id, out.plan.Changes, failed)
	})
}

func (e *Engine) planEach(ctx context.Context, registry *fleet.Registry, devices []fleet.DeviceID,
	each func(id fleet.DeviceID, out planned, failed error)) error {
	g := e.newGeneration(registry)
	w := whatIf{Engine: e, now: g, then: g, asking: &asking{Engine: e}}
	var mu sync.Mutex
	return forAll(ctx, len(devices), func(ctx context.Context, i int) error {
		return w.o.Memory.Do(ctx, func(ctx context.Context) error {
			out, err := w.plan(ctx, g, devices[i])
			switch {
			case errors.Is(err, errNeverRead):
				return nil
			case err != nil && !belongsToDevice(err):
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			each(devices[i], out, err)
			return nil
		})
	})
}
