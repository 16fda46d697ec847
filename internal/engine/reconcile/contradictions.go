package reconcile

import (
	"context"
	"slices"

	"muster/internal/core/desired"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
	"muster/internal/logkey"
)

// Contradictions returns a sentence for each key for which template t and another template ask for different values.
// The sentence names the template that wins. Contradictions examines only one device, an example that carries a tag of
// t.
func (e *Engine) Contradictions(ctx context.Context, t fleet.TaggedTemplate) []string {
	registry, err := e.o.Store.Registry(ctx)
	if err != nil {
		e.log.Warn("not known whether templates contradict each other", logkey.Err(err))
		return nil
	}
	device := e.example(registry, t.Tags)
	if !sharesPlace(registry, device, t) {
		return nil
	}
	var texts []string
	err = e.o.Memory.Do(ctx, func(ctx context.Context) error {
		x := evaluating{Engine: e, t: t.Template, secrets: e.newSecrets(ctx)}
		if err := x.over(ctx, device); err != nil {
			return err
		}
		if !x.hasDevice {
			return nil
		}
		r, err := desired.Fold(x.folding(ctx, x.all))
		texts = r.ConflictsOf(t.ID)
		return err
	})
	if err != nil { // If a template is to blame, the state of its devices says so.
		e.log.Info("not known whether templates contradict each other", logkey.Device, device, logkey.Err(err))
		return nil
	}
	return texts
}

// sharesPlace reports whether template t applies to the device together with another template that may set the same
// key.
func sharesPlace(registry *fleet.Registry, id fleet.DeviceID, t fleet.TaggedTemplate) bool {
	device := registry.Devices[id]
	carries := func(tag fleet.Tag) bool { return slices.Contains(device.Tags, tag) }
	if device == nil || !slices.ContainsFunc(t.Tags, carries) {
		return false
	}
	key, err := stconfig.ParseKey(t.Key)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(registry.TemplatesOf(id), func(other fleet.Template) bool {
		place, err := stconfig.ParseKey(other.Key)
		return err == nil && other.ID != t.ID && desired.Meet(key, place)
	})
}
