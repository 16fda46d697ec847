package rollout

import (
	"context"

	"muster/internal/core/desired"
	"muster/internal/core/template"
	"muster/internal/fleet"
)

// compare compares two registries. A program that cannot be evaluated counts as different, so that the change is
// rolled out.
func (r *Runner) compare(ctx context.Context, a, b *fleet.Registry) *desired.Comparison {
	return desired.Compare(desired.FleetOf(a, r.o.Fleet.Version), desired.FleetOf(b, r.o.Fleet.Version),
		func(text string, in template.Input) (template.Result, error) {
			return r.o.Evaluator.Evaluate(ctx, text, in)
		})
}
