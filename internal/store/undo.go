package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"muster/internal/fleet"
)

// UndonePreview is the registry as it would be if UndoRollout took the rollout's changes back now. Nothing is kept.
func (s *Store) UndonePreview(ctx context.Context, r fleet.Rollout) (*fleet.Registry, error) {
	var preview *fleet.Registry
	_, err := write(ctx, s, "undo rollout", func(t *tx) (none struct{}, err error) {
		generation, err := t.undo(r)
		if err != nil {
			return none, err
		}
		s.model.look(func(now *contents) {
			if now.generation+1 == generation { // else another change is being committed
				then := now.inForce(s.model.overrides)
				then.devices, then.templates = maps.Clone(then.devices), maps.Clone(then.templates)
				for _, change := range t.effects.model {
					change(&then)
				}
				preview = newView(then).registry
			}
		})
		return none, changedMeanwhile
	})
	if preview != nil && errors.Is(err, changedMeanwhile) {
		return preview, nil
	}
	return nil, err
}

var changedMeanwhile = &fleet.Error{Code: fleet.CodePrecondition,
	Message: "templates, tags or vars were changed at the same moment",
	Hint:    "Ask again."}

// UndoRollout takes back, in a new generation, what the generations that the rollout carries changed: every template,
// every tag and all vars in them are again as before the first of them. Other changes stay. What follows for rollouts
// is written in the same transaction. It answers precondition when that was decided for another generation.
func (s *Store) UndoRollout(ctx context.Context, r fleet.Rollout, w fleet.RolloutWrite) (created []int64, err error) {
	pasts, err := s.pastsOf(ctx, w.Hold)
	if err != nil {
		return nil, err
	}
	return write(ctx, s, "undo rollout", func(t *tx) ([]int64, error) {
		generation, err := t.undo(r)
		if err != nil {
			return nil, err
		}
		if generation != w.Settled.Generation {
			return nil, changedMeanwhile
		}
		return t.putRollouts(w, pasts)
	})
}

func (t *tx) undo(r fleet.Rollout) (generation int64, err error) {
	if !r.EndedAt.IsZero() {
		if err := t.checkUnchanged(r.Carries); err != nil {
			return 0, err
		}
	}
	generation, err = t.generation(fmt.Sprintf("rollout %d undone: %s", r.ID, r.Cause))
	if err != nil {
		return 0, err
	}
	return generation, t.takeBack(r.Carries, generation)
}

// MadeBy are the people who made some generations, as far as that is known.
func (s *Store) MadeBy(ctx context.Context, generations []int64) (makers []string, err error) {
	for _, g := range generations {
		var by string
		if err := s.reads.QueryRowContext(ctx, `SELECT made_by FROM generations WHERE number = $1`,
			g).Scan(&by); err != nil {
			return nil, failure("read generations", err)
		}
		if by != "" && !slices.Contains(makers, by) {
			makers = append(makers, by)
		}
	}
	return makers, nil
}

// checkUnchanged answers conflict when something that these generations changed was changed again by another.
func (t *tx) checkUnchanged(generations []int64) error {
	for _, of := range []struct{ noun, table, columns, where string }{
		{"template", `template_history`, `CAST(template_id AS TEXT), ''`, `CAST(template_id AS TEXT) = $1 AND $2 = ''`},
		{"tag of template", templateTags.history, `CAST(template_id AS TEXT), tag`,
			`CAST(template_id AS TEXT) = $1 AND tag = $2`},
		{"tag of device", deviceTags.history, `device_id, tag`, `device_id = $1 AND tag = $2`},
		{"vars of device", deviceVars.history, `device_id, ''`, `device_id = $1 AND $2 = ''`},
		{"vars of tag", tagVars.history, `tag, ''`, `tag = $1 AND $2 = ''`},
	} {
		firsts, err := t.firstChanges(of.table, of.columns, generations)
		if err != nil {
			return err
		}
		for _, f := range firsts {
			var last int64
			if err := t.row(`SELECT MAX(generation) FROM `+of.table+` WHERE `+of.where, f.id, f.tag).Scan(&last); err != nil {
				return err
			}
			if !slices.Contains(generations, last) {
				return &fleet.Error{
					Code: fleet.CodeConflict, Message: fmt.Sprintf("%s %s was changed again since, in generation %d", of.noun, f.id,
						last),
					Hint: "Change the template or the tags to what they should be.",
				}
			}
		}
	}
	return nil
}

// takeBack goes through the changes of some generations. Templates that went come back before the tags on them, and
// those that came go after their tags.
func (t *tx) takeBack(generations []int64, now int64) error {
	firsts, err := t.firstChanges(`template_history`, `CAST(template_id AS TEXT), ''`, generations)
	if err != nil {
		return err
	}
	var gone []int64
	for _, f := range firsts {
		id, err := strconv.ParseInt(f.id, 10, 64)
		if err != nil {
			return err
		}
		stays, err := t.templateBack(id, f.generation, now)
		if err != nil {
			return err
		}
		if !stays {
			gone = append(gone, id)
		}
	}
	for _, of := range []carriers{templateTags, deviceTags} {
		if err := t.tagsBack(of, generations, now, gone); err != nil {
			return err
		}
	}
	for _, of := range []varsTables{deviceVars, tagVars} {
		if err := t.varsBack(of, generations, now); err != nil {
			return err
		}
	}
	for _, id := range gone {
		if err := t.dropTemplate(id, now); err != nil {
			return err
		}
	}
	return nil
}

// firstChange is the first of some generations in which a thing, or a tag on it, changed.
type firstChange struct {
	id, tag    string
	generation int64
}

func (t *tx) firstChanges(table, columns string, generations []int64) ([]firstChange, error) {
	found := map[[2]string]int64{}
	for _, g := range generations {
		rows, err := collect(t.ctx, t.session, func(row scanner) (f firstChange, err error) {
			return f, row.Scan(&f.id, &f.tag)
		}, `SELECT `+columns+` FROM `+table+` WHERE generation = $1`, g)
		if err != nil {
			return nil, err
		}
		for _, f := range rows {
			if first, ok := found[[2]string{f.id, f.tag}]; !ok || g < first {
				found[[2]string{f.id, f.tag}] = g
			}
		}
	}
	firsts := make([]firstChange, 0, len(found))
	for of, g := range found {
		firsts = append(firsts, firstChange{of[0], of[1], g})
	}
	slices.SortFunc(firsts, func(a, b firstChange) int {
		return slices.Compare([]string{a.id, a.tag}, []string{b.id, b.tag})
	})
	return firsts, nil
}

// templateBack makes a template what it was before a generation; stays is false for one that was not there, which is
// left for the caller to drop.
func (t *tx) templateBack(id, before, now int64) (stays bool, err error) {
	const latest = ` WHERE template_id = $1 AND generation < $2 ORDER BY generation DESC LIMIT 1`
	past, err := t.store.scanPastTemplate(t.row(selectPastTemplates+latest, id, before))
	if absent(err) || err == nil && past.deleted {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	was := past.Template
	current, err := t.store.scanTemplate(t.row(selectTemplates+` WHERE id = $1`, id))
	switch {
	case absent(err):
		was.UpdatedAt = t.now
		err = t.exec(`INSERT INTO templates (id, `+templateColumns+`) `+t.store.dialect.givenID()+`
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
			id, was.Label, was.Priority, string(was.Op), was.Key,
			t.store.sealTemplate(was), was.Reads.Text(), was.SavedBy, string(was.SavedRole),
			millis(was.CreatedAt), millis(was.UpdatedAt))
	case err == nil:
		was.CreatedAt, was.UpdatedAt = current.CreatedAt, t.after(current.UpdatedAt)
		if sameTemplate(current, was) {
			return true, nil
		}
		err = t.updateTemplate(was)
	}
	if err != nil {
		return false, err
	}
	t.record("template.restore", strconv.FormatInt(id, 10), was.Label)
	t.register(func(c *contents) {
		tagged := &fleet.TaggedTemplate{Template: was, Tags: []fleet.Tag{}}
		if there := c.templates[id]; there != nil {
			tagged.Tags = there.Tags
		}
		c.templates[id] = tagged
	})
	return true, t.rememberAt(now, was, false)
}

// tagsBack makes carried again what was carried before, on what is there.
func (t *tx) tagsBack(of carriers, generations []int64, now int64, gone []int64) error {
	firsts, err := t.firstChanges(of.history, `CAST(`+of.column+` AS TEXT), tag`, generations)
	if err != nil {
		return err
	}
	for _, f := range firsts {
		var id any = f.id
		if of == templateTags {
			number, err := strconv.ParseInt(f.id, 10, 64)
			if err != nil {
				return err
			}
			if slices.Contains(gone, number) {
				continue // its tags go with it
			}
			id = number
		}
		var was bool
		err := t.row(`SELECT carried FROM `+of.history+` WHERE `+of.column+` = $1 AND tag = $2 AND generation < $3
			ORDER BY generation DESC LIMIT 1`, id, f.tag, f.generation).Scan(&was)
		if err != nil && !absent(err) {
			return err
		}
		if err := t.tagBack(of, id, f.id, fleet.Tag(f.tag), was, now); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) tagBack(of carriers, id any, name string, tag fleet.Tag, carried bool, now int64) error {
	var there int
	owner := map[string]string{deviceTags.table: "devices", templateTags.table: "templates"}[of.table]
	if err := t.row(`SELECT COUNT(*) FROM `+owner+` WHERE id = $1`, id).Scan(&there); err != nil || there == 0 {
		return err
	}
	before, err := t.tagsOf(of, id)
	if err != nil || slices.Contains(before, tag) == carried {
		return err
	}
	_, err = t.setTag(tagging{of, id, name, tag, carried}, before, now)
	return err
}

func (t *tx) dropTemplate(id, now int64) error {
	current, err := t.store.scanTemplate(t.row(selectTemplates+` WHERE id = $1`, id))
	if absent(err) {
		return nil // deleted by now
	}
	if err != nil {
		return err
	}
	tags, err := t.tagsOf(templateTags, id)
	if err != nil {
		return err
	}
	if err := t.exec(`DELETE FROM templates WHERE id = $1`, id); err != nil {
		return err
	}
	t.record("template.delete", strconv.FormatInt(id, 10), current.Label)
	t.register(func(c *contents) { delete(c.templates, id) })
	if err := t.rememberAt(now, current, true); err != nil {
		return err
	}
	for _, tag := range tags {
		if err := t.rememberTag(templateTags, now, id, tag, false); err != nil {
			return err
		}
	}
	return nil
}
