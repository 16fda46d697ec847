package reconcile

import (
	"context"
	"errors"

	"muster/internal/fleet"
	"muster/internal/plan"
)

// State is how a device's configuration stands: Configuration, Since, Reason and Next; the rest is the mirror's.
func (e *Engine) State(id fleet.DeviceID) fleet.State {
	e.mu.Lock()
	m := e.machines[id]
	e.mu.Unlock()
	if m == nil {
		return fleet.State{Configuration: fleet.ConfigUnknown, Reason: "the device was not looked at yet", Next: "It is looked at shortly."}
	}
	m.mem.mu.Lock()
	defer m.mem.mu.Unlock()
	if m.mem.condition.Configuration == "" {
		return fleet.State{Configuration: fleet.ConfigUnknown, Reason: "the device was not looked at yet", Next: "It is looked at shortly."}
	}
	return m.mem.condition
}

// Plan is what would be changed on a device now. Nothing is sent; ignore patterns that templates name are read.
func (e *Engine) Plan(ctx context.Context, id fleet.DeviceID) (plan.Plan, error) {
	j, err := e.ask(ctx, id)
	if err != nil {
		return plan.Plan{}, err
	}
	return j.plan, nil
}

// ask makes a job for a reader, who leaves no trace.
func (e *Engine) ask(ctx context.Context, id fleet.DeviceID) (*job, error) {
	e.mu.Lock()
	m := e.machines[id]
	e.mu.Unlock()
	if m == nil {
		m = newMachine(id)
	}
	j, err := e.newJob(ctx, m)
	if err != nil {
		return nil, err
	}
	if j.device == nil {
		return nil, fleet.NotFoundf("there is no device %s", id)
	}
	if j.entries, err = e.o.Store.BaseEntries(ctx, id); err != nil {
		return nil, err
	}
	err = e.observe(ctx, j)
	if errors.Is(err, errNothingSeen) && j.known.Online {
		err = e.read(ctx, j) // the mirror has it, and writes it behind
	}
	if errors.Is(err, errNothingSeen) {
		return nil, fleet.NotFoundf("the configuration of this device was never read, so there is no plan")
	} else if err != nil {
		return nil, err
	}
	return j, e.think(ctx, j, j.known.Online)
}

// Apply does what a plan says, on behalf of a person who saw it: consent names held changes that may go out this once,
// keep names changes that would return to base and must not: what is there becomes the base. It answers when the
// daemon was read back; conflict when the plan is another by now.
func (e *Engine) Apply(ctx context.Context, id fleet.DeviceID, digest string, consent, keep []string) error {
	registry, err := e.o.Store.Registry(ctx)
	if err != nil {
		return err
	}
	if registry.Devices[id] == nil {
		return fleet.NotFoundf("there is no device %s", id)
	}
	r := &request{digest: digest, consent: consent, keep: keep, done: make(chan error, 1)}
	e.mu.Lock()
	if !e.running {
		e.mu.Unlock()
		return &fleet.Error{Code: fleet.CodeUnavailable, Message: "Muster is not running yet, or shutting down"}
	}
	m := e.machine(id)
	m.requests = append(m.requests, r)
	e.push(m)
	e.mu.Unlock()
	select {
	case err := <-r.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
