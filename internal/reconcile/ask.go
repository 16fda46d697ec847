package reconcile

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"muster/internal/fleet"
	"muster/internal/plan"
)

// Plan is what would be changed on a device now. Nothing is sent; ignore patterns that templates name are read.
func (e *Engine) Plan(ctx context.Context, id fleet.DeviceID) (plan.Plan, error) {
	j, err := e.ask(ctx, id)
	if err != nil {
		return plan.Plan{}, err
	}
	return j.plan, nil
}

// ask makes a job for a reader and plans; the job changes no record. A read on demand is not announced by the mirror,
// so ask queues the device itself when the daemon's configuration, or what is read of its ignore patterns, differs from
// what was read last.
func (e *Engine) ask(ctx context.Context, id fleet.DeviceID) (*job, error) {
	j, err := e.readersJob(ctx, id)
	if err != nil {
		return nil, err
	}
	before := j.m.history.lastRead()
	err = e.observe(ctx, j)
	if errors.Is(err, errNothingSeen) && j.known.Online {
		err = e.read(ctx, j) // the mirror has it, and writes it behind
	}
	if j.m.history.lastRead() != before {
		e.enqueue(id)
	}
	if errors.Is(err, errNothingSeen) {
		return nil, fleet.NotFoundf("the configuration of this device was never read, so there is no plan")
	} else if err != nil {
		return nil, err
	}
	patterns := j.m.history.lastIgnores()
	err = e.makePlan(ctx, j, j.known.Online)
	if !maps.EqualFunc(patterns, j.m.history.lastIgnores(), slices.Equal) {
		j.m.history.forgetInputs()
		e.enqueue(id)
	}
	return j, err
}

// readersJob makes a job for a reader, without a document.
func (e *Engine) readersJob(ctx context.Context, id fleet.DeviceID) (*job, error) {
	e.mu.Lock()
	m := e.items[id]
	e.mu.Unlock()
	if m == nil {
		m = newItem(id)
	}
	j, err := e.newJob(ctx, m)
	if err == nil && j.device != nil && !e.isOf(m, j.device) { // the item is of a registration that is over
		j, err = e.newJob(ctx, newItem(id))
	}
	if err != nil {
		return nil, err
	}
	if j.device == nil {
		return nil, fleet.NotFoundf("there is no device %s", id)
	}
	j.entries, err = e.o.Store.BaseEntries(ctx, id)
	return j, err
}

// Apply does what a plan says, on behalf of a person who saw it: consent names held changes that may go out this once,
// keep names changes that would return to base and must not: what is there becomes the base. It answers when the
// daemon was read back, with what was done and with what the plan still asks for, which may be something consented to
// that has to wait for something else; conflict when the plan is another by now.
func (e *Engine) Apply(
	ctx context.Context, id fleet.DeviceID, digest string, consent, keep []string,
) (done, waiting []plan.Change, err error) {
	r := &request{by: fleet.ActorOf(ctx), digest: digest, consent: consent, keep: keep}
	answered, err := e.await(ctx, id, r)
	if !answered {
		return nil, nil, err
	}
	return r.sent, r.waiting, err
}

// await queues a request and waits for its answer. answered is false when ctx ended before it: a worker may still
// write to the request then.
func (e *Engine) await(ctx context.Context, id fleet.DeviceID, r *request) (answered bool, err error) {
	registry, err := e.o.Store.Registry(ctx)
	if err != nil {
		return false, err
	}
	if registry.Devices[id] == nil {
		return false, fleet.NotFoundf("there is no device %s", id)
	}
	r.done = make(chan error, 1)
	e.mu.Lock()
	if !e.running {
		e.mu.Unlock()
		return false, &fleet.Error{Code: fleet.CodeUnavailable, Message: "Muster is not running yet, or shutting down"}
	}
	m := e.item(id)
	m.requests = append(m.requests, r)
	e.push(m)
	e.mu.Unlock()
	select {
	case err := <-r.done:
		return true, err
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// report says what came of a person's apply. What is not there in the plan that was read back was done.
func (j *job) report(r *request, consented func(plan.Change) bool) {
	if r == nil {
		return
	}
	r.waiting = slices.Clone(j.plan.Changes)
	for i := range r.waiting {
		switch c := &r.waiting[i]; {
		case c.Sendable():
			c.Reason = cmp.Or(c.Reason, j.findings().WhenSent())
		case c.Class == plan.Held && consented(*c):
			c.Reason += "; it was consented to and follows by itself"
		}
	}
	for _, c := range j.sent {
		at := func(d plan.Change) bool { return d.Class != plan.Skipped && d.Key.Equal(c.Key) }
		if !slices.ContainsFunc(j.plan.Changes, at) && !slices.ContainsFunc(r.sent, at) {
			r.sent = append(r.sent, c)
		}
	}
	room := plan.MaxReported
	r.sent, r.waiting = plan.ForReport(r.sent, &room), plan.ForReport(r.waiting, &room)
}
