package rollout

import (
	"context"
	"slices"
	"sync"

	"muster/internal/fleet"
	"muster/internal/plan"
	"muster/internal/stconfig"
	"muster/internal/template"
)

// changesAccess tells whether a change is about how the API of some devices is reached: their changed templates are
// evaluated. What cannot be evaluated counts, where its key leaves that open: then the change takes the careful way.
func (r *Runner) changesAccess(ctx context.Context, registry *fleet.Registry,
	before map[fleet.DeviceID][]fleet.Template) bool {
	changed := map[fleet.DeviceID][]fleet.Template{}
	for id, was := range before {
		changed[id] = different(was, r.catalog.of(id))
	}
	return r.moveAccess(ctx, registry, changed)
}

// readersChangeAccess is changesAccess for devices whose templates read something else of the fleet.
func (r *Runner) readersChangeAccess(ctx context.Context, registry *fleet.Registry,
	touched map[fleet.DeviceID]bool) bool {
	reading := map[fleet.DeviceID][]fleet.Template{}
	for id := range touched {
		reading[id] = slices.DeleteFunc(r.catalog.of(id), func(t fleet.Template) bool { return !readsFleet(t) })
	}
	return r.moveAccess(ctx, registry, reading)
}

// foreseesAccess is changesAccess for a change from one registry to another that was not made yet. Where no template of
// a device differs, those do that read something else of the fleet.
func (r *Runner) foreseesAccess(ctx context.Context, now, then *fleet.Registry, touched []fleet.DeviceID) bool {
	changed := map[fleet.DeviceID][]fleet.Template{}
	for _, id := range touched {
		all := then.TemplatesOf(id)
		if now.Devices[id] != nil {
			all = different(now.TemplatesOf(id), all)
		}
		if len(all) == 0 {
			all = slices.DeleteFunc(then.TemplatesOf(id), func(t fleet.Template) bool { return !readsFleet(t) })
		}
		changed[id] = all
	}
	return r.moveAccess(ctx, then, changed)
}

// moveAccess tells whether any of some templates of devices is about how their API is reached.
func (r *Runner) moveAccess(ctx context.Context, registry *fleet.Registry,
	templates map[fleet.DeviceID][]fleet.Template) bool {
	if len(templates) < 2 || len(templates) > atOnce {
		return false // of one device there is none to go first; many are a rollout anyway
	}
	facts := sync.OnceValue(func() side { return side{r.factsOf(registry), registry} })
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

// different are the templates that are in one of two lists only. One with another priority may win over another now.
func different(a, b []fleet.Template) []fleet.Template {
	only := func(list, other []fleet.Template) []fleet.Template {
		return slices.DeleteFunc(slices.Clone(list), func(t fleet.Template) bool {
			return slices.ContainsFunc(other, func(u fleet.Template) bool {
				return sameTemplate(t, u) && t.Priority == u.Priority
			})
		})
	}
	return append(only(a, b), only(b, a)...)
}
