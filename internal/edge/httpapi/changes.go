package httpapi

import (
	"context"
	"errors"
	"net/http"
	"reflect"

	"muster/api"
	"muster/internal/edge/auth"
	"muster/internal/fleet"
)

// Changes changes the fleet; see change.Changes. When the basis of an edit is outdated, its error has the code
// precondition.
type Changes interface {
	Apply(ctx context.Context, edit fleet.Edit, basis fleet.Basis) (fleet.Applied, error)
}

// change makes an edit. check is called in its transaction, and may be nil.
func (s *base) change(r *request, edit fleet.Edit, check func(fleet.Found) error) (fleet.Applied, error) {
	return s.Changes.Apply(r.Context(), edit, fleet.Basis{Check: check})
}

// maxEditAttempts is how often changes without a generation are checked again when another change was made meanwhile.
const maxEditAttempts = 5

func (s PlanningHandlers) changeRoutes() []route {
	return []route{
		{
			method: http.MethodPost,
			path:   Prefix + "/changes",
			name:   "applyChanges",
			summary: "Change templates, tags, vars and revocations, all in one generation and one rollout; the body is that " +
				"of a what-if plan. Changes of templates and vars need the role author, revocations the role admin",
			permission: auth.WriteTags,
			body:       reflect.TypeFor[api.ApplyChanges](),
			reply:      reflect.TypeFor[api.AppliedChanges](),
			volatile:   true,
			based:      true,
			conflicts:  true,
			handle:     s.applyChanges,
		},
	}
}

func (s PlanningHandlers) applyChanges(r *request) (reply, error) {
	body, err := decode[api.ApplyChanges](r)
	if err != nil {
		return reply{}, err
	}
	if needed := auth.WriteTemplates; body.Templates != nil && len(body.Templates.Deleted) > 0 && !r.who.May(needed) {
		return reply{}, r.who.Lacks(needed, "may not delete templates")
	}
	edit, done, err := s.tryChanges(r, body)
	for range maxEditAttempts - 1 {
		if body.Generation != nil || fleet.CodeOf(err) != fleet.CodePrecondition {
			break
		}
		edit, done, err = s.tryChanges(r, body)
	}
	if err != nil {
		return reply{}, err
	}
	out := api.AppliedChanges{Generation: done.Generation, NewTemplates: []int64{},
		Warnings: s.warningsOf(r.Context(), edit)}
	for _, template := range done.New {
		out.NewTemplates = append(out.NewTemplates, template.ID)
	}
	out.Warnings = append(out.Warnings, s.editWarnings(r.Context(), edit, out.NewTemplates)...)
	return show(out)
}

// tryChanges completes the body from the current templates, because an absent field leaves the stored value. It makes
// the changes only if those templates are still current.
func (s PlanningHandlers) tryChanges(
	r *request,
	body api.ApplyChanges,
) (edit fleet.Edit, done fleet.Applied, err error) {
	now, err := s.Registry.Registry(r.Context())
	if err != nil {
		return edit, done, err
	}
	if edit, err = s.readEdit(r, now, body.WhatIf); err != nil {
		return edit, done, err
	}
	if err := edit.Check(); err != nil {
		return edit, done, err
	}
	if _, _, err := now.Edited(edit); err != nil {
		return edit, done, unknownInBody(err)
	}
	based := or(body.Generation, now.Generation)
	done, err = s.Changes.Apply(r.Context(), edit, fleet.Basis{Generation: &based,
		RefuseFailing: !body.AllowFailing})
	return edit, done, unknownInBody(err)
}

// unknownInBody turns a not_found error about something that a body names into an error of the body.
func unknownInBody(err error) error {
	var unknown *fleet.Error
	if fleet.CodeOf(err) != fleet.CodeNotFound || !errors.As(err, &unknown) {
		return err
	}
	invalid := *unknown
	invalid.Code = fleet.CodeInvalid
	return &invalid
}
