package reconcile

import (
	"context"

	"muster/internal/desired"
	"muster/internal/fleet"
	"muster/internal/stconfig"
)

// Why says where the value of a key comes from on a device, at the generation that the device is admitted to. Nothing
// is sent; ignore patterns that templates name are read. A device whose configuration was never read is not_found.
func (e *Engine) Why(ctx context.Context, id fleet.DeviceID, key stconfig.Key) (desired.Explanation, error) {
	j, err := e.ask(ctx, id)
	if err != nil {
		return desired.Explanation{}, err
	}
	secrets := e.newSecrets(ctx)
	in := e.foldInput(ctx, j, secrets)
	in.Observed = j.result.Observed() // with the ignore patterns
	explained, err := desired.Explain(in, key)
	if err == nil {
		err = secrets.err
	}
	return explained, err
}

// TemplatesOf are the templates that apply to a device at the generation that it is admitted to, in the order of the
// fold, and the tags that it has there.
func (e *Engine) TemplatesOf(ctx context.Context, id fleet.DeviceID) ([]fleet.TaggedTemplate, []fleet.Tag, error) {
	current, err := e.o.Store.Registry(ctx)
	if err != nil {
		return nil, nil, err
	}
	v, err := e.viewOf(ctx, id, current)
	if err != nil {
		return nil, nil, err
	}
	device := v.registry.Devices[id]
	if device == nil { // it was registered after that generation
		return nil, nil, nil
	}
	return v.registry.TaggedTemplatesOf(id), device.Tags, nil
}
