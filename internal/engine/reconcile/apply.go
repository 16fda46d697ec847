package reconcile

import (
	"context"

	"muster/internal/core/plan"
	"muster/internal/fleet"
)

// Apply carries out the plan with this digest, on behalf of a person who saw that plan. It returns conflict when the
// plan has changed since.
//
// answers holds the person's answers by key. A held change with a consent is sent this once; one with a chosen value
// is sent with that value. The answer keep is for a change that would return a key to its base: the change is not
// sent, and the present value becomes the base.
//
// Apply returns once the daemon was read back. done lists the changes that were made. waiting lists the changes that
// the plan still has; an answered change is among them while it has to wait for another change.
func (e *Engine) Apply(
	ctx context.Context, id fleet.DeviceID, digest string, answers map[string]fleet.Answer,
) (done, waiting []plan.Change, err error) {
	r := &request{by: fleet.ActorOf(ctx), digest: digest, answers: answers}
	answered, err := e.await(ctx, id, r)
	if !answered {
		return nil, nil, err
	}
	return r.sent, r.waiting, err
}

// await queues a request and waits until a worker has answered it. answered is false when ctx ended first; then a
// worker may still write to r, so the caller must not read r.
func (e *Engine) await(ctx context.Context, id fleet.DeviceID, r *request) (answered bool, err error) {
	registry, err := e.o.Store.Registry(ctx)
	if err != nil {
		return false, err
	}
	if registry.Devices[id] == nil {
		return false, fleet.NotFoundf("there is no device %s", id)
	}
	r.done = make(chan error, 1)
	if err := e.queue.addRequest(id, r); err != nil {
		return false, err
	}
	select {
	case err := <-r.done:
		return true, err
	case <-ctx.Done():
		return false, ctx.Err()
	}
}
