package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

// acceptHint says what to type about a row that is not believed.
const acceptHint = "Type `muster audit verify`, and find out what else writes to the database. An admin accepts it " +
	"as it is with `muster audit accept-loss ENTRY`, where ENTRY is the last one that `muster audit list` shows."

// maxDoubtRows is how many rows in doubt are named for each table.
const maxDoubtRows = 1000

// doubt describes how one marked table differs from what Muster wrote. See markedTable for marks.
type doubt struct {
	table *markedTable
	rows  []markedRow // keys of the first maxDoubtRows rows that do not fit their marks
	more  int         // number of further rows that do not fit their marks
	whole bool        // The rows together are not those that the ends expect; see doubtsIn.
	lost  int64       // number of missing rows; negative: number of surplus rows
}

// every reports whether no row of the table is believed, because nobody knows which rows the doubt is about, or because
// they are too many to name.
func (d doubt) every() bool { return d.whole || d.more > 0 }

// names reports whether the row with this key is one of those that do not fit their marks.
func (d doubt) names(key ...string) bool {
	return slices.ContainsFunc(d.rows, func(row markedRow) bool { return slices.Equal(row.key, key) })
}

func (d doubt) tells() (told []string) {
	for _, row := range d.rows {
		told = append(told, notAsWritten(d.table, row))
	}
	if d.more > 0 {
		told = append(told, fmt.Sprintf("further rows of the table %s were changed or added (%d): none of its rows is "+
			"believed, and %s", d.table.name, d.more, d.table.follows))
	}
	if d.whole {
		what := "a row was put back as it was earlier, or was given another key"
		switch {
		case d.lost > 0:
			what = fmt.Sprintf("rows missing: %d", d.lost)
		case d.lost < 0:
			what = fmt.Sprintf("rows too many: %d", -d.lost)
		}
		told = append(told, fmt.Sprintf("the table %s is not as Muster wrote it (%s): none of its rows is believed, and %s",
			d.table.name, what, cmp.Or(d.table.missing, d.table.follows)))
	}
	return told
}

func notAsWritten(table *markedTable, row markedRow) string {
	return fmt.Sprintf("%s %q (table %s) was changed or added: %s", table.noun, row.name(), table.name, table.follows)
}

// notBelieved is called for a row that does not fit its mark. The first time for each row, it logs the row and adds it
// to the findings of tampering.
func (s *Store) notBelieved(table *markedTable, row markedRow) {
	told := notAsWritten(table, row)
	if s.tampering.addOnce(told) {
		s.log.Error("a row in the database was not written by Muster", "table", table.name, "row", row.name(),
			logkey.Next, "type `muster audit verify`")
	}
}

// doubtsIn compares each row of the tables with its mark, and each table as a whole with the ends of the audit. It
// returns a doubt for each table that differs. q must read everything as of one moment. pending are the changes of
// tallies that are not in the ends yet.
func (s *Store) doubtsIn(ctx context.Context, q querier, tables []*markedTable, pending tallies) ([]doubt, error) {
	return s.doubtsBy(ctx, q, tables, pending, s.compareRows)
}

// doubtsAtStart is doubtsIn without the rows of large tables: whether these rows fit their marks is found when they are
// read.
func (s *Store) doubtsAtStart(ctx context.Context, q querier, tables []*markedTable) ([]doubt, error) {
	return s.doubtsBy(ctx, q, tables, nil, func(ctx context.Context, q querier, d *doubt) (tally, error) {
		if d.table.large {
			return s.addMarksUp(ctx, q, d.table)
		}
		return s.compareRows(ctx, q, d)
	})
}

// doubtsBy is doubtsIn with the function that reads the rows of a table.
func (s *Store) doubtsBy(ctx context.Context, q querier, tables []*markedTable, pending tallies,
	read func(context.Context, querier, *doubt) (tally, error)) (doubts []doubt, err error) {
	ends, opened, err := s.openEnds(ctx, q)
	if err != nil {
		return nil, err
	}
	for _, table := range tables {
		d := doubt{table: table}
		is, err := read(ctx, q, &d)
		if err != nil {
			return nil, err
		}
		want := tallyOf(ends.Tables[table.name]).with(pending[table.name])
		d.whole, d.lost = !opened || is.sum != want.sum, want.rows-is.rows
		if d.whole || len(d.rows) > 0 {
			doubts = append(doubts, d)
		}
	}
	return doubts, nil
}

// compareRows adds the rows that do not fit their marks to the doubt about their table, and returns the table's tally.
func (s *Store) compareRows(ctx context.Context, q querier, d *doubt) (is tally, err error) {
	err = s.eachMarkedRow(ctx, q, d.table, "", func(row markedRow) {
		is = is.withRow(s, d.table, row)
		d.add(row)
	})
	return is, err
}

// addMarksUp returns the tally of a table from its keys and marks alone, without reading what else they cover.
func (s *Store) addMarksUp(ctx context.Context, q querier, table *markedTable) (is tally, err error) {
	err = s.eachMark(ctx, q, table, "", func(row markedRow) { is = is.withRow(s, table, row) })
	return is, err
}

// add adds a row to the doubt, unless it fits its mark.
func (d *doubt) add(row markedRow) {
	if row.believed {
		return
	}
	switch {
	case len(d.rows) < maxDoubtRows:
		d.rows = append(d.rows, markedRow{key: row.key})
	default:
		d.more++
	}
}

// doubtsBefore returns the doubts of the last comparison about tables that are not in compared.
func (s *Store) doubtsBefore(compared []*markedTable) (doubts []doubt) {
	s.model.look(func(c *contents) {
		for _, d := range c.doubts {
			if !slices.Contains(compared, d.table) {
				doubts = append(doubts, d)
			}
		}
	})
	return doubts
}

// disbelieve removes the power of rows and tables in doubt from the contents in memory. The doubt function of each
// table says how.
func (c *contents) disbelieve(doubts []doubt) {
	c.doubts = doubts
	for _, d := range doubts {
		if d.table.doubt == nil {
			continue
		}
		for _, row := range d.rows {
			d.table.doubt(c, row.key)
		}
		if d.every() {
			d.table.doubt(c, nil)
		}
	}
}

// doubted reports whether no row of a table was believed when it was last compared.
func (s *Store) doubted(table *markedTable) (doubted bool) {
	s.model.look(func(c *contents) {
		doubted = slices.ContainsFunc(c.doubts, func(d doubt) bool { return d.table == table && d.every() })
	})
	return doubted
}

// verifyMarks describes the rows and tables with marks that are not as Muster wrote them.
func (s *Store) verifyMarks(ctx context.Context) (wrong []string, err error) {
	err = s.atOnce(ctx, func(q querier) error {
		doubts, err := s.doubtsIn(ctx, q, markedTables, nil)
		for _, d := range doubts {
			wrong = append(wrong, d.tells()...)
		}
		return err
	})
	return wrong, err
}

// atOnce calls read with a querier whose queries all run in one transaction and see the same moment.
func (s *Store) atOnce(ctx context.Context, read func(querier) error) (err error) {
	conn, err := s.reads.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if _, err := conn.ExecContext(ctx, s.dialect.beginRead()); err != nil {
		return err
	}
	defer func() { // ctx may have ended
		_, failed := conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
		err = errors.Join(err, failed)
	}()
	return read(oneMoment{conn})
}

// markFirst marks all rows of each marked table that the ends do not list yet: an earlier version of Muster wrote
// them, so they are believed this one time. If the ends are missing or do not open, or while a loss is not accepted,
// anybody may have written the rows. Then markFirst does nothing.
func (w *writer) markFirst(ctx context.Context) error {
	ends, opened, err := w.store.openEnds(ctx, w.session)
	if err != nil || !opened || w.store.loss.now() != nil {
		return err
	}
	for _, table := range markedTables {
		if _, there := ends.Tables[table.name]; there {
			continue
		}
		if err := w.alone(ctx, func(t *tx) error { return t.markAll(table) }); err != nil {
			return err
		}
	}
	return nil
}

// markAll marks all rows of a table. A row with a sealed value that does not open gets no mark.
func (t *tx) markAll(table *markedTable) error {
	is, err := t.markMisfits(table)
	if err != nil {
		return err
	}
	t.count(table, is.rows, is.sum)
	t.record("audit.marks", table.name, fmt.Sprintf("its rows have marks from here on: %d", is.rows))
	return nil
}

// freezeMarked keeps other programs from writing to marked tables until the transaction ends. What is written between
// the comparison and the new marks would be believed.
func (t *tx) freezeMarked() error {
	names := make([]string, len(markedTables))
	for i, table := range markedTables {
		names[i] = table.name
	}
	if text := t.store.dialect.freeze(strings.Join(names, ", ")); text != "" {
		return t.exec(text)
	}
	return nil
}

// markMisfits gives the rows of a table that do not fit their marks new ones, and returns the tally that the table has
// then. The caller counts the difference. A row with a sealed value that does not open stays as it is.
func (t *tx) markMisfits(table *markedTable) (is tally, err error) {
	var misfits []markedRow
	err = t.store.eachMarkedRow(t.ctx, t.session, table, "", func(row markedRow) {
		if !row.believed && row.fits != nil {
			row.mark = row.fits
			misfits = append(misfits, markedRow{key: row.key, mark: row.fits})
		}
		is = is.withRow(t.store, table, row)
	})
	if err != nil {
		return is, err
	}
	for _, row := range misfits {
		if err := t.exec(table.putMark(), append(row.keyArgs(), row.mark)...); err != nil {
			return is, err
		}
	}
	return is, nil
}

func (r markedRow) keyArgs() (args []any) {
	for _, part := range r.key {
		args = append(args, part)
	}
	return args
}

// beginTables makes the ends list all marked tables. A table that they did not list before is listed as empty. If it
// has rows, none of them is believed.
func beginTables(ends *fleet.AuditEnds) {
	tables := map[string]fleet.TableMark{}
	for _, table := range markedTables {
		tables[table.name] = ends.Tables[table.name]
	}
	ends.Tables = tables
}

// markBeginning marks those rows of a new database that migrations wrote. A database that lost its ends may have other
// rows or values; they get no marks and are not believed.
func (t *tx) markBeginning() error {
	err := t.mark(rootRows, "", "~/Sync")
	var settled string
	if err == nil {
		err = t.row(`SELECT value FROM meta WHERE name = 'settled_generation'`).Scan(&settled)
	}
	if settled != "0" {
		return err
	}
	return t.mark(metaRows, "settled_generation")
}
