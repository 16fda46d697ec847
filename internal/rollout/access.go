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
	if len(before) < 2 || len(before) > atOnce {
		return false // of one device there is none to go first; many are a rollout anyway
	}
	facts := sync.OnceValue(func() *template.Fleet { return r.factsOf(registry) })
	for id, was := range before {
		for _, t := range different(was, r.catalog.of(id)) {
			key, err := stconfig.ParseKey(t.Key)
			if err != nil || !plan.MayMoveAccess(key) {
				continue
			}
			made, err := r.o.Evaluator.Evaluate(ctx, t.Text, template.Input{Device: facts().Of(id), Fleet: facts()})
			if err != nil || plan.SetsAccess(key, made.Value) {
				return true
			}
		}
	}
	return false
}

// different are the templates that are in one of two lists only.
func different(a, b []fleet.Template) []fleet.Template {
	only := func(list, other []fleet.Template) []fleet.Template {
		return slices.DeleteFunc(slices.Clone(list), func(t fleet.Template) bool {
			return slices.ContainsFunc(other, func(u fleet.Template) bool { return sameTemplate(t, u) })
		})
	}
	return append(only(a, b), only(b, a)...)
}
