package store

import (
	"context"
	"errors"
	"fmt"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

// doubt describes how one marked table differs from what Muster wrote. See markedTable for marks.
type doubt struct {
	table *markedTable
	rows  []markedRow // the rows that do not fit their marks
	whole bool        // The rows together are not those that the ends expect; see doubtsIn.
	lost  int64       // number of missing rows; negative: number of surplus rows
}

func (d doubt) tells() (told []string) {
	for _, row := range d.rows {
		told = append(told, notAsWritten(d.table, row))
	}
	if d.whole {
		what := "a row was put back as it was earlier"
		switch {
		case d.lost > 0:
			what = fmt.Sprintf("rows missing: %d", d.lost)
		case d.lost < 0:
			what = fmt.Sprintf("rows too many: %d", -d.lost)
		}
		told = append(told, fmt.Sprintf("the table %s is not as Muster wrote it (%s): none of its rows is believed, and %s",
			d.table.name, what, d.table.follows))
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
func (s *Store) doubtsIn(ctx context.Context, q querier, tables []*markedTable, pending tallies) (doubts []doubt,
	err error) {
	ends, opened, err := s.openEnds(ctx, q)
	if err != nil {
		return nil, err
	}
	for _, table := range tables {
		rows, err := s.markedRows(ctx, q, table, "")
		if err != nil {
			return nil, err
		}
		d, is := doubt{table: table}, s.tallyIn(rows)
		for _, row := range rows {
			if !row.believed {
				d.rows = append(d.rows, row)
			}
		}
		want := tallyOf(ends.Tables[table.name]).with(pending[table.name])
		d.whole, d.lost = !opened || is.sum != want.sum, want.rows-is.rows
		if d.whole || len(d.rows) > 0 {
			doubts = append(doubts, d)
		}
	}
	return doubts, nil
}

// disbelieve removes the power of rows and tables in doubt from the contents in memory. The doubt function of each
// table says how.
func (c *contents) disbelieve(doubts []doubt) {
	c.doubted = map[string]bool{}
	for _, d := range doubts {
		c.doubted[d.table.name] = d.whole
		c.inDoubt = append(c.inDoubt, d.tells()...)
		if d.table.doubt == nil {
			continue
		}
		for _, row := range d.rows {
			d.table.doubt(c, row.key)
		}
		if d.whole {
			d.table.doubt(c, nil)
		}
	}
}

// doubted reports whether a table as a whole was in doubt when the contents were last read.
func (s *Store) doubted(table *markedTable) (doubted bool) {
	s.model.look(func(c *contents) { doubted = c.doubted[table.name] })
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
	rows, err := t.store.markedRows(t.ctx, t.session, table, "")
	if err != nil {
		return err
	}
	t.count(table, 0, mark{})
	marked := 0
	for _, row := range rows {
		err := t.mark(table, row.keyArgs()...)
		if err != nil && !errors.Is(err, errNotOpened) {
			return err
		}
		if err == nil {
			marked++
		}
	}
	t.record("audit.marks", table.name, fmt.Sprintf("its rows have marks from here on: %d", marked))
	return nil
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
// rows too; they get no marks and are not believed.
func (t *tx) markBeginning() error {
	return errors.Join(t.mark(metaRows, "settled_generation"), t.mark(rootRows, "", "~/Sync"))
}
