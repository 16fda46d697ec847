package reconcile

import (
	"context"
	"slices"

	"muster/internal/fleet"
)

// responsible finds out, for one plan, whether an admin is responsible for what a template does on the device, or for
// the fact that it does not apply any more. It asks the store once for each template that no longer applies.
type responsible struct {
	*Engine
	in    input
	known map[int64]bool
	asOf  int64 // generation as of which the store was asked; 0 if it was not asked
	err   error // the first error of the store
}

func (e *Engine) newResponsible(in input) *responsible {
	return &responsible{Engine: e, in: in, known: map[int64]bool{}}
}

// byAdmin reports whether an admin is responsible for what a template does on the device, or for its end there. If the
// template ends only by a change of the registry whose effect is computed in advance, the role of the person who asks
// decides.
func (r *responsible) byAdmin(ctx context.Context, template int64) bool {
	if is, known := r.known[template]; known {
		return is
	}
	is := r.ask(ctx, template)
	r.known[template] = is
	return is
}

func (r *responsible) ask(ctx context.Context, template int64) bool {
	admitted := r.in.admitted.registry
	if t, applies := applying(admitted, r.in.id, template); applies {
		return t.SavedByAdmin()
	}
	if r.in.replaced != nil {
		if _, applies := applying(r.in.replaced, r.in.id, template); applies {
			return fleet.RoleOf(ctx) == fleet.RoleAdmin
		}
	}
	r.asOf = admitted.Generation
	role, err := r.o.Store.LetGoBy(ctx, r.in.id, template, r.asOf)
	if err != nil && r.err == nil {
		r.err = err
	}
	return role == fleet.RoleAdmin
}

// applying returns the template with this ID, if it applies to the device.
func applying(r *fleet.Registry, id fleet.DeviceID, template int64) (t fleet.Template, applies bool) {
	all := r.TemplatesOf(id)
	at := slices.IndexFunc(all, func(t fleet.Template) bool { return t.ID == template })
	if at < 0 {
		return t, false
	}
	return all[at], true
}
