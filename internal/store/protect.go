package store

import (
	"context"
	"fmt"
	"slices"

	"muster/internal/fleet"
)

// ProtectTag says whether only an admin puts a tag on a device or takes it off. Nothing needs to carry the tag yet, and
// it stays protected when it is deleted.
func (s *Store) ProtectTag(ctx context.Context, tag fleet.Tag, protected bool) error {
	if _, err := fleet.ParseTag(string(tag)); err != nil {
		return err
	}
	_, err := write(ctx, s, "protect tag", func(t *tx) (none struct{}, err error) {
		return none, t.protectTag(tag, protected)
	})
	return err
}

func (t *tx) protectTag(tag fleet.Tag, protected bool) error {
	is, err := t.protectedTags()
	if err != nil || slices.Contains(is, tag) == protected {
		return err
	}
	what, text := "tag.protect", `INSERT INTO protected_tags (tag) VALUES ($1)`
	if !protected {
		what, text = "tag.unprotect", `DELETE FROM protected_tags WHERE tag = $1`
	}
	t.record(what, string(tag), "")
	t.register(func(c *contents) {
		if delete(c.protected, tag); protected {
			c.protected[tag] = true
		}
	})
	return t.exec(text, string(tag))
}

func (t *tx) protectedTags() ([]fleet.Tag, error) {
	return collect(t.ctx, t.session, scanTag, `SELECT tag FROM protected_tags`)
}

// mayChangeTag refuses to put a protected tag on a device, or to take one off, for anybody but an admin. Muster by
// itself is no admin. before are the tags of the carrier. The tags of a template that carries a protected one are an
// author's: another tag on it would give its content to devices without the protected tag.
func (t *tx) mayChangeTag(of carriers, tag fleet.Tag, before []fleet.Tag) error {
	if t.role == fleet.RoleAdmin || of == templateTags && t.role.Includes(fleet.RoleAuthor) {
		return nil
	}
	protected, err := t.protectedTags()
	if err != nil {
		return err
	}
	if of == deviceTags {
		before = nil
	}
	for _, one := range append([]fleet.Tag{tag}, before...) {
		if slices.Contains(protected, one) {
			return protectedTag(of, one)
		}
	}
	return nil
}

// mayDeleteTag is mayChangeTag for all that carries the tag.
func (t *tx) mayDeleteTag(tag fleet.Tag) error {
	if err := t.mayChangeTag(deviceTags, tag, nil); err != nil {
		return err
	}
	beside, err := collect(t.ctx, t.session, scanTag, `SELECT DISTINCT tag FROM template_tags
		WHERE template_id IN (SELECT template_id FROM template_tags WHERE tag = $1)`, string(tag))
	if err != nil {
		return err
	}
	return t.mayChangeTag(templateTags, tag, beside)
}

func protectedTag(of carriers, tag fleet.Tag) error {
	if of == templateTags {
		return &fleet.Error{Code: fleet.CodeForbidden,
			Message: fmt.Sprintf("the tag %q is protected: only an author or admin changes the tags of a template with it", tag),
			Hint:    "Ask one of them, or use a token with the role author or higher."}
	}
	return &fleet.Error{Code: fleet.CodeForbidden,
		Message: fmt.Sprintf("the tag %q is protected: only an admin puts it on a device or takes it off", tag),
		Hint:    "Ask an admin, or use a token with the role admin."}
}

func (s *Store) loadProtected(ctx context.Context, q querier, c *contents) error {
	tags, err := collect(ctx, q, scanTag, `SELECT tag FROM protected_tags`)
	for _, tag := range tags {
		c.protected[tag] = true
	}
	return err
}
