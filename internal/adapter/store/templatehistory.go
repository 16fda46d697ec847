package store

import (
	"context"
	"database/sql"

	"muster/internal/fleet"
)

// selectTemplateVersions selects the versions of templates. Each change of a template begins a version, which has the
// number of the generation with the change. made_by is the person who made that generation.
const selectTemplateVersions = `
	SELECT h.generation, h.label, h.priority, h.op, h.key, g.cause, g.made_by, g.created_at, h.saved_by, h.saved_role
	FROM template_history h JOIN generations g ON g.number = h.generation`

// TemplateHistory returns the versions of a template, newest first, without their texts.
func (s *Store) TemplateHistory(ctx context.Context, id int64) ([]fleet.TemplateVersion, error) {
	versions, err := collect(ctx, pool{s.reads}, scanVersionOfTemplate, selectTemplateVersions+`
		WHERE h.template_id = $1 AND NOT h.deleted ORDER BY h.generation DESC`, id)
	return versions, failure("read history of template", err)
}

// TemplateVersion returns the version of a template that this generation began, with its text. It returns a not-found
// error if the generation did not change the template.
func (s *Store) TemplateVersion(ctx context.Context, id, generation int64) (fleet.TemplateVersion, error) {
	q := pool{s.reads}
	const which = ` WHERE h.template_id = $1 AND h.generation = $2 AND NOT h.deleted`
	versions, err := collect(ctx, q, scanVersionOfTemplate, selectTemplateVersions+which, id, generation)
	if err != nil {
		return fleet.TemplateVersion{}, failure("read history of template", err)
	}
	past, err := collect(ctx, q, s.scanPastTemplate, selectPastTemplates+which, id, generation)
	if err != nil {
		return fleet.TemplateVersion{}, failure("read text of template", err)
	}
	if len(versions) == 0 || len(past) == 0 {
		return fleet.TemplateVersion{}, fleet.NotFoundf("template %d was not changed by generation %d", id, generation)
	}
	versions[0].Text = past[0].Text
	return versions[0], nil
}

func scanVersionOfTemplate(row scanner) (v fleet.TemplateVersion, err error) {
	var at sql.NullInt64
	err = row.Scan(&v.Generation, &v.Label, &v.Priority, (*string)(&v.Op), &v.Key, &v.Cause, &v.By, &at, &v.SavedBy,
		(*string)(&v.SavedRole))
	v.At = fromMillis(at)
	return v, err
}
