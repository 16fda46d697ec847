package rollout

import (
	"context"
	"slices"

	"muster/internal/fleet"
)

// Foresee tells why the free changes of an accepted change from one registry to another would wait for consent, "" when
// they would not: it would touch more devices than the blast limit allows.
func (r *Runner) Foresee(ctx context.Context, now, then *fleet.Registry) string {
	if r.o.BlastLimit == (Limit{}) {
		return ""
	}
	touched, retagged := 0, false
	var same []fleet.DeviceID
	for id, d := range then.Devices {
		was := now.Devices[id]
		retagged = retagged || was == nil || !slices.Equal(was.Tags, d.Tags)
		if slices.Equal(versionsIn(now, id), versionsIn(then, id)) {
			same = append(same, id)
		} else {
			touched++
		}
	}
	if retagged { // programs may look at the tags of other devices
		compared := r.compare(now, then)
		for _, id := range same {
			var apply []fleet.Template
			for _, t := range then.TemplatesOf(id) {
				apply = append(apply, t.Template)
			}
			if compared.differs(ctx, id, apply) {
				touched++
			}
		}
	}
	if !r.o.BlastLimit.Exceeded(touched, len(then.Devices)) {
		return ""
	}
	return beyondLimit(touched, r.o.BlastLimit)
}
