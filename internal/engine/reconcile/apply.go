package reconcile

import (
	"context"

	"muster/internal/core/plan"
	"muster/internal/fleet"
)

// Apply carries out the plan with this digest, on behalf of a person who saw that plan. It is conflict when the plan
// has changed since. answers has, by key, what the person answers: a held change may be sent this once, is sent with a
// value that the person chose, or, where it would return to base, must not be sent, and the present value becomes the
// base. Apply returns once the daemon was read back. done are the changes that were made. waiting are the changes that
// the plan still has, among them perhaps a change consented to that has to wait for another change.
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

// await queues a request and waits until a worker has answered it. answered is false when ctx ended before: then a
// worker may still write to r.
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
