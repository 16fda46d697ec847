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

// markedTable is a table whose rows give power or record who did something. Each row has a mark: a keyed digest of the
// table's name, the row's key and its content, which nobody can make without Muster's own key. A row that does not fit
// its mark is not believed: it gives no power.
//
// A row that was removed leaves no mark behind, and a row that was put back as it was earlier fits its mark of that
// time. The ends of the audit show both: they contain, for each table, the number of rows and the sum of their marks
// (see tally).
type markedTable struct {
	name    string
	noun    string           // the word for a row in texts for people
	key     []string         // columns of the primary key
	content []string         // further columns that the mark covers; a "?" after the name says that the column is boolean
	later   map[string]int64 // version of the tables that added a column, by column; the first columns are not in it
	only    string           // SQL condition for the rows that have marks; "": all rows
	goes    string           // column with the ID of a device: deleting the device also deletes the row; "": none
	follows string           // text for people: the consequence for a row that is not believed
	large   bool             // A start only adds up the marks, because opening all values takes too long (see addMarksUp).
	keyless bool             // The sum of the marks does not cover the keys; see asOf.

	// missing is set for a table whose missing row gives somebody power: the row guarded something, or devices would get
	// another configuration without it. It is a text for people: what holds while the table as a whole is in doubt.
	missing string

	// accept is SQL, without a WHERE clause, that removes the power of a row. When a person accepts a doubt, it runs on
	// the rows in doubt before they get new marks. If the table as a whole is in doubt, it runs on all rows, because a
	// row that was put back fits its mark and cannot be told from the others. If accept is "", rows stay as they are.
	accept string

	// doubt changes the contents in memory so that the row with this key gives no power. key is nil if the table as a
	// whole is in doubt, because nobody knows which row was removed or put back. doubt is nil for tables that are not in
	// the contents; functions that read their rows check the marks instead.
	doubt func(c *contents, key []string)
}

// markKeyPurpose is the name under which Muster's own key for marks is stored.
const markKeyPurpose = "marks of rows"

// lostMarkKey is the finding, as a text for people, that the key of the marks is missing from the database or does not
// open.
const lostMarkKey = "the key of the marks was changed or removed in the database"

// loadMarkKey reads Muster's own key for marks, or makes it in a new database. The key stays the same when the seal
// key is replaced. If a database that has marks lost the key, loadMarkKey reports tampering and derives the key from
// the seal key again. That yields the same key unless the seal key was replaced since. The derived key is stored only
// when a person accepts the loss (see AcceptLoss).
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

// counted returns what a row contributes to the sum of its table: a keyed hash of the row's key and its mark, or zero
// without a mark. Somebody with access to the database sees the marks but cannot compute their contributions, and so
// cannot look for other marked rows that give the same sum.
//
// The sum covers the keys, so it shows that a row was given another key: the row with the earlier key is missing. The
// sum stays as it is when only the content of a row is changed, so that a doubt about the content is about that row
// alone.
func (s *Store) counted(table *markedTable, key []string, of []byte) mark {
	switch {
	case len(of) == 0:
		return mark{}
	case table.keyless:
		return mark(s.keyed("counted " + string(of)))
	}
	return mark(s.keyed(fleet.NetstringSum("muster counted 2\n", append(slices.Clone(key), string(of))...)))
}

// markedRow is a row of a marked table, as a query reads it.
type markedRow struct {
	key      []string
	content  []sql.NullString
	mark     []byte
	fits     []byte // the mark that would fit the row; nil if a sealed value of the row does not open
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

// where returns the WHERE clause for the rows that have marks and meet condition. Without a condition ("") it is for
// all rows that have marks.
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

// byKey returns the SQL condition that selects one row by its key. The values of the key are the parameters $1 and
// following.
func (m *markedTable) byKey() string {
	parts := make([]string, len(m.key))
	for i, column := range m.key {
		parts[i] = fmt.Sprintf("%s = $%d", column, i+1)
	}
	return strings.Join(parts, " AND ")
}

// putMark returns the statement that sets the mark of one row. Its parameters are those of byKey, and the mark.
func (m *markedTable) putMark() string {
	return `UPDATE ` + m.name + ` SET mark = $` + m.after() + ` WHERE ` + m.byKey()
}

// after returns the number of the first parameter that byKey does not use.
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
// plain text of sealed values, so that it stays valid when the seal key is replaced.
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

// markedValue converts a Go value to the text that markOf uses for it. nil becomes NULL.
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

// sealedKey returns the row's key as the seal of a column needs it. A sealed value opens only under the key of its own
// row. The parts of the key are in the order of sealedColumn.key, which may differ from the order in the table's key.
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

// markedRows reads the rows of a marked table that meet condition, with their marks. args are the parameters of
// condition. If condition is "", it reads all rows that have marks.
func (s *Store) markedRows(ctx context.Context, q querier, table *markedTable, condition string,
	args ...any) ([]markedRow, error) {
	all := []markedRow{}
	err := s.eachMarkedRow(ctx, q, table, condition, func(row markedRow) { all = append(all, row) }, args...)
	if err != nil {
		return nil, err
	}
	return all, nil
}

// eachMarkedRow calls do with the rows that markedRows returns. A table may have a million rows, so it keeps none of
// them in memory.
func (s *Store) eachMarkedRow(ctx context.Context, q querier, table *markedTable, condition string,
	do func(markedRow), args ...any) error {
	reader := s.newMarkReader(table)
	return eachRow(ctx, q, func(row scanner) error {
		if err := row.Scan(reader.into()...); err != nil {
			return err
		}
		do(reader.row())
		return nil
	}, `SELECT `+table.columns("")+` FROM `+table.name+table.where(condition), args...)
}

// alsoMarks is a result row of a query that selects markedTable.columns after other columns. Scan reads the other
// columns into its arguments, and the rest into marks.
type alsoMarks struct {
	scanner
	marks *markReader
}

func (a alsoMarks) Scan(into ...any) error { return a.scanner.Scan(append(into, a.marks.into()...)...) }

// believing returns a function that reads a row with scan, and also finds out whether the row is believed. A row is
// believed if it fits its mark and its table as a whole is not in doubt. The query must select table.columns after the
// columns that scan reads, so that row and mark are from the same moment.
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

// mark computes and stores the mark of a row that was inserted or replaced as a whole. Before a row is replaced, the
// caller calls unmark. key is the row's key; if there is no such row, mark does nothing. The error is errNotOpened if
// a sealed value of the row does not open.
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
	t.countChange(table, keyTexts(key), nil, made)
	return t.exec(table.putMark(), append(key, made)...)
}

// keyTexts returns the key of a row as markedRow has it.
func keyTexts(key []any) []string {
	texts := make([]string, len(key))
	for i, part := range key {
		texts[i] = markedValue(part).String
	}
	return texts
}

// unmark takes the rows that meet condition out of the table's tally. The caller calls it before these rows are deleted
// or replaced as a whole. args are the parameters of condition.
//
// A row to which another program gave this key is in the tally under its earlier key, and stays there. The table is in
// doubt until an admin accepts that the row with the earlier key is missing.
func (t *tx) unmark(table *markedTable, condition string, args ...any) error {
	return t.store.eachMark(t.ctx, t.session, table, condition, func(row markedRow) {
		t.countChange(table, row.key, row.mark, nil)
	}, args...)
}

// eachMark calls do with the key and the mark of each row that meets condition, and does not read what the mark covers.
func (s *Store) eachMark(ctx context.Context, q querier, table *markedTable, condition string, do func(markedRow),
	args ...any) error {
	into := make([]any, len(table.key)+1)
	return eachRow(ctx, q, func(r scanner) error {
		row := markedRow{key: make([]string, len(table.key))}
		for i := range row.key {
			into[i] = &row.key[i]
		}
		into[len(row.key)] = &row.mark
		if err := r.Scan(into...); err != nil {
			return err
		}
		do(row)
		return nil
	}, `SELECT `+strings.Join(table.key, ", ")+`, mark FROM `+table.name+table.where(condition), args...)
}

// marking calls write, which inserts, replaces or deletes the row with this key as a whole. It stores the row's new
// mark and changes the table's tally accordingly.
func (t *tx) marking(table *markedTable, write func() error, key ...any) error {
	if err := t.unmark(table, table.byKey(), key...); err != nil {
		return err
	}
	if err := write(); err != nil {
		return err
	}
	return t.mark(table, key...)
}

// amending calls write, which changes some columns of the row with this key, or a value that follows from the present
// one. A row that was believed before gets a new mark. A row that was not believed stays so, because Muster did not
// write its other columns or the present value.
func (t *tx) amending(table *markedTable, write func() error, key ...any) error {
	rows, err := t.store.markedRows(t.ctx, t.session, table, table.byKey(), key...)
	if err != nil {
		return err
	}
	if len(rows) > 0 && !rows[0].believed {
		return t.disowning(table, write, key...)
	}
	return t.marking(table, write, key...)
}

// disowning calls write, which changes a row that is not believed, and removes the mark of the row. Otherwise the row
// could come to fit its old mark.
func (t *tx) disowning(table *markedTable, write func() error, key ...any) error {
	if err := t.unmark(table, table.byKey(), key...); err != nil {
		return err
	}
	if err := write(); err != nil {
		return err
	}
	return t.exec(`UPDATE `+table.name+` SET mark = NULL WHERE `+table.byKey(), key...)
}

// count notes in the transaction's effects how the tally of a table changes. rows is added to its number of rows. m is
// combined into the sum of its marks by exclusive or.
func (t *tx) count(table *markedTable, rows int64, m mark) {
	if t.effects.tallies == nil {
		t.effects.tallies = tallies{}
	}
	t.effects.tallies.add(table.name, tally{rows, m})
}

// countChange notes in the transaction's effects that the mark of the row with this key changes. before is the old
// mark, after is the new one. nil means that the row has no mark.
func (t *tx) countChange(table *markedTable, key []string, before, after []byte) {
	if before != nil {
		t.count(table, -1, t.store.counted(table, key, before))
	}
	if after != nil {
		t.count(table, 1, t.store.counted(table, key, after))
	}
}

// tally is the number of a table's rows that have marks, and the sum of their marks: what counted returns for each,
// combined by exclusive or. In the effects of a transaction, a tally is the change of both.
type tally struct {
	rows int64
	sum  mark
}

func (one tally) with(other tally) tally {
	return tally{one.rows + other.rows, one.sum.with(other.sum)}
}

// withRow returns the tally with a further row, which counts if it has a mark.
func (one tally) withRow(s *Store, table *markedTable, row markedRow) tally {
	if row.mark == nil {
		return one
	}
	return one.with(tally{1, s.counted(table, row.key, row.mark)})
}

// tallies maps the name of a table to its tally.
type tallies map[string]tally

func (all tallies) add(table string, change tally) {
	all[table] = all[table].with(change)
}

// into adds these changes of tallies to the tallies in the ends of the audit.
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
