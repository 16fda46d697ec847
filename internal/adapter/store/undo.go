package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"

	"muster/internal/fleet"
)

// undo undoes the generations that a rollout carries. Each template, tag and set of vars that they changed becomes
// what it was before the first of these generations; other changes stay. If the rollout has ended and a later
// generation changed one of them again, that is a conflict error. The writes of the rollout engine that belong to the
// undo are in the same transaction. If they were computed for another generation, undo returns a precondition error.
func (e *editing) undo() error {
	if e.Undo == nil {
		return nil
	}
	rollout := e.Undo.Rollout
	if !rollout.EndedAt.IsZero() {
		if err := e.checkUnchanged(rollout.Carries); err != nil {
			return err
		}
	}
	err := e.inGeneration(func(now int64) error { return e.takeBack(rollout.Carries, now) })
	if err != nil || e.basis.Trial {
		return err
	}
	if e.generation != e.Undo.Write.Settled.Generation {
		return fleet.ChangedMeanwhile(nil)
	}
	e.done.Rollouts, err = e.putRollouts(e.Undo.Write, e.pasts)
	return err
}

// MadeBy returns who made these generations, in the order of generations. The person is not known where Muster did not
// write the row of the generation.
func (s *Store) MadeBy(ctx context.Context, generations []int64) (makers []fleet.Maker, err error) {
	scan := believing(s, generationRows, func(row scanner) (m fleet.Maker, err error) {
		var at sql.NullInt64
		err = row.Scan(&m.Name, &m.Person, &at)
		m.At = fromMillis(at)
		return m, err
	})
	for _, number := range generations {
		rows, err := collect(ctx, pool{s.reads}, scan, `SELECT made_by, made_by_person, created_at, `+
			generationRows.columns("")+` FROM generations WHERE number = $1`, number)
		if err != nil {
			return nil, failure("read generations", err)
		}
		maker := fleet.Maker{Generation: number}
		for _, row := range rows {
			maker.Name, maker.At = row.value.Name, row.value.At
			if row.believed {
				maker.Person = row.value.Person
			}
		}
		makers = append(makers, maker)
	}
	return makers, nil
}

// checkUnchanged returns a conflict error if something that these generations changed was changed again by a later
// generation.
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

// takeBack undoes the changes of these generations. Templates that they deleted are restored before their tags, and
// templates that they added are deleted after their tags. now is the generation that the undo makes.
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
		current, err := t.template(id)
		if fleet.CodeOf(err) == fleet.CodeNotFound {
			continue // The template was deleted meanwhile.
		}
		if err == nil {
			err = t.dropTemplate(current, now)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// firstChange says which of several generations was the first to change something. id is the ID or name of the
// template, device or tag. tag is the tag on it that changed, or "" if the thing itself or its vars changed.
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

// templateBack undoes the changes of a template. first is the first generation that is undone: the template gets the
// content that it had just before. If it did not exist then, stays is false, and the caller deletes it. now is the
// generation that the undo makes.
func (t *tx) templateBack(id, first, now int64) (stays bool, err error) {
	const latest = ` WHERE template_id = $1 AND generation < $2 ORDER BY generation DESC LIMIT 1`
	past, err := t.store.scanPastTemplate(t.row(selectPastTemplates+latest, id, first))
	if absent(err) || err == nil && past.deleted {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	was := past.Template
	current, err := t.template(id)
	if err == nil {
		was.CreatedAt, was.UpdatedAt = current.CreatedAt, t.after(current.UpdatedAt)
		if sameTemplate(current, was) {
			return true, nil
		}
	}
	if past.forged {
		return false, forgedHistory("templates")
	}
	switch {
	case fleet.CodeOf(err) == fleet.CodeNotFound:
		was.UpdatedAt = t.now
		err = t.exec(`INSERT INTO templates (id, `+templateColumns+`) `+t.store.dialect.givenID()+`
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
			id, was.Label, was.Priority, string(was.Op), was.Key,
			t.store.sealTemplate(was), was.Reads.Text(), was.SavedBy, string(was.SavedRole),
			millis(was.CreatedAt), millis(was.UpdatedAt))
		if err == nil {
			err = t.mark(templateRows, id)
		}
	case err == nil:
		err = t.updateTemplate(was)
	}
	if err != nil {
		return false, err
	}
	t.record("template.restore", strconv.FormatInt(id, 10), was.Label)
	t.register(func(c *contents) {
		if c.templates[id] == nil {
			c.templates[id] = &fleet.TaggedTemplate{Tags: []fleet.Tag{}}
		}
		c.template(id, func(tagged *fleet.TaggedTemplate) { *tagged = tagged.Saved(was) })
	})
	return true, t.rememberAt(now, was, false)
}

// tagsBack gives devices or templates the tags that they had before these generations. gone are templates that the
// caller deletes; tagsBack leaves them alone. now is the generation that the undo makes.
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
				continue // The template's tags are deleted with it.
			}
			id = number
		}
		carried := func(row scanner) (was bool, err error) { return was, row.Scan(&was) }
		was, err := believing(t.store, of.past, carried)(t.row(`SELECT carried, `+of.past.columns("")+` FROM `+of.history+`
			WHERE `+of.column+` = $1 AND tag = $2 AND generation < $3 ORDER BY generation DESC LIMIT 1`, id, f.tag,
			f.generation))
		if err != nil && !absent(err) {
			return err
		}
		if err == nil && !was.believed {
			return forgedHistory("tags")
		}
		if err := t.tagBack(of, id, f.id, fleet.Tag(f.tag), was.value, now); err != nil {
			return err
		}
	}
	return nil
}

// forgedHistory is the error for an undo that would bring back what another program wrote into the history.
func forgedHistory(of string) error {
	return &fleet.Error{Code: fleet.CodeConflict, Message: "the history of " + of + " is not as Muster wrote it",
		Hint: "Change the " + of + " to what they should be; `muster audit verify` shows what was changed."}
}

func (t *tx) tagBack(of carriers, id any, name string, tag fleet.Tag, carried bool, now int64) error {
	var there int
	owner := map[string]string{deviceTags.table: "devices", templateTags.table: "templates"}[of.table]
	if err := t.row(`SELECT COUNT(*) FROM `+owner+` WHERE id = $1`, id).Scan(&there); err != nil || there == 0 {
		return err
	}
	before, _, err := t.tagsOf(of, id)
	if err != nil || slices.Contains(before, tag) == carried {
		return err
	}
	_, err = t.putTag(tagging{of, id, name, tag, carried}, before, now)
	return err
}
