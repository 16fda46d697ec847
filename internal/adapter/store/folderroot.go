package store

import (
	"context"
	"errors"
	"slices"
	"strings"

	"muster/internal/fleet"
)

// PutFolderRoots replaces the folder roots of a tag, or those of the fleet if tag is "". If check is not nil, it gets
// the present roots, and an error from it refuses the change. A tag that no device has can have roots too. Deleting
// the tag does not delete its roots: only an admin removes them.
func (s *Store) PutFolderRoots(ctx context.Context, tag fleet.Tag, roots []string,
	check func(current *[]string) error) ([]string, error) {
	if tag != "" {
		if _, err := fleet.ParseTag(string(tag)); err != nil {
			return nil, err
		}
	}
	sorted, err := fleet.ParseFolderRoots(roots)
	if err != nil {
		return nil, err
	}
	return write(ctx, s, "put folder roots", func(t *tx) ([]string, error) {
		was, forged, err := t.keysIn(rootRows, `tag = $1`, string(tag))
		if err != nil {
			return nil, err
		}
		if err := ask(check, &was); err != nil || slices.Equal(was, sorted) && len(forged) == 0 {
			return sorted, err
		}
		return sorted, t.putFolderRoots(tag, sorted)
	})
}

// putFolderRoots replaces the folder roots of a tag. The caller has parsed and sorted roots.
func (t *tx) putFolderRoots(tag fleet.Tag, roots []string) error {
	if err := t.replaceOf(rootRows, tag, roots); err != nil {
		return err
	}
	what := "fleet.folderRoots"
	if tag != "" {
		what = "tag.folderRoots"
	}
	t.record(what, string(tag), strings.Join(roots, ", "))
	t.effects.committed.Roots = true
	t.register(func(c *contents) {
		if c.roots[tag] = roots; len(roots) == 0 {
			delete(c.roots, tag)
		}
	})
	return nil
}

// replaceOf replaces all rows of a tag in a table whose key columns are a tag and a text, and marks the new rows.
// texts are the second key columns of the new rows.
func (t *tx) replaceOf(table *markedTable, tag fleet.Tag, texts []string) error {
	if err := t.unmark(table, `tag = $1`, string(tag)); err != nil {
		return err
	}
	if err := t.exec(`DELETE FROM `+table.name+` WHERE tag = $1`, string(tag)); err != nil {
		return err
	}
	insert := `INSERT INTO ` + table.name + ` (` + strings.Join(table.key, ", ") + `) VALUES ($1, $2)`
	for _, text := range texts {
		if err := errors.Join(t.exec(insert, string(tag), text), t.mark(table, string(tag), text)); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) loadRoots(ctx context.Context, q querier, c *contents) error {
	_, err := collect(ctx, q, func(row scanner) (none struct{}, err error) {
		var tag, path string
		err = row.Scan(&tag, &path)
		c.roots[fleet.Tag(tag)] = append(c.roots[fleet.Tag(tag)], path)
		return none, err
	}, `SELECT tag, path FROM folder_roots`)
	for tag := range c.roots {
		slices.Sort(c.roots[tag])
	}
	return err
}
