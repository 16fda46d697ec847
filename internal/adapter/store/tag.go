package store

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"muster/internal/fleet"
)

// carriers names the tables that hold the tags of devices, or those that hold the tags of templates.
type carriers struct {
	noun    string
	table   string // table of the present tags
	history string
	column  string // column of the device's or template's ID, in both tables
	rows    *markedTable
	past    *markedTable // its table is history
}

var (
	deviceTags = carriers{
		"device",
		"device_tags",
		"device_tag_history",
		"device_id",
		deviceTagRows,
		deviceTagHistoryRows,
	}
	templateTags = carriers{
		"template",
		"template_tags",
		"template_tag_history",
		"template_id",
		templateTagRows,
		templateTagHistoryRows,
	}
)

// changeTags puts tags on devices and templates, and takes them off. If that changes nothing, it makes no generation.
func (e *editing) changeTags() error {
	for i, one := range slices.Concat(e.Tag, e.Untag) {
		if err := e.changeTag(one, i < len(e.Tag)); err != nil {
			return err
		}
	}
	return nil
}

func (e *editing) changeTag(one fleet.Tagging, carried bool) error {
	if one.Device == "" {
		if _, err := e.template(one.Template); err != nil {
			return err
		}
		return e.setTag(taggedTemplate(one.Template, one.Tag, carried))
	}
	if there, err := e.exists(one.Device); err != nil || !there {
		return orElse(err, noDevice(one.Device))
	}
	return e.setTag(taggedDevice(one.Device, one.Tag, carried))
}

func orElse(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}

// tagging says that a device or template is to have a tag or, if carried is false, is to lose it.
type tagging struct {
	of      carriers
	id      any    // ID of the device (a string) or the template (an int64)
	name    string // the ID as a text
	tag     fleet.Tag
	carried bool
}

func taggedDevice(id fleet.DeviceID, tag fleet.Tag, carried bool) tagging {
	return tagging{deviceTags, string(id), string(id), tag, carried}
}

func taggedTemplate(id int64, tag fleet.Tag, carried bool) tagging {
	return tagging{templateTags, id, strconv.FormatInt(id, 10), tag, carried}
}

func (c tagging) verb() string {
	if c.carried {
		return "tag"
	}
	return "untag"
}

// setTag carries out a tagging that the edit's check allows. The caller has made sure that the device or template
// exists. The new tags are in e.done.Tags.
func (e *editing) setTag(c tagging) error {
	if _, err := fleet.ParseTag(string(c.tag)); err != nil {
		return err
	}
	before, forged, err := e.tagsOf(c.of, c.id)
	if err != nil {
		return err
	}
	if err := e.check(fleet.Found{Tags: before}); err != nil {
		return err
	}
	e.done.Tags = before
	if slices.Contains(before, c.tag) == c.carried && !slices.Contains(forged, c.tag) {
		return nil
	}
	return e.inGeneration(func(generation int64) error {
		e.done.Tags, err = e.putTag(c, before, generation)
		return err
	})
}

// putTag writes a tagging that changes something, in this generation. before is the present set of tags. putTag
// returns the new set. In memory only this one tag changes, so tags that another program wrote get nowhere. A tag that
// another program wrote counts once a person gives it: it is in the database already.
func (t *tx) putTag(c tagging, before []fleet.Tag, generation int64) ([]fleet.Tag, error) {
	after := c.changed(before)
	text := `INSERT INTO ` + c.of.table + ` (` + c.of.column + `, tag) VALUES ($1, $2) ON CONFLICT DO NOTHING`
	if !c.carried {
		text = `DELETE FROM ` + c.of.table + ` WHERE ` + c.of.column + ` = $1 AND tag = $2`
	}
	write := func() error { return t.exec(text, c.id, string(c.tag)) }
	if err := t.marking(c.of.rows, write, c.id, string(c.tag)); err != nil {
		return nil, err
	}
	t.record(c.of.noun+"."+c.verb(), c.name, string(c.tag))
	t.register(func(now *contents) {
		if number, ok := c.id.(int64); ok {
			now.template(number, func(tagged *fleet.TaggedTemplate) { tagged.Tags = c.changed(tagged.Tags) })
		} else {
			now.device(fleet.DeviceID(c.name), func(r *fleet.Registered) { r.Tags = c.changed(r.Tags) })
		}
	})
	return after, t.rememberTag(c.of, generation, c.id, c.tag, c.carried)
}

// changed returns a sorted set of tags as the tagging changes it.
func (c tagging) changed(tags []fleet.Tag) []fleet.Tag {
	if c.carried {
		return addTag(tags, c.tag)
	}
	return dropTag(tags, c.tag)
}

// tagsOf returns the tags of a device or template as the transaction sees them, sorted, and apart from them those that
// another program wrote. id is a string or an int64.
func (t *tx) tagsOf(of carriers, id any) (tags, forged []fleet.Tag, err error) {
	written, others, err := t.keysIn(of.rows, of.column+` = $1`, id)
	return tagsFrom(written), tagsFrom(others), err
}

func tagsFrom(texts []string) []fleet.Tag {
	tags := make([]fleet.Tag, len(texts))
	for i, text := range texts {
		tags[i] = fleet.Tag(text)
	}
	return tags
}

func (t *tx) rememberTag(of carriers, generation int64, id any, tag fleet.Tag, carried bool) error {
	err := t.exec(`INSERT INTO `+of.history+` (generation, `+of.column+`, tag, carried) VALUES ($1, $2, $3, $4)`,
		generation, id, string(tag), carried)
	return errors.Join(err, t.mark(of.past, id, string(tag), generation))
}

func scanTag(row scanner) (fleet.Tag, error) {
	var tag string
	err := row.Scan(&tag)
	return fleet.Tag(tag), err
}

// dropTags removes tags from all devices and templates. It returns a not-found error for a tag that nothing has. The
// mode of a deleted tag stays: the person who stopped Muster for the tag did not say that it may go on, and an undo
// may bring the tag back.
func (e *editing) dropTags() error {
	for _, tag := range e.Drop {
		all, err := e.allTags()
		if err != nil {
			return err
		}
		if !slices.Contains(all, tag) {
			return fleet.NotFoundf("nothing carries the tag %q", tag)
		}
		if err := e.check(fleet.Found{Tags: all}); err != nil {
			return err
		}
		if err := e.inGeneration(func(now int64) error { return e.dropFromAll(tag, now) }); err != nil {
			return err
		}
		e.record("tag.delete", string(tag), "")
		e.done.Tags = dropTag(all, tag)
	}
	return nil
}

func (t *tx) allTags() ([]fleet.Tag, error) {
	tags, err := collect(t.ctx, t.session, scanTag, `SELECT tag FROM device_tags UNION SELECT tag FROM template_tags`)
	slices.Sort(tags)
	return tags, err
}

func (t *tx) dropFromAll(tag fleet.Tag, generation int64) error {
	for _, of := range []carriers{deviceTags, templateTags} {
		ids, err := collect(t.ctx, t.session, func(row scanner) (id any, err error) { return id, row.Scan(&id) },
			`SELECT `+of.column+` FROM `+of.table+` WHERE tag = $1`, string(tag))
		if err != nil {
			return err
		}
		for _, id := range ids {
			if err := t.rememberTag(of, generation, id, tag, false); err != nil {
				return err
			}
		}
		if err := t.unmark(of.rows, `tag = $1`, string(tag)); err != nil {
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
