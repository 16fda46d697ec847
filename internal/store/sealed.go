package store

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

// sealedColumn is a column whose values are sealed. The place of each is the table, the column and the row's key, with
// a slash between the columns of the key.
type sealedColumn struct {
	table  string
	key    []string
	column string
}

// sealedColumns are all of them; a test compares the list with the tables. The value of one row of meta, the seal
// check, is sealed too: it is text.
var sealedColumns = []sealedColumn{
	{"devices", []string{"id"}, "api_key"},
	{"devices", []string{"id"}, "proof"},
	{"enrollment_decisions", []string{"device_id"}, "proof"},
	{"secrets", []string{"name"}, "value"},
	{"own_keys", []string{"name"}, "value"},
	{"proofs", []string{"name"}, "body"},
	{"sessions", []string{"id"}, "proof"},
	{"login_links", []string{"hash"}, "proof"},
	{"templates", []string{"id"}, "text"},
	{"template_history", []string{"template_id", "generation"}, "text"},
	{"device_vars", []string{"device_id"}, "vars"},
	{"device_vars_history", []string{"device_id", "generation"}, "vars"},
	{"tag_vars", []string{"tag"}, "vars"},
	{"tag_vars_history", []string{"tag", "generation"}, "vars"},
	{"intents", []string{"id"}, "writes"},
	{"base_entries", []string{"device_id", "key"}, "base"},
	{"base_entries", []string{"device_id", "key"}, "written"},
	{"base_entries", []string{"device_id", "key"}, "intended"},
	{"base_entries", []string{"device_id", "key"}, "earlier"},
	{"base_entries", []string{"device_id", "key"}, "sent"},
	{"revision_bodies", []string{"device_id", "digest"}, "document"},
}

// sealedCell is one value of such a column.
type sealedCell struct {
	key    []any
	sealed []byte
}

func (cell sealedCell) row() string {
	var names []string
	for _, key := range cell.key {
		names = append(names, fmt.Sprint(key))
	}
	return strings.Join(names, "/")
}

// cells reads some cells of a column in the order of their keys, after a key (nil: from the first). The condition may
// use $1.
func (c sealedColumn) cells(ctx context.Context, q querier, after []any, limit int, condition string,
	arg any) ([]sealedCell, error) {
	args := []any{arg, limit}
	var beyond strings.Builder
	for i, key := range after {
		fmt.Fprintf(&beyond, "%s$%d", map[bool]string{true: ", "}[i > 0], len(args)+1)
		args = append(args, key)
	}
	keys := strings.Join(c.key, ", ")
	text := `SELECT ` + keys + `, ` + c.column + ` FROM ` + c.table + ` WHERE ` + c.column + ` IS NOT NULL AND ` + condition
	if after != nil {
		text += ` AND (` + keys + `) > (` + beyond.String() + `)`
	}
	return collect(ctx, q, func(row scanner) (cell sealedCell, err error) {
		cell.key = make([]any, len(c.key))
		var into []any
		for i := range cell.key {
			into = append(into, &cell.key[i])
		}
		err = row.Scan(append(into, &cell.sealed)...)
		return cell, err
	}, text+` ORDER BY `+keys+` LIMIT $2`, args...)
}

// put gives a cell another value where it still has the one that was read.
func (c sealedColumn) put(cell sealedCell, value []byte) (text string, args []any) {
	args = []any{value, cell.sealed}
	text = `UPDATE ` + c.table + ` SET ` + c.column + ` = $1 WHERE ` + c.column + ` = $2`
	for i, key := range c.key {
		args = append(args, cell.key[i])
		text += fmt.Sprintf(` AND %s = $%d`, key, len(args))
	}
	return text, args
}

// plainFormat begins a text that was kept before texts were sealed. What is sealed begins with another byte.
const plainFormat = 0

// sealedAtOnce is how many texts are sealed in one transaction: each has up to 1 MiB.
const sealedAtOnce = 16

// sealTexts seals the texts that were kept before texts were sealed. What SQLite's file still holds of them, and of
// everything that was deleted or replaced in earlier versions, goes with it.
func (w *writer) sealTexts(ctx context.Context) error {
	found := false
	for _, column := range sealedColumns {
		if column.column != "text" {
			continue
		}
		for {
			n, err := w.sealSome(ctx, column)
			if err != nil {
				return fmt.Errorf("seal texts: %w", err)
			}
			if n == 0 {
				break
			}
			found = true
		}
	}
	if !found {
		return nil
	}
	if err := w.compact(ctx); err != nil {
		w.store.log.Warn("the file of the database may still hold texts from before they were sealed: "+
			"make room on its disk, stop the server and type `sqlite3 muster.db VACUUM` in the home folder", logkey.Err(err))
	}
	return nil
}

func (w *writer) sealSome(ctx context.Context, column sealedColumn) (sealed int, err error) {
	cells, err := column.cells(ctx, w.session, nil, sealedAtOnce, `substr(`+column.column+`, 1, 1) = $1`,
		[]byte{plainFormat})
	if err != nil || len(cells) == 0 {
		return 0, err
	}
	if err := w.session.exec(ctx, w.store.dialect.begin()); err != nil {
		return 0, err
	}
	for _, cell := range cells {
		text, args := column.put(cell, w.store.seal.Seal(column.table, cell.row(), column.column, cell.sealed[1:]))
		if err := w.session.exec(ctx, text, args...); err != nil {
			return 0, errors.Join(err, w.session.exec(ctx, "ROLLBACK"))
		}
	}
	return len(cells), w.session.exec(ctx, "COMMIT")
}

// openText gives a sealed text.
func (s *Store) openText(table, row string, sealed []byte) (string, error) {
	text, err := s.seal.Open(table, row, "text", sealed)
	return string(text), err
}

// OwnKey is a key of 32 bytes for one purpose. It is kept, sealed, from the first time that it is asked for: it stays
// when the seal key is replaced, and what was made with it before goes on being recognised.
func (s *Store) OwnKey(ctx context.Context, purpose string) ([]byte, error) {
	return write(ctx, s, "keep own key", func(t *tx) ([]byte, error) {
		var sealed []byte
		err := t.row(`SELECT value FROM own_keys WHERE name = $1`, purpose).Scan(&sealed)
		if err == nil {
			return s.seal.Open("own_keys", purpose, "value", sealed)
		}
		if !absent(err) {
			return nil, err
		}
		key, err := s.seal.Derive(purpose)
		if err != nil {
			return nil, err
		}
		return key, t.exec(`INSERT INTO own_keys (name, value) VALUES ($1, $2)`, purpose,
			s.seal.Seal("own_keys", purpose, "value", key))
	})
}

// keyID is the ID of the key that seals, as it is in what is sealed.
func (s *Store) keyID() ([]byte, error) {
	id, err := hex.DecodeString(s.seal.ID())
	if err != nil {
		return nil, &fleet.Error{Code: fleet.CodeInternal, Message: "the seal key has no ID", Err: err}
	}
	return id, nil
}
