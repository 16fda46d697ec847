package reconcile

import (
	"context"
	"errors"
	"maps"
	"slices"

	"muster/internal/core/desired"
	"muster/internal/core/plan"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// Plan returns what Muster would change on a device now. It sends nothing, but reads the ignore patterns of the
// folders for which templates set patterns.
func (e *Engine) Plan(ctx context.Context, id fleet.DeviceID) (plan.Plan, error) {
	now, err := e.planForReader(ctx, id)
	if err != nil {
		return plan.Plan{}, err
	}
	return now.plan, nil
}

// Why explains where the value of a key on a device comes from, at the generation to which the device is admitted. It
// sends nothing, but may read ignore patterns as Plan does. It returns not_found if the device's configuration was
// never read.
func (e *Engine) Why(ctx context.Context, id fleet.DeviceID, key stconfig.Key) (desired.Explanation, error) {
	now, err := e.planForReader(ctx, id)
	if err != nil {
		return desired.Explanation{}, err
	}
	secrets := e.newSecrets(ctx)
	from := e.foldInput(ctx, now.input, secrets)
	from.Observed = now.result.Observed() // with the ignore patterns
	explained, err := desired.Explain(from, key)
	if err == nil {
		err = secrets.err
	}
	return explained, err
}

// Managed returns the keys of a device's configuration that templates manage, at the generation to which the device is
// admitted. It sends nothing, and returns not_found if the device's configuration was never read.
func (e *Engine) Managed(ctx context.Context, id fleet.DeviceID) ([]desired.Managed, error) {
	now, err := e.planForReader(ctx, id)
	if err != nil {
		return nil, err
	}
	return now.result.Managed(), nil
}

// TemplatesOf returns the templates that apply to a device, in the order of the fold, and the tags of the device.
// Both are those of the generation to which the device is admitted.
func (e *Engine) TemplatesOf(ctx context.Context, id fleet.DeviceID) ([]fleet.TaggedTemplate, []fleet.Tag, error) {
	in, err := e.inputNow(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	device := in.admitted.registry.Devices[id]
	if device == nil { // The device was registered after that generation.
		return nil, nil, nil
	}
	return in.admitted.registry.TaggedTemplatesOf(id), device.Tags, nil
}

// planForReader makes the plan that answers a person's question, and stores nothing. It queues the device if it finds
// another configuration or other ignore patterns than were read last: the mirror does not announce a document that was
// read only for a question.
func (e *Engine) planForReader(ctx context.Context, id fleet.DeviceID) (planned, error) {
	in, conn, err := e.inputOfReader(ctx, id)
	if err != nil {
		return planned{}, err
	}
	before := conn.history.lastRead()
	in, err = conn.newest(ctx, in, nil)
	if errors.Is(err, errNeverRead) && in.known.Online {
		in, err = conn.read(ctx, in) // The mirror has the document, and writes it to the store with a delay.
	}
	if conn.history.lastRead() != before {
		e.queue.add(id)
	}
	if errors.Is(err, errNeverRead) {
		return planned{}, fleet.NotFoundf("the configuration of this device was never read, so there is no plan")
	} else if err != nil {
		return planned{}, err
	}
	patterns := conn.history.lastIgnores()
	now, err := conn.plan(ctx, in, in.known.Online)
	if !maps.EqualFunc(patterns, conn.history.lastIgnores(), slices.Equal) {
		conn.history.forgetInputs()
		e.queue.add(id)
	}
	return now, err
}

// inputOfReader returns an input without a document, and a connection to read the document with. It returns not_found
// if the device is not registered.
func (e *Engine) inputOfReader(ctx context.Context, id fleet.DeviceID) (input, *connection, error) {
	in, err := e.inputNow(ctx, id)
	if err != nil {
		return in, nil, err
	}
	if in.device == nil {
		return in, nil, fleet.NotFoundf("there is no device %s", id)
	}
	m := e.queue.find(id)
	if m == nil || !e.queue.isOf(m, in.device.CreatedAt) { // no item, or one of an earlier registration
		m = newItem(id)
	}
	in.base, err = e.o.Store.BaseEntries(ctx, id)
	return in, &connection{Engine: e, id: id, history: &m.history}, err
}
