package store

import (
	"context"
	"slices"
	"strings"

	"muster/internal/fleet"
)

// PutAuthorKeys replaces the author keys of a tag, or those of the fleet if tag is "". If check is not nil, it gets
// the present keys, and an error from it refuses the change. Deleting the tag does not delete its keys: only an admin
// removes them.
func (s *Store) PutAuthorKeys(ctx context.Context, tag fleet.Tag, keys []string,
	check func(current *[]string) error) ([]string, error) {
	if tag != "" {
		if _, err := fleet.ParseTag(string(tag)); err != nil {
			return nil, err
		}
	}
	sorted, err := fleet.ParseAuthorKeys(keys)
	if err != nil {
		return nil, err
	}
	return write(ctx, s, "put author keys", func(t *tx) ([]string, error) {
		was, forged, err := t.keysIn(authorKeyRows, `tag = $1`, string(tag))
		if err != nil {
			return nil, err
		}
		if err := ask(check, &was); err != nil || slices.Equal(was, sorted) && len(forged) == 0 {
			return sorted, err
		}
		return sorted, t.putAuthorKeys(tag, sorted)
	})
}

func (t *tx) putAuthorKeys(tag fleet.Tag, keys []string) error {
	if err := t.replaceOf(authorKeyRows, tag, keys); err != nil {
		return err
	}
	what := "fleet.authorKeys"
	if tag != "" {
		what = "tag.authorKeys"
	}
	t.record(what, string(tag), strings.Join(keys, ", "))
	t.effects.committed.Roots = true
	t.register(func(c *contents) {
		if c.authorKeys[tag] = keys; len(keys) == 0 {
			delete(c.authorKeys, tag)
		}
	})
	return nil
}

func (s *Store) loadAuthorKeys(ctx context.Context, q querier, c *contents) error {
	_, err := collect(ctx, q, func(row scanner) (none struct{}, err error) {
		var tag, key string
		err = row.Scan(&tag, &key)
		c.authorKeys[fleet.Tag(tag)] = append(c.authorKeys[fleet.Tag(tag)], key)
		return none, err
	}, `SELECT tag, key FROM author_keys`)
	for tag := range c.authorKeys {
		slices.Sort(c.authorKeys[tag])
	}
	return err
}
