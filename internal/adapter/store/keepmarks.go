package store

import (
	"context"
	"database/sql"
	"slices"
	"strings"

	"muster/internal/fleet"
)

// keptMarks keeps the marks of rows valid across a migration, in the migration's transaction. Before the migration it
// compares the rows with their marks. Afterwards it gives new marks to the rows that were believed before and that no
// longer fit. A row that somebody forged before the upgrade is therefore not believed after it either.
type keptMarks struct {
	store  *Store
	tables []*markedTable
}

// over calls change, which migrates the tables, and keeps the marks of rows valid. from and to are the versions of the
// tables before and after. In three cases over only calls change: no table has marks yet, the seal of the ends of the
// audit does not open, or the key of the marks cannot be read.
func (k keptMarks) over(ctx context.Context, tx *sql.Tx, from, to int64, change func() error) error {
	if from < firstVersion {
		return change() // There are no tables yet.
	}
	q := inTx{tx}
	ends, opened, err := k.store.openEnds(ctx, q)
	if err != nil || !opened || len(ends.Tables) == 0 {
		return firstError(err, change)
	}
	if k.store.markKey, err = k.store.storedKey(ctx, q, markKeyPurpose); err != nil {
		return change() //nolint:nilerr // Without the key no row is believed, so none gets a mark.
	}
	before := map[string]believedRows{}
	for _, table := range k.tables {
		want, marked := ends.Tables[table.name]
		if !marked {
			continue // The table gets its first marks later, from markFirst.
		}
		if before[table.name], err = k.believed(ctx, q, table.asOf(from), want); err != nil {
			return err
		}
	}
	if err := change(); err != nil {
		return err
	}
	for _, table := range k.tables {
		if was := before[table.name]; was.rows != nil {
			if err := k.markAgain(ctx, tx, table.asOf(to), was, &ends); err != nil {
				return err
			}
		}
	}
	return k.putEnds(ctx, tx, ends)
}

func firstError(err error, next func() error) error {
	if err != nil {
		return err
	}
	return next()
}

// believedRows says which rows of a table were believed before a migration. The key of rows is markedRow.name. rows is
// nil if the table as a whole was in doubt.
type believedRows struct {
	table *markedTable // The table as it was before the migration.
	rows  map[string]bool
	all   bool // Each row was believed, so a new row can only come from the migration.
}

func (k keptMarks) believed(ctx context.Context, q querier, table *markedTable, want fleet.TableMark) (believedRows,
	error) {
	was, is := believedRows{table: table, rows: map[string]bool{}, all: true}, tally{}
	err := k.store.eachMarkedRow(ctx, q, table, "", func(row markedRow) {
		was.rows[row.name()] = row.believed
		was.all = was.all && row.believed
		is = is.withRow(k.store, table, row)
	})
	if err != nil || is != tallyOf(want) {
		return believedRows{}, err
	}
	return was, nil
}

func (k keptMarks) markAgain(ctx context.Context, tx *sql.Tx, table *markedTable, was believedRows,
	ends *fleet.AuditEnds) error {
	var changed []markedRow
	var is tally
	err := k.store.eachMarkedRow(ctx, inTx{tx}, table, "", func(row markedRow) {
		believed, known := was.rows[row.name()]
		if !row.believed && row.fits != nil && (believed || !known && was.all) {
			row.mark = row.fits
			changed = append(changed, markedRow{key: row.key, mark: row.fits})
		}
		counts := table
		if was.table.keyless && known && !believed { // It may have had another key, so the table comes to be in doubt.
			counts = was.table
		}
		is = is.withRow(k.store, counts, row)
	})
	if err != nil {
		return err
	}
	for _, row := range changed {
		if _, err := tx.ExecContext(ctx, table.putMark(), append(row.keyArgs(), row.mark)...); err != nil {
			return err
		}
	}
	ends.Tables[table.name] = fleet.TableMark{Rows: is.rows, Sum: is.sum.String(), Entry: ends.Tables[table.name].Entry}
	return nil
}

func (k keptMarks) putEnds(ctx context.Context, tx *sql.Tx, ends fleet.AuditEnds) error {
	sealed, err := k.store.sealProof(auditEnds, ends)
	if err == nil {
		_, err = tx.ExecContext(ctx, putProof, auditEnds, sealed)
	}
	return err
}

// inTx is a querier that reads in a transaction.
type inTx struct{ tx *sql.Tx }

func (q inTx) query(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	return q.tx.QueryContext(ctx, text, args...)
}

// sumsCoverKeys is the version of the tables from which on the sums of the marks cover the keys of the rows.
const sumsCoverKeys = 117

// asOf returns the table as it was at an earlier version of the tables: without the columns that were added later, and
// with a sum of the marks that does not cover the keys.
func (m *markedTable) asOf(version int64) *markedTable {
	earlier := *m
	earlier.keyless = version < sumsCoverKeys
	earlier.content = slices.DeleteFunc(slices.Clone(m.content), func(column string) bool {
		return m.later[strings.TrimSuffix(column, "?")] > version
	})
	return &earlier
}
