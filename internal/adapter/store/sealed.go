package store

import (
	"context"
	"database/sql"
	"encoding/hex"
	"fmt"
	"strings"

	"muster/internal/fleet"
)

// sealedColumn is a column with sealed values. A value is sealed for one place: the table, the row's key and the
// column. If the key has several columns, the place has their values with slashes between them.
type sealedColumn struct {
	table  string
	key    []string
	column string
}

// sealedColumns lists all columns with sealed values; a test compares the list with the tables. One value in the
// table meta, the seal check, is sealed too, but stored as hexadecimal text.
var sealedColumns = []sealedColumn{
	{"devices", []string{"id"}, "api_key"},
	{"devices", []string{"id"}, "proof"},
	{"enrollment_decisions", []string{"device_id"}, "proof"},
	{"secrets", []string{"name"}, "value"},
	{"settings", []string{"name"}, "value"},
	{"sinks", []string{"name"}, "body"},
	{"own_keys", []string{"name"}, "value"},
	{"proofs", []string{"name"}, "body"},
	{"sessions", []string{"id"}, "proof"},
	{"sessions", []string{"id"}, "provider_grant"},
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
	{"base_entries", []string{"device_id", "key"}, "revoked"},
	{"folder_proofs", []string{"folder"}, "body"},
	{"revision_bodies", []string{"device_id", "digest"}, "document"},
}

// sealedCell is one value in a sealedColumn.
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

// cells reads at most limit cells of a column, in the order of their keys. after is the key after which it begins; nil
// means at the first cell. condition is an SQL condition that may use arg as $1.
func (c sealedColumn) cells(ctx context.Context, q querier, after []any, limit int, condition string,
	arg any) ([]sealedCell, error) {
	args := []any{arg, limit}
	var beyond strings.Builder
	for i, key := range after {
		fmt.Fprintf(&beyond, "%s$%d", map[bool]string{true: ", "}[i > 0], len(args)+1)
		args = append(args, key)
	}
	keys := strings.Join(c.key, ", ")
	text := `SELECT ` + keys + `, ` + c.column + ` FROM ` + c.table + ` WHERE ` + c.column + ` IS NOT NULL AND ` +
		condition
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

// put returns the statement that gives a cell a new value. The statement changes nothing if the cell was changed since
// it was read.
func (c sealedColumn) put(cell sealedCell, value []byte) (text string, args []any) {
	args = []any{value, cell.sealed}
	text = `UPDATE ` + c.table + ` SET ` + c.column + ` = $1 WHERE ` + c.column + ` = $2`
	for i, key := range c.key {
		args = append(args, cell.key[i])
		text += fmt.Sprintf(` AND %s = $%d`, key, len(args))
	}
	return text, args
}

// openText opens a sealed value of a column that is named text.
func (s *Store) openText(table, row string, sealed []byte) (string, error) {
	text, err := s.seal.Open(table, row, "text", sealed)
	return string(text), err
}

// OwnKey returns Muster's own key of 32 bytes for one purpose. The first call for a purpose makes the key and stores
// it sealed. The key stays the same when the seal key is replaced, so that digests made with it remain valid.
func (s *Store) OwnKey(ctx context.Context, purpose string) ([]byte, error) {
	return write(ctx, s, "keep own key", func(t *tx) ([]byte, error) { return t.ownKey(purpose) })
}

func (t *tx) ownKey(purpose string) ([]byte, error) {
	key, err := t.store.storedKey(t.ctx, t.session, purpose)
	if !absent(err) {
		return key, err
	}
	if key, err = t.store.seal.Derive(purpose); err != nil {
		return nil, err
	}
	return key, t.putOwnKey(purpose, key)
}

// storedKey returns Muster's own key for a purpose, opened. It returns sql.ErrNoRows if no such key is stored.
func (s *Store) storedKey(ctx context.Context, q querier, purpose string) ([]byte, error) {
	sealed, err := collect(ctx, q, func(row scanner) (one []byte, err error) { return one, row.Scan(&one) },
		`SELECT value FROM own_keys WHERE name = $1`, purpose)
	if err != nil {
		return nil, err
	}
	if len(sealed) == 0 {
		return nil, sql.ErrNoRows
	}
	return s.seal.Open("own_keys", purpose, "value", sealed[0])
}

func (t *tx) putOwnKey(purpose string, key []byte) error {
	return t.exec(`INSERT INTO own_keys (name, value) VALUES ($1, $2)
		ON CONFLICT (name) DO UPDATE SET value = excluded.value`, purpose,
		t.store.seal.Seal("own_keys", purpose, "value", key))
}

// keyID returns the ID of the present seal key, in the form in which sealed values contain it.
func (s *Store) keyID() ([]byte, error) {
	id, err := hex.DecodeString(s.seal.ID())
	if err != nil {
		return nil, &fleet.Error{Code: fleet.CodeInternal, Message: "the seal key has no ID", Err: err}
	}
	return id, nil
}
