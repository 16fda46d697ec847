package rollout

import (
	"context"
	"slices"
	"sync"

	"muster/internal/core/desired"
	"muster/internal/core/plan"
	"muster/internal/core/stconfig"
	"muster/internal/core/template"
	"muster/internal/fleet"
)

// changesAccess reports whether a change may alter how the API of some device is reached. before has the touched
// devices, each with its templates before the change. It evaluates the templates that changed. One that cannot be
// evaluated counts where its key lets it change that, so that the change is rolled out in waves.
func (r *Runner) changesAccess(ctx context.Context, registry *fleet.Registry,
	before map[fleet.DeviceID][]fleet.Template) bool {
	changed := map[fleet.DeviceID][]fleet.Template{}
	for id, was := range before {
		changed[id] = different(was, r.catalog.of(id))
	}
	return r.moveAccess(ctx, registry, changed)
}

// readersChangeAccess is changesAccess for devices whose templates give another value because something else in the
// fleet changed.
func (r *Runner) readersChangeAccess(ctx context.Context, registry *fleet.Registry,
	touched map[fleet.DeviceID]bool) bool {
	reading := map[fleet.DeviceID][]fleet.Template{}
	for id := range touched {
		reading[id] = slices.DeleteFunc(r.catalog.of(id), func(t fleet.Template) bool { return !desired.ReadsFleet(t) })
	}
	return r.moveAccess(ctx, registry, reading)
}

// foreseesAccess is changesAccess for a change that was not made yet, from registry now to registry then. Where the
// templates of a device are the same in both, it judges those that read other parts of the fleet.
func (r *Runner) foreseesAccess(ctx context.Context, now, then *fleet.Registry, touched []fleet.DeviceID) bool {
	changed := map[fleet.DeviceID][]fleet.Template{}
	for _, id := range touched {
		all := then.TemplatesOf(id)
		if now.Devices[id] != nil {
			all = different(now.TemplatesOf(id), all)
		}
		if len(all) == 0 {
			all = slices.DeleteFunc(then.TemplatesOf(id), func(t fleet.Template) bool { return !desired.ReadsFleet(t) })
		}
		changed[id] = all
	}
	return r.moveAccess(ctx, then, changed)
}

// moveAccess reports whether any of these templates, by device, changes how the API of its device is reached.
func (r *Runner) moveAccess(ctx context.Context, registry *fleet.Registry,
	templates map[fleet.DeviceID][]fleet.Template) bool {
	if len(templates) < 2 || len(templates) > atOnce {
		return false // One device alone cannot go first, and many are rolled out anyway.
	}
	facts := sync.OnceValue(func() desired.Fleet { return desired.FleetOf(registry, r.o.Fleet.Version) })
	for id, all := range templates {
		for _, t := range all {
			key, err := stconfig.ParseKey(t.Key)
			if err != nil || !plan.MayMoveAccess(key) {
				continue
			}
			made, err := r.o.Evaluator.Evaluate(ctx, t.Text, template.Input{Device: facts().Of(id), Fleet: facts().Fleet})
			if err != nil || plan.SetsAccess(key, made.Value) {
				return true
			}
		}
	}
	return false
}

// different returns the templates that only one of two lists has. A template whose priority changed is among them,
// because it may win over others now.
func different(a, b []fleet.Template) []fleet.Template {
	only := func(list, other []fleet.Template) []fleet.Template {
		return slices.DeleteFunc(slices.Clone(list), func(t fleet.Template) bool {
			return slices.ContainsFunc(other, func(u fleet.Template) bool {
				return desired.SameTemplate(t, u) && t.Priority == u.Priority
			})
		})
	}
	return append(only(a, b), only(b, a)...)
}
