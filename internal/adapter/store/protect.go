package store

import (
	"context"
	"slices"
	"strconv"

	"muster/internal/fleet"
)

// ProtectTag protects a tag, or ends its protection if protected is false. Only an admin may put a protected tag on a
// device or take it off. A tag that no device has can be protected too. The protection stays when the tag is deleted.
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
	is, forged, err := t.keysIn(protectedRows, "")
	if err != nil || slices.Contains(is, string(tag)) == protected && !slices.Contains(forged, string(tag)) {
		return err
	}
	what, text := "tag.protect", `INSERT INTO protected_tags (tag) VALUES ($1) ON CONFLICT DO NOTHING`
	if !protected {
		what, text = "tag.unprotect", `DELETE FROM protected_tags WHERE tag = $1`
	}
	t.record(what, string(tag), "")
	t.register(func(c *contents) {
		if delete(c.protected, tag); protected {
			c.protected[tag] = true
		}
	})
	write := func() error { return t.exec(text, string(tag)) }
	if err := t.marking(protectedRows, write, string(tag)); err != nil {
		return err
	}
	return t.changeRules()
}

// rules returns the number of the present rules for edits. The number grows whenever protected tags or sources change.
// An edit that was checked against the rules is written only while their number is still the same.
func (t *tx) rules() (number int64, err error) {
	var text string
	err = t.row(`SELECT value FROM meta WHERE name = 'rules'`).Scan(&text)
	if absent(err) {
		return 0, nil
	}
	return metaNumber(text), err
}

// metaNumber returns the number in a value of meta. It returns 0 for a text that Muster did not write: the row is in
// doubt then, and the server starts in spite of it.
func metaNumber(text string) int64 {
	number, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return number
}

func (t *tx) changeRules() error {
	number, err := t.rules()
	if err != nil {
		return err
	}
	number++
	t.register(func(c *contents) { c.rules = number })
	return t.putNextMeta("rules", strconv.FormatInt(number, 10))
}

func (s *Store) loadProtected(ctx context.Context, q querier, c *contents) error {
	tags, err := collect(ctx, q, scanTag, `SELECT tag FROM protected_tags`)
	for _, tag := range tags {
		c.protected[tag] = true
	}
	if err != nil {
		return err
	}
	return eachRow(ctx, q, func(row scanner) error {
		var text string
		err := row.Scan(&text)
		c.rules = metaNumber(text)
		return err
	}, `SELECT value FROM meta WHERE name = 'rules'`)
}
