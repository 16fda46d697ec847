package store

import (
	"context"
	"database/sql"
	"maps"
	"slices"
	"strconv"

	"muster/internal/fleet"
)

// makeGeneration makes the next generation. The numbers of generations have no gaps.
func (t *tx) makeGeneration(cause string) (number int64, err error) {
	err = t.row(`
		INSERT INTO generations (number, cause, made_by, made_role, created_at, made_by_person)
		SELECT COALESCE(MAX(number), 0) + 1, CAST($1 AS TEXT), CAST($2 AS TEXT), CAST($3 AS TEXT), CAST($4 AS BIGINT),
			CAST($5 AS TEXT)
		FROM generations
		RETURNING number`, cause, plainText(t.who), string(t.role), millis(t.now), plainText(t.person)).Scan(&number)
	if err == nil {
		err = t.mark(generationRows, number)
	}
	if err != nil {
		return 0, err
	}
	t.effects.committed.Generation = true
	t.register(func(c *contents) { c.generation = number })
	return number, nil
}

// GenerationChanges returns the generations from number after+1 on, in ascending order, each with what it changed.
func (s *Store) GenerationChanges(ctx context.Context, after int64) ([]fleet.GenerationChange, error) {
	changes, err := collect(ctx, pool{s.reads}, func(row scanner) (c fleet.GenerationChange, err error) {
		var at sql.NullInt64
		err = row.Scan(&c.Number, &c.Cause, &c.By, &at)
		c.At = fromMillis(at)
		return c, err
	}, `SELECT number, cause, made_by, created_at FROM generations WHERE number > $1 ORDER BY number`, after)
	if err != nil || len(changes) == 0 {
		return nil, failure("read generations", err)
	}
	last := changes[len(changes)-1].Number
	at := func(generation int64) *fleet.GenerationChange { return &changes[generation-after-1] } // numbers have no gaps
	for _, read := range []func() error{
		func() error { return s.changedTemplates(ctx, after, last, at) },
		func() error { return s.changedTags(ctx, after, last, at) },
		func() error { return s.changedVars(ctx, after, last, at) },
	} {
		if err := read(); err != nil {
			return nil, failure("read history", err)
		}
	}
	return changes, nil
}

func (s *Store) changedTemplates(ctx context.Context, after, last int64,
	at func(int64) *fleet.GenerationChange) error {
	_, err := collect(ctx, pool{s.reads}, func(row scanner) (none struct{}, err error) {
		past, err := s.scanPastTemplate(row)
		if err != nil {
			return none, err
		}
		change := fleet.TemplateChange{Template: past.Template, Deleted: past.deleted}
		at(past.generation).Templates = append(at(past.generation).Templates, change)
		return none, nil
	}, selectPastTemplates+`
		WHERE generation > $1 AND generation <= $2 ORDER BY generation, template_id`, after, last)
	return err
}

func (s *Store) changedTags(ctx context.Context, after, last int64, at func(int64) *fleet.GenerationChange) error {
	_, err := collect(ctx, pool{s.reads}, func(row scanner) (none struct{}, err error) {
		var generation int64
		var c fleet.DeviceTagChange
		err = row.Scan(&generation, (*string)(&c.Device), (*string)(&c.Tag), &c.Carried)
		if err != nil {
			return none, err
		}
		at(generation).DeviceTags = append(at(generation).DeviceTags, c)
		return none, nil
	}, `SELECT generation, device_id, tag, carried FROM device_tag_history
		WHERE generation > $1 AND generation <= $2 ORDER BY generation, device_id, tag`, after, last)
	if err != nil {
		return err
	}
	_, err = collect(ctx, pool{s.reads}, func(row scanner) (none struct{}, err error) {
		var generation int64
		var c fleet.TemplateTagChange
		err = row.Scan(&generation, &c.Template, (*string)(&c.Tag), &c.Carried)
		if err != nil {
			return none, err
		}
		at(generation).TemplateTags = append(at(generation).TemplateTags, c)
		return none, nil
	}, `SELECT generation, template_id, tag, carried FROM template_tag_history
		WHERE generation > $1 AND generation <= $2 ORDER BY generation, template_id, tag`, after, last)
	return err
}

// RegistryAt returns a registry with the templates, tags and vars of a past generation. Everything else in it, such as
// devices, settings, modes, folder roots and revocations, is as it is now. It returns a not-found error for a
// generation that does not exist.
func (s *Store) RegistryAt(ctx context.Context, generation int64) (*fleet.Registry, error) {
	now := s.model.current().registry
	if generation < 0 || generation > now.Generation {
		return nil, fleet.NotFoundf("there is no generation %d", generation)
	}
	past := contents{
		generation: generation,
		mode:       now.Mode,
		restored:   now.Restored,
		tagModes:   now.TagModes,
		tagQuiet:   now.TagQuiet,
		roots:      now.Roots,
		authorKeys: now.AuthorKeys,
		devices:    maps.Clone(now.Devices),
		templates:  map[int64]*fleet.TaggedTemplate{},

		revocations: now.Revocations,
	}
	for id := range past.devices {
		past.device(id, func(r *fleet.Registered) { r.Tags, r.Vars = []fleet.Tag{}, fleet.SavedVars{} })
	}
	if err := s.pastTemplates(ctx, &past); err != nil {
		return nil, failure("read history", err)
	}
	if err := s.pastTags(ctx, &past); err != nil {
		return nil, failure("read history", err)
	}
	if err := s.pastVars(ctx, &past); err != nil {
		return nil, failure("read history", err)
	}
	return newView(past).registry, nil
}

func (s *Store) pastTemplates(ctx context.Context, past *contents) error {
	templates, err := collect(ctx, pool{s.reads}, s.scanPastTemplate, selectPastTemplates+`
		WHERE NOT deleted AND generation = (
			SELECT MAX(generation) FROM template_history WHERE template_id = h.template_id AND generation <= $1)`,
		past.generation)
	for _, v := range templates {
		past.templates[v.ID] = &fleet.TaggedTemplate{Template: v.Template, Tags: []fleet.Tag{}}
	}
	return err
}

func (s *Store) pastTags(ctx context.Context, past *contents) error {
	latest := func(of carriers) string {
		return `SELECT ` + of.column + `, tag, ` + of.past.columns("h") + ` FROM ` + of.history + ` h
			WHERE carried AND generation = (
				SELECT MAX(generation) FROM ` + of.history + `
				WHERE ` + of.column + ` = h.` + of.column + ` AND tag = h.tag AND generation <= $1)`
	}
	carriedBy := func(row scanner) (c tagging, err error) { return c, row.Scan(&c.name, (*string)(&c.tag)) }
	ofDevices, err := collect(ctx, pool{s.reads}, believing(s, deviceTagHistoryRows, carriedBy), latest(deviceTags),
		past.generation)
	if err != nil {
		return err
	}
	for _, c := range ofDevices {
		past.device(fleet.DeviceID(c.value.name), func(r *fleet.Registered) { r.Tags = addTag(r.Tags, c.value.tag) })
		if !c.believed {
			doubtDevice(past, []string{c.value.name})
		}
	}
	ofTemplates, err := collect(ctx, pool{s.reads}, believing(s, templateTagHistoryRows, carriedBy), latest(templateTags),
		past.generation)
	for _, c := range ofTemplates {
		id, err := strconv.ParseInt(c.value.name, 10, 64)
		if err != nil {
			return err
		}
		past.template(id, func(v *fleet.TaggedTemplate) { v.Tags = addTag(v.Tags, c.value.tag) })
		if !c.believed {
			doubtTemplateTag(past, []string{c.value.name, string(c.value.tag)})
		}
	}
	return err
}

func (s *Store) loadGeneration(ctx context.Context, q querier, c *contents) error {
	numbers, err := collect(ctx, q, func(row scanner) (number int64, err error) {
		err = row.Scan(&number)
		return number, err
	}, `SELECT COALESCE(MAX(number), 0) FROM generations`)
	if err == nil {
		c.generation = slices.Max(numbers)
	}
	return err
}
