// Package action has daemons do what people order: restart, rescan, pause, resume, upgrade. An order for a tag reaches
// one device after the other and ends at the first that fails. How a daemon is told is the business of reconcile.
package action

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

// maxRuns is how many runs go on at a time.
const maxRuns = 8

// Store keeps the runs. Its calls are durable when they return, and leave their trace in the audit.
type Store interface {
	// BeginActionRun keeps a new run and gives it its ID.
	BeginActionRun(ctx context.Context, run fleet.ActionRun) (fleet.ActionRun, error)
	// PutActionRun keeps how far a run is.
	PutActionRun(ctx context.Context, run fleet.ActionRun) error
	ActionRuns(ctx context.Context) ([]fleet.ActionRun, error)
	Record(ctx context.Context, what, subject, detail string) error
	Registry(ctx context.Context) (*fleet.Registry, error)
}

// Daemons do what they are told.
type Daemons interface {
	// MayAct is conflict where Muster does not write to the device, and unavailable where it cannot be reached.
	MayAct(ctx context.Context, id fleet.DeviceID) error
	Act(ctx context.Context, id fleet.DeviceID, order fleet.ActionOrder) (result string, err error)
}

// Options make a Runner.
type Options struct {
	Store   Store
	Daemons Daemons
	Log     *slog.Logger
}

// Runner carries out orders.
type Runner struct {
	o   Options
	log *slog.Logger

	work chan job
	mu   sync.Mutex               // guards the rest
	busy map[fleet.DeviceID]int64 // the run that a device is part of
	runs int                      // that go on
	open bool                     // Run takes work
}

// job is a run with who ordered it.
type job struct {
	run   fleet.ActionRun
	role  fleet.Role
	scope fleet.Scope
}

// New makes a Runner; Run starts it.
func New(o Options) *Runner {
	return &Runner{o: o, log: o.Log.With(logkey.Component, "action"), work: make(chan job, maxRuns),
		busy: map[fleet.DeviceID]int64{}}
}

// Run works until ctx ends. What another process left unfinished is marked as interrupted first, and not repeated: a
// daemon that was told to restart may have done so.
func (r *Runner) Run(ctx context.Context) error {
	left, err := r.o.Store.ActionRuns(ctx)
	if err != nil {
		return err
	}
	for _, run := range left {
		if run.Status == fleet.ActionRunning {
			r.interrupt(ctx, run)
		}
	}
	r.mu.Lock()
	r.open = true
	r.mu.Unlock()
	var going sync.WaitGroup
	for {
		select {
		case j := <-r.work:
			going.Go(func() { r.do(ctx, j) })
			continue
		case <-ctx.Done():
		}
		break
	}
	r.mu.Lock()
	r.open = false
	r.mu.Unlock()
	going.Wait()
	for {
		select {
		case j := <-r.work:
			r.interrupt(context.WithoutCancel(ctx), j.run)
		default:
			return ctx.Err()
		}
	}
}

// interrupt keeps that a run ended because the server stopped.
func (r *Runner) interrupt(ctx context.Context, run fleet.ActionRun) {
	run.Status = fleet.ActionInterrupted
	run.Reason = fmt.Sprintf("the server stopped after %d of %d devices", run.Done, len(run.Devices))
	if run.Done < len(run.Devices) {
		run.Reason += fmt.Sprintf("; whether device %s was told to %s is not known, and those after it were not",
			run.Devices[run.Done], run.Action)
	}
	run.Reason += ". The server does not continue it: give the order again where it is needed."
	r.keep(ctx, run)
}

func (r *Runner) keep(ctx context.Context, run fleet.ActionRun) {
	if err := r.o.Store.PutActionRun(fleet.WithActor(ctx, run.By), run); err != nil {
		r.log.Warn("how far a run is was not kept", logkey.Err(err))
	}
}

// Begin orders a daemon, or those with a tag, to do something, and answers when the order is kept; Run carries
// it out. It is conflict while Muster does not write to one of the devices, or one is part of another run.
func (r *Runner) Begin(ctx context.Context, order fleet.ActionOrder, tag fleet.Tag, devices []fleet.DeviceID,
) (fleet.ActionRun, error) {
	if err := r.mayBegin(ctx, devices); err != nil {
		return fleet.ActionRun{}, err
	}
	run := fleet.ActionRun{ActionOrder: order, Tag: tag, Devices: devices, Status: fleet.ActionRunning,
		By: fleet.ActorOf(ctx)}
	if err := r.reserve(devices); err != nil {
		return run, err
	}
	run, err := r.o.Store.BeginActionRun(ctx, run)
	if err != nil {
		r.release(devices)
		return run, err
	}
	r.mu.Lock()
	for _, id := range devices {
		r.busy[id] = run.ID
	}
	r.mu.Unlock()
	r.work <- job{run, fleet.RoleOf(ctx), fleet.ScopeIn(ctx)} // it has room for all that may go on
	return run, nil
}

// mayBegin asks for every device. Of several, some may be out of reach.
func (r *Runner) mayBegin(ctx context.Context, devices []fleet.DeviceID) error {
	var unreachable error
	reachable := 0
	for _, id := range devices {
		switch err := r.o.Daemons.MayAct(ctx, id); {
		case fleet.CodeOf(err) == fleet.CodeUnavailable:
			unreachable = cmp.Or(unreachable, err)
		case err != nil && len(devices) > 1:
			return about(id, err)
		case err != nil:
			return err
		default:
			reachable++
		}
	}
	if reachable == 0 {
		return unreachable
	}
	return nil
}

// about is an error that names the device.
func about(id fleet.DeviceID, err error) error {
	out := &fleet.Error{Code: fleet.CodeOf(err), Message: fmt.Sprintf("device %s: %s", id, fleet.Reason(err)), Err: err}
	out.Hint = hintOf(err)
	return out
}

func (r *Runner) reserve(devices []fleet.DeviceID) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.open {
		return &fleet.Error{Code: fleet.CodeUnavailable, Message: "Muster is not running yet, or shutting down",
			Hint: "Try again in a moment."}
	}
	if r.runs >= maxRuns {
		return &fleet.Error{Code: fleet.CodeTooMany, Message: fmt.Sprintf("%d orders are carried out already", r.runs),
			Hint: "Wait until one of them has ended."}
	}
	for _, id := range devices {
		if _, taken := r.busy[id]; taken {
			return &fleet.Error{Code: fleet.CodeConflict,
				Message: fmt.Sprintf("another order is carried out on device %s", id), Hint: "Wait until that has ended."}
		}
	}
	for _, id := range devices {
		r.busy[id] = 0
	}
	r.runs++
	return nil
}

func (r *Runner) release(devices []fleet.DeviceID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range devices {
		delete(r.busy, id)
	}
	r.runs--
}

// do carries out a run.
func (r *Runner) do(ctx context.Context, j job) {
	run := j.run
	defer r.release(run.Devices)
	ctx = fleet.WithScope(fleet.WithRole(fleet.WithActor(ctx, run.By), j.role), j.scope)
	last := ""
	for _, id := range run.Devices {
		result, skipped, err := r.one(ctx, j, id)
		if ctx.Err() != nil {
			r.interrupt(context.WithoutCancel(ctx), run)
			return
		}
		if err != nil {
			run.Status, run.Reason = fleet.ActionFailed, endedAt(run, id, err)
			r.keep(ctx, run)
			return
		}
		run.Done++
		last = result
		if skipped {
			run.Skipped = append(slices.Clip(run.Skipped), id)
		}
		if run.Done < len(run.Devices) {
			r.keep(ctx, run)
		}
	}
	run.Status, run.Reason = fleet.ActionDone, last
	if run.Tag != "" {
		run.Reason = fmt.Sprintf("%d of %d devices; %d were not reachable or are gone, and were left out",
			run.Done-len(run.Skipped), len(run.Devices), len(run.Skipped))
	}
	r.keep(ctx, run)
}

// one carries out a run on a device. A device of a tag that cannot be reached is skipped.
func (r *Runner) one(ctx context.Context, j job, id fleet.DeviceID) (result string, skipped bool, err error) {
	if j.run.Tag == "" {
		result, err = r.o.Daemons.Act(ctx, id, j.run.ActionOrder)
		return result, false, err
	}
	registry, err := r.o.Store.Registry(ctx)
	if err != nil {
		return "", false, err
	}
	device := registry.Devices[id]
	if device == nil || !j.scope.Covers(device.Tags) {
		return "", true, nil
	}
	switch err := r.o.Daemons.MayAct(ctx, id); {
	case fleet.CodeOf(err) == fleet.CodeUnavailable:
		return "", true, nil
	case err != nil:
		return "", false, err
	}
	detail := fmt.Sprintf("order %d, for the tag %q", j.run.ID, j.run.Tag)
	if err := r.o.Store.Record(ctx, "device."+string(j.run.Action), string(id), detail); err != nil {
		return "", false, err
	}
	result, err = r.o.Daemons.Act(ctx, id, j.run.ActionOrder)
	return result, false, err
}

// endedAt says for a person why a run ended at a device, and what to do.
func endedAt(run fleet.ActionRun, id fleet.DeviceID, err error) string {
	reason := fleet.Reason(err) + "."
	if run.Tag != "" {
		reason = fmt.Sprintf("ended at device %s after %d of %d: %s The devices after it were not touched.", id, run.Done,
			len(run.Devices), reason)
	}
	if hint := hintOf(err); hint != "" {
		reason += " " + hint
	}
	return reason
}

func hintOf(err error) string {
	var e *fleet.Error
	if errors.As(err, &e) {
		return e.Hint
	}
	return ""
}
