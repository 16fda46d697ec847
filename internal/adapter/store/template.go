package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"

	"muster/internal/fleet"
)

func noTemplate(id int64) error { return fleet.NotFoundf("there is no template %d", id) }

// addTemplates stores the new templates of an edit. IDs only grow: an ID of a deleted template is never used again.
func (e *editing) addTemplates() error {
	for _, made := range e.New {
		v, err := e.insertTemplate(made.Template)
		if err != nil {
			return err
		}
		e.done.New = append(e.done.New, v)
		if err := e.inGeneration(func(now int64) error { return e.rememberAt(now, v, false) }); err != nil {
			return err
		}
		for _, tag := range made.Tags {
			if err := e.setTag(taggedTemplate(v.ID, tag, true)); err != nil {
				return err
			}
		}
	}
	return nil
}

// insertTemplate stores a new template and returns it with its ID. The caller makes the generation.
func (t *tx) insertTemplate(v fleet.Template) (fleet.Template, error) {
	if err := v.Validate(); err != nil {
		return v, err
	}
	v.CreatedAt, v.UpdatedAt = t.now, t.now
	err := t.row(`
		INSERT INTO templates (`+templateColumns+`)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) RETURNING id`,
		v.Label, v.Priority, string(v.Op), v.Key, []byte{}, v.Reads.Text(), v.SavedBy, string(v.SavedRole),
		millis(v.CreatedAt),
		millis(v.UpdatedAt)).
		Scan(&v.ID)
	if err != nil {
		return v, err
	}
	// The text is sealed for the row's ID, which exists only after the INSERT.
	if err := t.exec(`UPDATE templates SET text = $2 WHERE id = $1`, v.ID, t.store.sealTemplate(v)); err != nil {
		return v, err
	}
	if err := t.mark(templateRows, v.ID); err != nil {
		return v, err
	}
	t.record("template.create", strconv.FormatInt(v.ID, 10), v.Label)
	t.register(func(c *contents) {
		c.templates[v.ID] = &fleet.TaggedTemplate{Template: v, Tags: []fleet.Tag{}}
	})
	return v, nil
}

// replaceTemplates replaces templates. createdAt and tags stay, and updatedAt always moves forward. A template whose
// content does not change makes no generation. SavedBy stays if op, key and text stay.
func (e *editing) replaceTemplates() error {
	for _, changed := range e.Changed {
		current, err := e.checkedTemplate(changed.ID)
		if err != nil {
			return err
		}
		v, err := e.replaceTemplate(current, changed)
		if err != nil {
			return err
		}
		e.done.Changed = append(e.done.Changed, v)
		if sameTemplate(current, v) {
			continue
		}
		if err := e.inGeneration(func(now int64) error { return e.rememberAt(now, v, false) }); err != nil {
			return err
		}
	}
	return nil
}

// replaceTemplate stores the new content of a template. The caller makes the generation if the content differs.
func (t *tx) replaceTemplate(current, v fleet.Template) (fleet.Template, error) {
	if err := v.Validate(); err != nil {
		return v, err
	}
	v = v.SavedOver(current)
	v.CreatedAt, v.UpdatedAt = current.CreatedAt, t.after(current.UpdatedAt)
	if err := t.updateTemplate(v); err != nil {
		return v, err
	}
	t.record("template.replace", strconv.FormatInt(v.ID, 10), v.Label)
	t.register(func(c *contents) {
		c.template(v.ID, func(tagged *fleet.TaggedTemplate) { *tagged = tagged.Saved(v) })
	})
	return v, nil
}

func (t *tx) updateTemplate(v fleet.Template) error {
	return t.marking(templateRows, func() error { return t.rewriteTemplate(v) }, v.ID)
}

func (t *tx) rewriteTemplate(v fleet.Template) error {
	return t.exec(`
		UPDATE templates SET label = $2, priority = $3, op = $4, key = $5, text = $6, reads = $7, saved_by = $8,
			saved_role = $9, updated_at = $10
		WHERE id = $1`,
		v.ID, v.Label, v.Priority, string(v.Op), v.Key, t.store.sealTemplate(v), v.Reads.Text(), v.SavedBy,
		string(v.SavedRole),
		millis(v.UpdatedAt))
}

func (s *Store) sealTemplate(v fleet.Template) []byte {
	return s.seal.Seal("templates", strconv.FormatInt(v.ID, 10), "text", []byte(v.Text))
}

// pastRow returns the text that identifies a row of the template history when its text is sealed.
func pastRow(id, generation int64) string { return fmt.Sprintf("%d/%d", id, generation) }

// sameTemplate reports whether two templates are equal except for UpdatedAt and Reads. Reads is computed from the
// text.
func sameTemplate(a, b fleet.Template) bool {
	a.UpdatedAt, a.Reads = b.UpdatedAt, b.Reads
	return a == b
}

// deleteTemplates deletes templates and their tags. Their history stays.
func (e *editing) deleteTemplates() error {
	for _, id := range e.Deleted {
		current, err := e.checkedTemplate(id)
		if err != nil {
			return err
		}
		if err := e.inGeneration(func(now int64) error { return e.dropTemplate(current, now) }); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) dropTemplate(current fleet.Template, now int64) error {
	tags, _, err := t.tagsOf(templateTags, current.ID)
	if err != nil {
		return err
	}
	err = errors.Join(
		t.unmark(templateTagRows, `template_id = $1`, current.ID),
		t.unmark(templateRows, `id = $1`, current.ID),
	)
	if err != nil {
		return err
	}
	if err := t.exec(`DELETE FROM templates WHERE id = $1`, current.ID); err != nil {
		return err
	}
	t.record("template.delete", strconv.FormatInt(current.ID, 10), current.Label)
	t.register(func(c *contents) { delete(c.templates, current.ID) })
	if err := t.rememberAt(now, current, true); err != nil {
		return err
	}
	for _, tag := range tags {
		if err := t.rememberTag(templateTags, now, current.ID, tag, false); err != nil {
			return err
		}
	}
	return nil
}

// template returns a template as the transaction sees it. SavedBy and SavedRole are empty if the row is not believed:
// its mark does not fit, or the whole table is in doubt (see believing).
func (t *tx) template(id int64) (fleet.Template, error) {
	current, err := believing(t.store, templateRows, t.store.scanTemplate)(t.row(`SELECT id, `+templateColumns+`, `+
		templateRows.columns("")+` FROM templates WHERE id = $1`, id))
	if absent(err) {
		err = noTemplate(id)
	}
	if !current.believed {
		current.value.SavedBy, current.value.SavedRole = "", ""
	}
	return current.value, err
}

// checkedTemplate returns a template as the transaction sees it. It returns an error if the edit's check refuses to
// change the template.
func (e *editing) checkedTemplate(id int64) (fleet.Template, error) {
	current, err := e.template(id)
	if err != nil {
		return current, err
	}
	return current, e.check(fleet.Found{Template: &current})
}

func (t *tx) rememberAt(generation int64, v fleet.Template, deleted bool) error {
	err := t.exec(`
		INSERT INTO template_history
			(generation, template_id, deleted, `+templateColumns+`)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
		generation, v.ID, deleted, v.Label, v.Priority, string(v.Op), v.Key,
		t.store.seal.Seal("template_history", pastRow(v.ID, generation), "text", []byte(v.Text)), v.Reads.Text(), v.SavedBy,
		string(v.SavedRole), millis(v.CreatedAt), millis(v.UpdatedAt))
	return errors.Join(err, t.mark(templateHistoryRows, v.ID, generation))
}

// templateColumns are the columns, apart from the ID, that both tables of templates have.
const templateColumns = `label, priority, op, key, text, reads, saved_by, saved_role, created_at, updated_at`

var (
	selectTemplates     = `SELECT id, ` + templateColumns + ` FROM templates`
	selectPastTemplates = `SELECT generation, deleted, template_id, ` + templateColumns + `, ` +
		templateHistoryRows.columns("h") + ` FROM template_history h`
)

func (s *Store) scanTemplate(row scanner) (fleet.Template, error) {
	v, sealed, err := scanSealedTemplate(row)
	if err != nil {
		return v, err
	}
	v.Text, err = s.openText("templates", strconv.FormatInt(v.ID, 10), sealed)
	return v, err
}

// pastTemplate is a template as it was from a generation on. SavedBy and SavedRole are empty if the row is not
// believed (see believing).
type pastTemplate struct {
	generation int64
	deleted    bool
	forged     bool // The row is not believed.
	fleet.Template
}

func (s *Store) scanPastTemplate(row scanner) (past pastTemplate, err error) {
	var sealed []byte
	scan := func(row scanner) (sealed []byte, err error) {
		past.Template, sealed, err = scanSealedTemplate(row, &past.generation, &past.deleted)
		return sealed, err
	}
	read, err := believing(s, templateHistoryRows, scan)(row)
	if err != nil {
		return past, err
	}
	sealed = read.value
	if past.forged = !read.believed; past.forged {
		past.SavedBy, past.SavedRole = "", ""
	}
	past.Text, err = s.openText("template_history", pastRow(past.ID, past.generation), sealed)
	return past, err
}

// scanSealedTemplate reads a row with three groups of columns: first those that are read into before, then the
// template's ID, then templateColumns. It returns the template without its text, and the sealed text.
func scanSealedTemplate(row scanner, before ...any) (v fleet.Template, sealed []byte, err error) {
	var op, reads, role string
	var created, updated sql.NullInt64
	err = row.Scan(append(before, &v.ID, &v.Label, &v.Priority, &op, &v.Key, &sealed, &reads, &v.SavedBy, &role, &created,
		&updated)...)
	v.Op, v.Reads, v.SavedRole = fleet.Op(op), fleet.ParseInputs(reads), fleet.Role(role)
	v.CreatedAt, v.UpdatedAt = fromMillis(created), fromMillis(updated)
	return v, sealed, err
}

func (s *Store) loadTemplates(ctx context.Context, q querier, c *contents) error {
	templates, err := collect(ctx, q, s.scanTemplate, selectTemplates)
	for _, v := range templates {
		c.templates[v.ID] = &fleet.TaggedTemplate{Template: v, Tags: []fleet.Tag{}}
	}
	return err
}
