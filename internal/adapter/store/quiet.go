package store

import (
	"context"
	"time"

	"muster/internal/fleet"
)

// PutTagQuiet sets how long the devices with a tag may be away before that counts as trouble. 0 restores the usual
// time. A tag that no device has can have such a time too.
func (s *Store) PutTagQuiet(ctx context.Context, tag fleet.Tag, quiet time.Duration) error {
	if _, err := fleet.ParseTag(string(tag)); err != nil {
		return err
	}
	if err := fleet.ValidateQuietAfter(quiet); err != nil {
		return err
	}
	_, err := write(ctx, s, "put how long the devices of a tag may be away", func(t *tx) (struct{}, error) {
		return struct{}{}, t.putTagQuiet(tag, quiet)
	})
	return err
}

func (t *tx) putTagQuiet(tag fleet.Tag, quiet time.Duration) error {
	t.record("tag.quietAfter", string(tag), quiet.String())
	if quiet == 0 {
		t.register(func(c *contents) { delete(c.tagQuiet, tag) })
		return t.exec(`DELETE FROM tag_quiet WHERE tag = $1`, string(tag))
	}
	t.register(func(c *contents) { c.tagQuiet[tag] = quiet })
	return t.exec(`
		INSERT INTO tag_quiet (tag, quiet_after) VALUES ($1, $2)
		ON CONFLICT (tag) DO UPDATE SET quiet_after = excluded.quiet_after`, string(tag), inSeconds(quiet))
}

func loadQuiet(ctx context.Context, q querier, c *contents) error {
	type pair struct {
		tag     string
		seconds int64
	}
	all, err := collect(ctx, q, func(row scanner) (p pair, err error) {
		err = row.Scan(&p.tag, &p.seconds)
		return p, err
	}, `SELECT tag, quiet_after FROM tag_quiet`)
	for _, p := range all {
		c.tagQuiet[fleet.Tag(p.tag)] = time.Duration(p.seconds) * time.Second
	}
	return err
}

func inSeconds(d time.Duration) int64 { return int64(d / time.Second) }
