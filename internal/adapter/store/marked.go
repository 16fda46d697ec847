package store

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

// markedTable is a table whose rows give power or record who did something. Each row has a mark: a keyed digest of
// the table's name, the row's key and its content, which nobody can make without Muster's own key. A row that does
// not fit its mark is not believed: it has no effect. For each table, the ends of the audit contain the number of
// rows and the sum of their marks. They show when a row was removed, or put back as it was earlier with its mark of
// that time.
type markedTable struct {
	name    string
	noun    string           // the word for a row in texts for people
	key     []string         // columns of the primary key
	content []string         // further columns that the mark covers; "?" at the end marks a boolean
	later   map[string]int64 // the version of the tables that added a column, by column; none for original columns
	only    string           // SQL condition for the rows that have marks; "": all rows
	goes    string           // column of the device whose deletion deletes the row by cascade; "": none
	follows string           // text that tells a person the effect of not believing a row

	// accept is SQL that removes the power of a row in doubt before an accepted loss marks it; "": the row stays as it is.
	accept string

	// doubt changes the contents in memory so that the row with this key gives no power. key is nil if the table as a
	// whole is in doubt, because nobody knows which row was removed or put back. The function is nil for tables that
	// are not in the contents; readers of their rows check the marks.
	doubt func(c *contents, key []string)
}

// markKeyPurpose is the name under which Muster's own key for marks is stored.
const markKeyPurpose = "marks of rows"

// lostMarkKey is the text for people that the key for marks is missing from the database.
const lostMarkKey = "the key of the marks was changed or removed in the database"

// loadMarkKey reads Muster's own key for marks, or makes it in a new database. The key stays the same when the seal
// key is replaced. If a database that has marks lost the key, loadMarkKey derives it from the seal key again. That
// yields the same key unless the seal key was replaced since. AcceptLoss stores a derived key.
func (t *tx) loadMarkKey() error {
	ends, opened, err := t.store.openEnds(t.ctx, t.session)
	if err != nil {
		return err
	}
	hasMarks := opened && len(ends.Tables) > 0
	key, err := t.store.storedKey(t.ctx, t.session, markKeyPurpose)
	code := fleet.CodeOf(err)
	switch {
	case absent(err) && !hasMarks:
		t.store.markKey, err = t.ownKey(markKeyPurpose)
		return err
	case absent(err), err != nil && (code == fleet.CodeInternal || code == fleet.CodeConflict):
		t.store.log.Error(lostMarkKey, logkey.Err(err), logkey.Next, "type `muster audit verify`")
		t.store.lostKey = true
		t.store.tampering.add(lostMarkKey)
		key, err = t.store.seal.Derive(markKeyPurpose)
	}
	t.store.markKey = key
	return err
}

// keyed returns the HMAC of text with Muster's own key for marks.
func (s *Store) keyed(text string) []byte {
	h := hmac.New(sha256.New, s.markKey)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// counted returns the value that a row's mark adds to the sum of its table. Somebody who reads the database sees
// marks but cannot compute this value, and so cannot choose rows with an equal sum.
func (s *Store) counted(of []byte) mark {
	if len(of) == 0 {
		return mark{}
	}
	return mark(s.keyed("counted " + string(of)))
}

// markedRow is a row of a marked table, as a query reads it.
type markedRow struct {
	key      []string
	content  []sql.NullString
	mark     []byte
	fits     []byte // the mark that fits the row; nil where a sealed value does not open
	believed bool
}

// last returns the last value of the content, or "" if there is none.
func (r markedRow) last() string {
	if len(r.content) == 0 {
		return ""
	}
	return r.content[len(r.content)-1].String
}

func (r markedRow) name() string { return strings.Join(r.key, ", ") }

// columns returns the columns that a query selects for a markReader. alias is the table's alias in the query, or "".
func (m *markedTable) columns(alias string) string {
	if alias != "" {
		alias += "."
	}
	var all []string
	for _, column := range m.key {
		all = append(all, alias+column)
	}
	for _, column := range m.content {
		if name, boolean := strings.CutSuffix(column, "?"); boolean {
			all = append(all, "CASE WHEN "+alias+name+" THEN 1 ELSE 0 END") // The databases return booleans differently.
		} else {
			all = append(all, alias+column)
		}
	}
	return strings.Join(append(all, alias+"mark"), ", ")
}

// where returns the WHERE clause for marked rows that also meet condition, which may be "".
func (m *markedTable) where(condition string) string {
	switch {
	case m.only == "" && condition == "":
		return ""
	case m.only == "":
		return " WHERE " + condition
	case condition == "":
		return " WHERE " + m.only
	}
	return " WHERE " + m.only + " AND (" + condition + ")"
}

// byKey returns the condition that selects one row, with the key as parameters from $1 on.
func (m *markedTable) byKey() string {
	parts := make([]string, len(m.key))
	for i, column := range m.key {
		parts[i] = fmt.Sprintf("%s = $%d", column, i+1)
	}
	return strings.Join(parts, " AND ")
}

// after returns the number of the first parameter after those of byKey.
func (m *markedTable) after() string { return strconv.Itoa(len(m.key) + 1) }

// markReader receives the values of markedTable.columns from a query.
type markReader struct {
	store  *Store
	table  *markedTable
	values []sql.NullString
	mark   []byte
}

func (s *Store) newMarkReader(table *markedTable) *markReader {
	return &markReader{store: s, table: table, values: make([]sql.NullString, len(table.key)+len(table.content))}
}

func (r *markReader) into() (into []any) {
	for i := range r.values {
		into = append(into, &r.values[i])
	}
	return append(into, &r.mark)
}

// row returns the row that was read last.
func (r *markReader) row() (row markedRow) {
	row.mark = r.mark
	for i := range r.table.key {
		row.key = append(row.key, r.values[i].String)
	}
	row.content = slices.Clone(r.values[len(r.table.key):])
	row.fits = r.fitting(row.key)
	row.believed = row.fits != nil && subtle.ConstantTimeCompare(r.mark, row.fits) == 1
	return row
}

func (r *markReader) believed() bool { return r.row().believed && !r.store.doubted(r.table) }

// fitting returns the mark that fits the row, or nil if one of its sealed values does not open. The mark covers the
// plain text of a sealed value, so that it stays valid when the seal key is replaced.
func (r *markReader) fitting(key []string) []byte {
	content := slices.Clone(r.values[len(r.table.key):])
	for i, column := range r.table.content {
		if value := &content[i]; value.Valid && isSealed(r.table.name, column) {
			plain, err := r.store.seal.Open(r.table.name, strings.Join(r.sealedKey(column), "/"), column, []byte(value.String))
			if err != nil {
				return nil
			}
			value.String = string(plain)
		}
	}
	return r.store.markOf(r.table, key, content)
}

// markOf returns the mark of a row with this key and content.
func (s *Store) markOf(table *markedTable, key []string, content []sql.NullString) []byte {
	fields := append([]string{table.name}, key...)
	for i, value := range content {
		field := "absent"
		if value.Valid {
			field = "is " + value.String
		}
		fields = append(fields, table.content[i], field)
	}
	return s.keyed(fleet.NetstringSum("muster mark 1\n", fields...))
}

// markedValue converts a Go value to the form in which marks cover it.
func markedValue(value any) sql.NullString {
	switch v := value.(type) {
	case bool:
		return sql.NullString{String: map[bool]string{true: "1", false: "0"}[v], Valid: true}
	case nil:
		return sql.NullString{}
	}
	return sql.NullString{String: fmt.Sprint(value), Valid: true}
}

func isSealed(table, column string) bool { return sealedKeyOf(table, column) != nil }

func sealedKeyOf(table, column string) []string {
	for _, sealed := range sealedColumns {
		if sealed.table == table && sealed.column == column {
			return sealed.key
		}
	}
	return nil
}

// sealedKey returns the row's key in the order in which the seal of a column names it.
func (r *markReader) sealedKey(column string) (key []string) {
	for _, part := range sealedKeyOf(r.table.name, column) {
		for i, name := range r.table.key {
			if name == part {
				key = append(key, r.values[i].String)
			}
		}
	}
	return key
}

// markedRows reads rows of a marked table with their marks.
func (s *Store) markedRows(ctx context.Context, q querier, table *markedTable, condition string,
	args ...any) ([]markedRow, error) {
	reader := s.newMarkReader(table)
	return collect(ctx, q, func(row scanner) (markedRow, error) {
		if err := row.Scan(reader.into()...); err != nil {
			return markedRow{}, err
		}
		return reader.row(), nil
	}, `SELECT `+table.columns("")+` FROM `+table.name+table.where(condition), args...)
}

// alsoMarks is a result row whose query selects markedTable.columns after its own columns. Scan reads both.
type alsoMarks struct {
	scanner
	marks *markReader
}

func (a alsoMarks) Scan(into ...any) error { return a.scanner.Scan(append(into, a.marks.into()...)...) }

// believing extends scan: the result also says whether the row is believed. The query selects table.columns after the
// columns of scan, so that both are read at the same moment.
func believing[T any](s *Store, table *markedTable, scan func(scanner) (T, error)) func(scanner) (checked[T], error) {
	reader := s.newMarkReader(table)
	return func(row scanner) (c checked[T], err error) {
		if c.value, err = scan(alsoMarks{row, reader}); err != nil {
			return c, err
		}
		read := reader.row()
		if c.believed = read.believed; !c.believed {
			s.notBelieved(table, read)
		}
		c.believed = c.believed && !s.doubted(table)
		return c, nil
	}
}

// checked is a value that was read from a marked row, and whether that row is believed.
type checked[T any] struct {
	value    T
	believed bool
}

// onlyBelieved returns the values of the rows that are believed.
func onlyBelieved[T any](rows []checked[T]) []T {
	values := make([]T, 0, len(rows))
	for _, row := range rows {
		if row.believed {
			values = append(values, row.value)
		}
	}
	return values
}

var errNotOpened = errors.New("a sealed value does not open")

// mark computes and stores the mark of a row that was inserted or replaced as a whole. For a replaced row the caller
// has called unmark before.
func (t *tx) mark(table *markedTable, key ...any) error {
	reader := t.store.newMarkReader(table)
	err := t.row(`SELECT `+table.columns("")+` FROM `+table.name+table.where(table.byKey()), key...).Scan(reader.into()...)
	if absent(err) {
		return nil // Nothing was inserted, because the row's owner was deleted meanwhile.
	}
	if err != nil {
		return err
	}
	made := reader.row().fits
	if made == nil {
		return fmt.Errorf("mark a row of %s: %w", table.name, errNotOpened)
	}
	t.count(table, 1, t.store.counted(made))
	return t.exec(`UPDATE `+table.name+` SET mark = $`+table.after()+` WHERE `+table.byKey(), append(key, made)...)
}

// unmark takes the marks of rows out of the table's sum. It is called before the rows are deleted or replaced as a
// whole.
func (t *tx) unmark(table *markedTable, condition string, args ...any) error {
	marks, err := collect(t.ctx, t.session, func(row scanner) (one []byte, err error) { return one, row.Scan(&one) },
		`SELECT mark FROM `+table.name+table.where(condition), args...)
	for _, one := range marks {
		t.countChange(table, one, nil)
	}
	return err
}

// marking runs a write that inserts, replaces or deletes one row as a whole, and keeps the row's mark and the table's
// sum right.
func (t *tx) marking(table *markedTable, write func() error, key ...any) error {
	if err := t.unmark(table, table.byKey(), key...); err != nil {
		return err
	}
	if err := write(); err != nil {
		return err
	}
	return t.mark(table, key...)
}

// amending runs a write that changes some columns of one row. A row that is believed gets a new mark. A row that is
// not believed stays so, because Muster did not write its other columns.
func (t *tx) amending(table *markedTable, write func() error, key ...any) error {
	rows, err := t.store.markedRows(t.ctx, t.session, table, table.byKey(), key...)
	if err != nil {
		return err
	}
	if len(rows) == 0 || !rows[0].believed {
		return write()
	}
	return t.marking(table, write, key...)
}

// count adds to the transaction's effects by how much a table's number of rows and the sum of their marks change.
func (t *tx) count(table *markedTable, rows int64, m mark) {
	if t.effects.tallies == nil {
		t.effects.tallies = tallies{}
	}
	t.effects.tallies.add(table.name, tally{rows, m})
}

// countChange adds to the transaction's effects that a row's mark changes from was to is. nil means no mark.
func (t *tx) countChange(table *markedTable, was, is []byte) {
	if was != nil {
		t.count(table, -1, t.store.counted(was))
	}
	if is != nil {
		t.count(table, 1, t.store.counted(is))
	}
}

// tally is a number of rows and the sum of counted over their marks. In the effects of a transaction it is the change
// of both.
type tally struct {
	rows int64
	sum  mark
}

func (one tally) with(other tally) tally {
	return tally{one.rows + other.rows, one.sum.with(other.sum)}
}

// tallyIn returns the tally of rows.
func (s *Store) tallyIn(rows []markedRow) (is tally) {
	for _, row := range rows {
		if row.mark != nil {
			is = is.with(tally{1, s.counted(row.mark)})
		}
	}
	return is
}

// tallies maps the name of a table to its tally.
type tallies map[string]tally

func (all tallies) add(table string, change tally) {
	all[table] = all[table].with(change)
}

// into adds the changes to the tallies that the ends of the audit contain.
func (all tallies) into(ends *fleet.AuditEnds) {
	tables := make(map[string]fleet.TableMark, len(ends.Tables)+len(all))
	for name, of := range ends.Tables {
		tables[name] = of
	}
	for name, change := range all {
		now := tallyOf(tables[name]).with(change)
		tables[name] = fleet.TableMark{Rows: now.rows, Sum: now.sum.String(), Entry: ends.LastID}
	}
	ends.Tables = tables
}

func tallyOf(m fleet.TableMark) tally { return tally{m.Rows, parseMark(m.Sum)} }
