package store

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"muster/internal/fleet"
)

// Difference returns what these generations changed together. For templates and vars, Before is the content before the
// first of the generations that changed it, and After is the content after the last. For tags, Carried reports whether
// the device or template has the tag after the last. A template of which only tags changed has the same Before and
// After.
func (s *Store) Difference(ctx context.Context, generations []int64) (d fleet.Difference, err error) {
	templates, tags := map[int64]*fleet.TemplateDifference{}, map[fleet.TagDifference]bool{}
	vars := map[fleet.VarsOwner]*fleet.VarsDifference{}
	for _, g := range generations {
		change := fleet.GenerationChange{Number: g}
		at := func(int64) *fleet.GenerationChange { return &change }
		if err := s.changedTemplates(ctx, g-1, g, at); err != nil {
			return d, failure("read history", err)
		}
		if err := s.changedTags(ctx, g-1, g, at); err != nil {
			return d, failure("read history", err)
		}
		if err := s.changedVars(ctx, g-1, g, at); err != nil {
			return d, failure("read history", err)
		}
		for _, c := range change.Vars {
			if err := s.addVars(ctx, vars, c, g); err != nil {
				return d, failure("read history", err)
			}
		}
		for _, c := range change.Templates {
			if err := s.addDifference(ctx, templates, c, g); err != nil {
				return d, failure("read history", err)
			}
		}
		for _, c := range change.DeviceTags {
			tags[fleet.TagDifference{Tag: c.Tag, Device: c.Device}] = c.Carried
		}
		for _, c := range change.TemplateTags {
			if err := s.addTagged(ctx, templates, c.Template, g); err != nil {
				return d, failure("read history", err)
			}
			tags[fleet.TagDifference{Tag: c.Tag, Template: c.Template}] = c.Carried
		}
	}
	for _, id := range slices.Sorted(maps.Keys(templates)) {
		d.Templates = append(d.Templates, *templates[id])
	}
	d.Vars = sortedVars(vars)
	for t, carried := range tags {
		t.Carried = carried
		d.Tags = append(d.Tags, t)
	}
	slices.SortFunc(d.Tags, func(a, b fleet.TagDifference) int {
		return cmp.Or(cmp.Compare(a.Tag, b.Tag), cmp.Compare(a.Template, b.Template), cmp.Compare(a.Device, b.Device))
	})
	return d, nil
}

func (s *Store) addDifference(ctx context.Context, all map[int64]*fleet.TemplateDifference, c fleet.TemplateChange,
	generation int64) error {
	id := c.Template.ID
	d := all[id]
	if d == nil {
		d = &fleet.TemplateDifference{ID: id}
		all[id] = d
		var err error
		if d.Before, err = s.templateAt(ctx, id, generation-1); err != nil {
			return err
		}
	}
	d.Label, d.After = c.Template.Label, nil
	if !c.Deleted {
		d.After = &c.Template
	}
	return nil
}

func (s *Store) addVars(ctx context.Context, all map[fleet.VarsOwner]*fleet.VarsDifference, c fleet.VarsChange,
	generation int64) error {
	d := all[c.VarsOwner]
	if d == nil {
		d = &fleet.VarsDifference{VarsOwner: c.VarsOwner}
		all[c.VarsOwner] = d
		of, name := varsTablesOf(c.VarsOwner)
		was, err := collect(ctx, pool{s.reads}, s.scanPastVars(of), of.selectPast()+`WHERE `+of.column+` = $1
			AND generation < $2 ORDER BY generation DESC LIMIT 1`, name, generation)
		if err != nil {
			return err
		}
		if len(was) == 1 {
			d.Before = was[0].Vars
		}
	}
	d.After = c.Vars
	return nil
}

// sortedVars sorts the differences by tag and device. It leaves out vars that are again what they were before.
func sortedVars(all map[fleet.VarsOwner]*fleet.VarsDifference) (sorted []fleet.VarsDifference) {
	for _, d := range all {
		if d.Before != d.After {
			sorted = append(sorted, *d)
		}
	}
	slices.SortFunc(sorted, func(a, b fleet.VarsDifference) int {
		return cmp.Or(cmp.Compare(a.Tag, b.Tag), cmp.Compare(a.Device, b.Device))
	})
	return sorted
}

func (s *Store) addTagged(ctx context.Context, all map[int64]*fleet.TemplateDifference, id, generation int64) error {
	if all[id] != nil {
		return nil
	}
	is, err := s.templateAt(ctx, id, generation)
	if is != nil {
		all[id] = &fleet.TemplateDifference{ID: id, Label: is.Label, Before: is, After: is}
	}
	return err
}

// templateAt returns a template as it was in a generation, or nil if it did not exist then.
func (s *Store) templateAt(ctx context.Context, id, generation int64) (*fleet.Template, error) {
	found, err := collect(ctx, pool{s.reads}, s.scanPastTemplate, selectPastTemplates+`
		WHERE template_id = $1 AND NOT deleted AND generation = (
			SELECT MAX(generation) FROM template_history WHERE template_id = $1 AND generation <= $2)`, id, generation)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0].Template, nil
}
