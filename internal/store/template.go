package store

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"

	"muster/internal/fleet"
)

func noTemplate(id int64) error { return fleet.NotFoundf("there is no template %d", id) }

// CreateTemplate stores a new template. Its ID is larger than any given before, those of deleted templates included.
// The saver is the actor of the context, here and below.
func (s *Store) CreateTemplate(ctx context.Context, template fleet.Template) (fleet.Template, error) {
	template.SavedBy, template.SavedRole = fleet.ActorOf(ctx), fleet.RoleOf(ctx)
	return write(ctx, s, "create template", func(t *tx) (fleet.Template, error) {
		v, err := t.insertTemplate(template)
		if err != nil {
			return v, err
		}
		return v, t.remember(v, "created", false)
	})
}

// insertTemplate stores a new template and gives it with its ID. Its generation is the caller's.
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
	// The place of what is sealed has the ID in it, which the first statement only gives.
	if err := t.exec(`UPDATE templates SET text = $2 WHERE id = $1`, v.ID, t.store.sealTemplate(v)); err != nil {
		return v, err
	}
	t.record("template.create", strconv.FormatInt(v.ID, 10), v.Label)
	t.register(func(c *contents) {
		c.templates[v.ID] = &fleet.TaggedTemplate{Template: v, Tags: []fleet.Tag{}}
	})
	return v, nil
}

// PutTemplate replaces a template that is there. createdAt and tags survive, updatedAt always moves forward. Putting
// what is there already makes no generation, and the saver stays where op, key and text do.
func (s *Store) PutTemplate(ctx context.Context, template fleet.Template,
	check func(current *fleet.Template) error) (fleet.Template, error) {
	template.SavedBy, template.SavedRole = fleet.ActorOf(ctx), fleet.RoleOf(ctx)
	return write(ctx, s, "put template", func(t *tx) (fleet.Template, error) {
		v := template
		current, err := t.checkedTemplate(v.ID, check)
		if err != nil {
			return v, err
		}
		v, err = t.replaceTemplate(*current, v)
		if err != nil || sameTemplate(*current, v) {
			return v, err
		}
		if err := t.mayChangeTemplates(v.ID); err != nil {
			return v, err
		}
		return v, t.remember(v, "changed", false)
	})
}

// replaceTemplate stores what a template says now. Its generation is the caller's, where something differs.
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
		c.template(v.ID, func(tagged *fleet.TaggedTemplate) { tagged.Template = v })
	})
	return v, nil
}

func (t *tx) updateTemplate(v fleet.Template) error {
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

// pastRow is the row of a template as it was from a generation on.
func pastRow(id, generation int64) string { return fmt.Sprintf("%d/%d", id, generation) }

// sameTemplate compares what a person wrote.
func sameTemplate(a, b fleet.Template) bool {
	a.UpdatedAt, a.Reads = b.UpdatedAt, b.Reads
	return a == b
}

// DeleteTemplate removes a template and its tags. Its history stays.
func (s *Store) DeleteTemplate(ctx context.Context, id int64, check func(current *fleet.Template) error) error {
	_, err := write(ctx, s, "delete template", func(t *tx) (none struct{}, err error) {
		current, err := t.checkedTemplate(id, check)
		if err != nil {
			return none, err
		}
		if err := t.mayChangeTemplates(id); err != nil {
			return none, err
		}
		subject := strconv.FormatInt(id, 10)
		tags, err := t.tagsOf(templateTags, id)
		if err != nil {
			return none, err
		}
		if err := t.exec(`DELETE FROM templates WHERE id = $1`, id); err != nil {
			return none, err
		}
		t.record("template.delete", subject, current.Label)
		t.register(func(c *contents) { delete(c.templates, id) })
		generation, err := t.rememberIn(*current, "deleted", true)
		if err != nil {
			return none, err
		}
		for _, tag := range tags {
			if err := t.rememberTag(templateTags, generation, id, tag, false); err != nil {
				return none, err
			}
		}
		return none, nil
	})
	return err
}

// checkedTemplate is the template as the transaction sees it, once the condition holds.
func (t *tx) checkedTemplate(id int64, check func(*fleet.Template) error) (*fleet.Template, error) {
	current, err := t.store.scanTemplate(t.row(selectTemplates+` WHERE id = $1`, id))
	if absent(err) {
		return nil, noTemplate(id)
	}
	if err != nil {
		return nil, err
	}
	return &current, ask(check, &current)
}

// remember makes a generation of a changed template and keeps its text.
func (t *tx) remember(v fleet.Template, what string, deleted bool) error {
	_, err := t.rememberIn(v, what, deleted)
	return err
}

func (t *tx) rememberIn(v fleet.Template, what string, deleted bool) (generation int64, err error) {
	generation, err = t.generation("template " + strconv.FormatInt(v.ID, 10) + " " + what)
	if err != nil {
		return 0, err
	}
	return generation, t.rememberAt(generation, v, deleted)
}

func (t *tx) rememberAt(generation int64, v fleet.Template, deleted bool) error {
	return t.exec(`
		INSERT INTO template_history
			(generation, template_id, deleted, `+templateColumns+`)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
		generation, v.ID, deleted, v.Label, v.Priority, string(v.Op), v.Key,
		t.store.seal.Seal("template_history", pastRow(v.ID, generation), "text", []byte(v.Text)), v.Reads.Text(), v.SavedBy,
		string(v.SavedRole), millis(v.CreatedAt), millis(v.UpdatedAt))
}

// templateColumns are those that a template has in both of its tables, beside its ID.
const templateColumns = `label, priority, op, key, text, reads, saved_by, saved_role, created_at, updated_at`

const (
	selectTemplates     = `SELECT id, ` + templateColumns + ` FROM templates`
	selectPastTemplates = `SELECT generation, deleted, template_id, ` + templateColumns + ` FROM template_history h`
)

func (s *Store) scanTemplate(row scanner) (fleet.Template, error) {
	v, sealed, err := scanSealedTemplate(row)
	if err != nil {
		return v, err
	}
	v.Text, err = s.openText("templates", strconv.FormatInt(v.ID, 10), sealed)
	return v, err
}

// pastTemplate is a template as it was from a generation on.
type pastTemplate struct {
	generation int64
	deleted    bool
	fleet.Template
}

func (s *Store) scanPastTemplate(row scanner) (past pastTemplate, err error) {
	var sealed []byte
	if past.Template, sealed, err = scanSealedTemplate(row, &past.generation, &past.deleted); err != nil {
		return past, err
	}
	past.Text, err = s.openText("template_history", pastRow(past.ID, past.generation), sealed)
	return past, err
}

// scanSealedTemplate reads some columns, the ID of the template and templateColumns.
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
