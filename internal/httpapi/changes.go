package httpapi

import (
	"context"
	"net/http"
	"reflect"
	"slices"

	"muster/api"
	"muster/internal/auth"
	"muster/internal/fleet"
)

// Edits makes all changes of an edit at once. When templates or tags were changed since the generation that it is based
// on, it answers precondition.
type Edits interface {
	ApplyEdit(ctx context.Context, edit fleet.Edit, based int64) (fleet.Applied, error)
	// ApplyAdjustment brings the fleet to what files say, all of it or nothing. It answers precondition when something
	// that it changes was changed since it was compared with a generation.
	ApplyAdjustment(ctx context.Context, a fleet.Adjustment, based int64) (fleet.Applied, error)
	// ForgetSource gives a source of files up; its templates stay.
	ForgetSource(ctx context.Context, name string) error
}

// maxEditAttempts bounds how often changes without a generation are checked anew because another one came in between.
const maxEditAttempts = 5

func (s *server) changeRoutes() []route {
	return []route{
		{method: http.MethodPost, path: Prefix + "/changes", name: "applyChanges",
			summary: "Change templates, tags and vars, all in one generation and one rollout; the body is that of a what-if " +
				"plan. Changes of templates and vars need the role author",
			permission: auth.WriteTags, body: reflect.TypeFor[api.ApplyChanges](), reply: reflect.TypeFor[api.AppliedChanges](),
			volatile: true, based: true, handle: s.applyChanges},
	}
}

func (s *server) applyChanges(r *request) (reply, error) {
	body, err := decode[api.ApplyChanges](r)
	if err != nil {
		return reply{}, err
	}
	if needed := auth.WriteTemplates; body.Templates != nil && len(body.Templates.Deleted) > 0 && !r.who.May(needed) {
		return reply{}, roleMissing(r.who, needed, "may not delete templates")
	}
	if err := r.mayChange(body.WhatIf); err != nil {
		return reply{}, err
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
	return show(out)
}

// mayChange keeps callers with a scope to the tags of devices: templates are for all.
func (r *request) mayChange(body api.WhatIf) error {
	if r.who.Scope.Whole() {
		return nil
	}
	ofTemplate := func(tag api.WhatIfTag) bool { return tag.Template != nil }
	tags := or(body.Tags, api.WhatIfTags{})
	if body.Templates != nil || body.Vars != nil || slices.ContainsFunc(tags.Added, ofTemplate) ||
		slices.ContainsFunc(tags.Removed, ofTemplate) {
		return outOfScope("templates and vars are for the whole fleet, and this token is for " + scopeName(r.who.Scope) +
			" only")
	}
	return nil
}

// tryChanges reads the body against the present templates, because what it leaves out of one stays, and makes the
// changes only while those are the present ones.
func (s *server) tryChanges(r *request, body api.ApplyChanges) (edit fleet.Edit, done fleet.Applied, err error) {
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
		return edit, done, err
	}
	done, err = s.Edits.ApplyEdit(r.Context(), edit, or(body.Generation, now.Generation))
	return edit, done, err
}
