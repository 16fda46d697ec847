package store

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"muster/internal/fleet"
)

// carriers names the tables of one kind of thing that carries tags.
type carriers struct {
	noun    string
	table   string // of what is carried now
	history string
	column  string // of both tables
}

var (
	deviceTags   = carriers{"device", "device_tags", "device_tag_history", "device_id"}
	templateTags = carriers{"template", "template_tags", "template_tag_history", "template_id"}
)

// TagDevice gives the resulting set, sorted, as the other three do. What is so already makes no generation. check sees
// the set before.
func (s *Store) TagDevice(ctx context.Context, id fleet.DeviceID, tag fleet.Tag,
	check func(current *[]fleet.Tag) error) ([]fleet.Tag, error) {
	return s.changeDeviceTag(ctx, id, tag, true, check)
}

// UntagDevice takes a tag off. That it was not there is no error.
func (s *Store) UntagDevice(ctx context.Context, id fleet.DeviceID, tag fleet.Tag,
	check func(current *[]fleet.Tag) error) ([]fleet.Tag, error) {
	return s.changeDeviceTag(ctx, id, tag, false, check)
}

// TagTemplate is TagDevice for a template.
func (s *Store) TagTemplate(ctx context.Context, id int64, tag fleet.Tag,
	check func(current *[]fleet.Tag) error) ([]fleet.Tag, error) {
	return s.changeTemplateTag(ctx, id, tag, true, check)
}

// UntagTemplate is UntagDevice for a template.
func (s *Store) UntagTemplate(ctx context.Context, id int64, tag fleet.Tag,
	check func(current *[]fleet.Tag) error) ([]fleet.Tag, error) {
	return s.changeTemplateTag(ctx, id, tag, false, check)
}

func (s *Store) changeDeviceTag(ctx context.Context, id fleet.DeviceID, tag fleet.Tag, carried bool,
	check func(*[]fleet.Tag) error) ([]fleet.Tag, error) {
	return write(ctx, s, "tag device", func(t *tx) ([]fleet.Tag, error) {
		if there, err := t.exists(id); err != nil || !there {
			return nil, orElse(err, noDevice(id))
		}
		return t.changeTag(tagging{deviceTags, string(id), string(id), tag, carried}, check)
	})
}

func (s *Store) changeTemplateTag(ctx context.Context, id int64, tag fleet.Tag, carried bool,
	check func(*[]fleet.Tag) error) ([]fleet.Tag, error) {
	return write(ctx, s, "tag template", func(t *tx) ([]fleet.Tag, error) {
		if _, err := t.checkedTemplate(id, nil); err != nil {
			return nil, err
		}
		return t.changeTag(tagging{templateTags, id, strconv.FormatInt(id, 10), tag, carried}, check)
	})
}

func orElse(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}

// changeTag makes one tag carried, or no longer, by one thing, in a generation of its own.
func (t *tx) changeTag(c tagging, check func(*[]fleet.Tag) error) ([]fleet.Tag, error) {
	if _, err := fleet.ParseTag(string(c.tag)); err != nil {
		return nil, err
	}
	before, err := t.tagsOf(c.of, c.id)
	if err != nil {
		return nil, err
	}
	if err := ask(check, &before); err != nil {
		return nil, err
	}
	if slices.Contains(before, c.tag) == c.carried {
		return before, nil
	}
	if id, isTemplate := c.id.(int64); isTemplate {
		if err := t.mayChangeTemplates(id); err != nil {
			return nil, err
		}
	}
	generation, err := t.generation(c.cause())
	if err != nil {
		return nil, err
	}
	return t.setTag(c, before, generation)
}

// tagging is a tag that a thing is to carry, or no longer.
type tagging struct {
	of      carriers
	id      any    // of the thing: a string, or the int64 of a template
	name    string // the ID as a text
	tag     fleet.Tag
	carried bool
}

func (c tagging) verb() string {
	if c.carried {
		return "tag"
	}
	return "untag"
}

func (c tagging) cause() string {
	return fmt.Sprintf("%s %s: %s %q", c.of.noun, c.name, c.verb(), c.tag)
}

// setTag makes a tag carried, or no longer, in a generation, and gives the resulting set. before is the set that the
// thing carries now, which differs.
func (t *tx) setTag(c tagging, before []fleet.Tag, generation int64) ([]fleet.Tag, error) {
	if err := t.mayChangeTag(c.of, c.tag, before); err != nil {
		return nil, err
	}
	text, after := `INSERT INTO `+c.of.table+` (`+c.of.column+`, tag) VALUES ($1, $2)`, addTag(before, c.tag)
	if !c.carried {
		text, after = `DELETE FROM `+c.of.table+` WHERE `+c.of.column+` = $1 AND tag = $2`, dropTag(before, c.tag)
	}
	if err := t.exec(text, c.id, string(c.tag)); err != nil {
		return nil, err
	}
	t.record(c.of.noun+"."+c.verb(), c.name, string(c.tag))
	t.register(func(now *contents) {
		if number, ok := c.id.(int64); ok {
			now.template(number, func(tagged *fleet.TaggedTemplate) { tagged.Tags = after })
		} else {
			now.device(fleet.DeviceID(c.name), func(r *fleet.Registered) { r.Tags = after })
		}
	})
	return after, t.rememberTag(c.of, generation, c.id, c.tag, c.carried)
}

// tagsOf is the sorted set as the transaction sees it.
func (t *tx) tagsOf(of carriers, id any) ([]fleet.Tag, error) {
	tags, err := collect(t.ctx, t.session, scanTag, `SELECT tag FROM `+of.table+` WHERE `+of.column+` = $1`, id)
	slices.Sort(tags)
	return tags, err
}

func (t *tx) rememberTag(of carriers, generation int64, id any, tag fleet.Tag, carried bool) error {
	return t.exec(`INSERT INTO `+of.history+` (generation, `+of.column+`, tag, carried) VALUES ($1, $2, $3, $4)`,
		generation, id, string(tag), carried)
}

func scanTag(row scanner) (fleet.Tag, error) {
	var tag string
	err := row.Scan(&tag)
	return fleet.Tag(tag), err
}

// DeleteTag takes a tag off everything that carries it, in one generation, and gives the tags that remain. Its mode
// stays: who stopped Muster for a tag did not say that it may go on, and an undo brings the tag back. A tag that
// no device or template carries is not_found. check sees all tags before.
func (s *Store) DeleteTag(ctx context.Context, tag fleet.Tag, check func(current *[]fleet.Tag) error) ([]fleet.Tag,
	error) {
	return write(ctx, s, "delete tag", func(t *tx) ([]fleet.Tag, error) {
		all, err := t.allTags()
		if err != nil {
			return nil, err
		}
		if !slices.Contains(all, tag) {
			return nil, fleet.NotFoundf("nothing carries the tag %q", tag)
		}
		if err := ask(check, &all); err != nil {
			return nil, err
		}
		if err := t.mayDeleteTag(tag); err != nil {
			return nil, err
		}
		carriers, err := t.templatesWith(tag)
		if err != nil {
			return nil, err
		}
		if err := t.mayChangeTemplates(carriers...); err != nil {
			return nil, err
		}
		generation, err := t.generation(fmt.Sprintf("tag deleted: %q", tag))
		if err != nil {
			return nil, err
		}
		if err := t.dropFromAll(tag, generation); err != nil {
			return nil, err
		}
		t.record("tag.delete", string(tag), "")
		return dropTag(all, tag), nil
	})
}

func (t *tx) templatesWith(tag fleet.Tag) ([]int64, error) {
	return collect(t.ctx, t.session, func(row scanner) (id int64, err error) {
		return id, row.Scan(&id)
	}, `SELECT template_id FROM template_tags WHERE tag = $1`, string(tag))
}

func (t *tx) allTags() ([]fleet.Tag, error) {
	tags, err := collect(t.ctx, t.session, scanTag, `SELECT tag FROM device_tags UNION SELECT tag FROM template_tags`)
	slices.Sort(tags)
	return tags, err
}

func (t *tx) dropFromAll(tag fleet.Tag, generation int64) error {
	for _, of := range []carriers{deviceTags, templateTags} {
		err := t.exec(`INSERT INTO `+of.history+` (generation, `+of.column+`, tag, carried)
			SELECT CAST($1 AS BIGINT), `+of.column+`, tag, false FROM `+of.table+` WHERE tag = $2`, generation, string(tag))
		if err != nil {
			return err
		}
		if err := t.exec(`DELETE FROM `+of.table+` WHERE tag = $1`, string(tag)); err != nil {
			return err
		}
	}
	t.register(func(c *contents) {
		for id, d := range c.devices {
			if slices.Contains(d.Tags, tag) {
				c.device(id, func(r *fleet.Registered) { r.Tags = dropTag(r.Tags, tag) })
			}
		}
		for id, v := range c.templates {
			if slices.Contains(v.Tags, tag) {
				c.template(id, func(tagged *fleet.TaggedTemplate) { tagged.Tags = dropTag(tagged.Tags, tag) })
			}
		}
	})
	return nil
}

func (s *Store) loadTags(ctx context.Context, q querier, c *contents) error {
	type carried struct {
		device   fleet.DeviceID
		template int64
		tag      fleet.Tag
	}
	ofDevices, err := collect(ctx, q, func(row scanner) (one carried, err error) {
		err = row.Scan((*string)(&one.device), (*string)(&one.tag))
		return one, err
	}, `SELECT device_id, tag FROM device_tags`)
	if err != nil {
		return err
	}
	for _, one := range ofDevices {
		c.device(one.device, func(r *fleet.Registered) { r.Tags = addTag(r.Tags, one.tag) })
	}
	ofTemplates, err := collect(ctx, q, func(row scanner) (one carried, err error) {
		err = row.Scan(&one.template, (*string)(&one.tag))
		return one, err
	}, `SELECT template_id, tag FROM template_tags`)
	for _, one := range ofTemplates {
		c.template(one.template, func(tagged *fleet.TaggedTemplate) { tagged.Tags = addTag(tagged.Tags, one.tag) })
	}
	return err
}
