package store

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"muster/internal/fleet"
)

// ApplyEdit makes all changes of an edit in one generation, or none of them. based is the generation that the edit was
// planned on: when templates or tags were changed since, the answer is precondition. It gives the generation in force
// then, which is the one before where the edit changes nothing, and the new templates.
func (s *Store) ApplyEdit(ctx context.Context, edit fleet.Edit, based int64) (fleet.Applied, error) {
	if err := edit.Check(); err != nil {
		return fleet.Applied{}, err
	}
	edit = edit.SavedBy(fleet.ActorOf(ctx), fleet.RoleOf(ctx))
	return write(ctx, s, "apply changes", func(t *tx) (fleet.Applied, error) {
		return t.applyEdit(edit, based)
	})
}

// applyEdit makes the changes where the generation is the one that they were planned on.
func (t *tx) applyEdit(edit fleet.Edit, based int64) (done fleet.Applied, err error) {
	if err := t.row(`SELECT COALESCE(MAX(number), 0) FROM generations`).Scan(&done.Generation); err != nil {
		return done, err
	}
	if done.Generation != based {
		return done, &fleet.Error{Code: fleet.CodePrecondition,
			Message: fmt.Sprintf("templates, tags or vars were changed since the plan was made: it is generation %d now",
				done.Generation),
			Hint: "Plan again, and apply that plan."}
	}
	e := editing{tx: t, cause: edit.Cause()}
	for _, change := range []func(fleet.Edit) error{e.add, e.replace, e.delete, e.tag, e.vars} {
		if err := change(edit); err != nil {
			return done, err
		}
	}
	if e.generation != 0 {
		done.Generation = e.generation
	}
	done.New = e.created
	return done, nil
}

// editing is an edit while it is made.
type editing struct {
	*tx
	cause      string
	generation int64 // 0 until something differs
	created    []fleet.Template
}

// inGeneration runs what needs the edit's generation.
func (e *editing) inGeneration(do func(generation int64) error) (err error) {
	if e.generation == 0 {
		if e.generation, err = e.tx.generation(e.cause); err != nil {
			return err
		}
	}
	return do(e.generation)
}

func (e *editing) add(edit fleet.Edit) error {
	for _, made := range edit.New {
		v, err := e.insertTemplate(made.Template)
		if err != nil {
			return err
		}
		e.created = append(e.created, v)
		if err := e.inGeneration(func(now int64) error { return e.rememberAt(now, v, false) }); err != nil {
			return err
		}
		for _, tag := range made.Tags {
			if err := e.set(tagging{templateTags, v.ID, strconv.FormatInt(v.ID, 10), tag, true}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (e *editing) replace(edit fleet.Edit) error {
	for _, changed := range edit.Changed {
		current, err := e.checkedTemplate(changed.ID, nil)
		if err != nil {
			return err
		}
		v, err := e.replaceTemplate(*current, changed)
		if err != nil {
			return err
		}
		if sameTemplate(*current, v) {
			continue
		}
		if err := e.mayChangeTemplates(v.ID); err != nil {
			return err
		}
		if err := e.inGeneration(func(now int64) error { return e.rememberAt(now, v, false) }); err != nil {
			return err
		}
	}
	return nil
}

func (e *editing) delete(edit fleet.Edit) error {
	for _, id := range edit.Deleted {
		if _, err := e.checkedTemplate(id, nil); err != nil {
			return err
		}
		if err := e.mayChangeTemplates(id); err != nil {
			return err
		}
		if err := e.inGeneration(func(now int64) error { return e.dropTemplate(id, now) }); err != nil {
			return err
		}
	}
	return nil
}

func (e *editing) tag(edit fleet.Edit) error {
	for _, one := range edit.Tag {
		if err := e.setOn(one, true); err != nil {
			return err
		}
	}
	for _, one := range edit.Untag {
		if err := e.setOn(one, false); err != nil {
			return err
		}
	}
	return nil
}

func (e *editing) setOn(one fleet.Tagging, carried bool) error {
	if one.Device == "" {
		if _, err := e.checkedTemplate(one.Template, nil); err != nil {
			return err
		}
		return e.set(tagging{templateTags, one.Template, strconv.FormatInt(one.Template, 10), one.Tag, carried})
	}
	if there, err := e.exists(one.Device); err != nil || !there {
		return orElse(err, noDevice(one.Device))
	}
	return e.set(tagging{deviceTags, string(one.Device), string(one.Device), one.Tag, carried})
}

func (e *editing) set(c tagging) error {
	if _, err := fleet.ParseTag(string(c.tag)); err != nil {
		return err
	}
	before, err := e.tagsOf(c.of, c.id)
	if err != nil || slices.Contains(before, c.tag) == c.carried {
		return err
	}
	if id, isTemplate := c.id.(int64); isTemplate {
		if err := e.mayChangeTemplates(id); err != nil {
			return err
		}
	}
	return e.inGeneration(func(now int64) error {
		_, err := e.setTag(c, before, now)
		return err
	})
}
