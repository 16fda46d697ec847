package store

import (
	"context"
	"fmt"
	"time"
)

const (
	resealLength = 32                    // cells in one transaction; there are few, because other writes wait for it
	resealPause  = 10 * time.Millisecond // pause between transactions, so that others can use the disk
)

// otherKey returns the SQL condition for values of the column that were sealed with another key than the one whose ID
// is $1.
func (c sealedColumn) otherKey() string { return `substr(` + c.column + `, 2, 8) <> $1` }

// ReplaceSeal calls replace, which gives the Sealer a new key. The call is a write in the writer's queue, so no other
// write is in progress then. When ReplaceSeal returns, every value that a write sealed with the former key is
// committed, and Reseal finds it.
func (s *Store) ReplaceSeal(ctx context.Context, replace func()) error {
	_, err := write(ctx, s, "replace seal key", func(t *tx) (none struct{}, err error) {
		before := s.seal.ID()
		replace()
		t.record("seal.rotate", s.seal.ID(), "before: "+before)
		return none, nil
	})
	return err
}

// Reseal opens every value that was sealed with another key than the present one, and seals it with the present one.
// It does so in small writes with a pause after each. When it returns without an error, no row has a value that was
// sealed with another key, and SQLite's files do not contain one either. step is called after each write, for tests.
func (s *Store) Reseal(ctx context.Context, step func()) error {
	for {
		for _, column := range sealedColumns {
			if err := s.resealColumn(ctx, column, step); err != nil {
				return failure("seal anew", err)
			}
		}
		if err := s.resealCheck(ctx); err != nil {
			return err
		}
		left, err := s.otherwiseSealed(ctx)
		if err != nil {
			return failure("seal anew", err)
		}
		if left == 0 {
			return s.Scrub(ctx)
		}
	}
}

func (s *Store) resealColumn(ctx context.Context, column sealedColumn, step func()) error {
	id, err := s.keyID()
	if err != nil {
		return err
	}
	for after := []any(nil); ; {
		cells, err := column.cells(ctx, pool{s.reads}, after, resealLength, column.otherKey(), id)
		if err != nil || len(cells) == 0 {
			return err
		}
		if err := s.resealCells(ctx, column, cells); err != nil {
			return err
		}
		step()
		after = cells[len(cells)-1].key
		select {
		case <-time.After(resealPause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *Store) resealCells(ctx context.Context, column sealedColumn, cells []sealedCell) error {
	fresh := make([][]byte, len(cells))
	for i, cell := range cells {
		plain, err := s.seal.Open(column.table, cell.row(), column.column, cell.sealed)
		if err != nil {
			return fmt.Errorf("row %s: %w", cell.row(), err)
		}
		fresh[i] = s.seal.Seal(column.table, cell.row(), column.column, plain)
	}
	_, err := write(ctx, s, "seal anew", func(t *tx) (none struct{}, err error) {
		for i, cell := range cells {
			text, args := column.put(cell, fresh[i])
			if err := t.exec(text, args...); err != nil {
				return none, err
			}
		}
		return none, nil
	})
	return err
}

func (s *Store) resealCheck(ctx context.Context) error {
	_, err := write(ctx, s, "seal anew", func(t *tx) (none struct{}, err error) {
		return none, t.exec(`UPDATE meta SET value = $1 WHERE name = 'seal_check'`, s.sealedCheck())
	})
	return err
}

// otherwiseSealed counts the cells that were sealed with another key than the present one.
func (s *Store) otherwiseSealed(ctx context.Context) (left int, err error) {
	id, err := s.keyID()
	if err != nil {
		return 0, err
	}
	for _, column := range sealedColumns {
		var n int
		err := s.reads.QueryRowContext(ctx, `SELECT COUNT(*) FROM `+column.table+` WHERE `+column.column+
			` IS NOT NULL AND `+column.otherKey(), id).Scan(&n)
		if err != nil {
			return 0, err
		}
		left += n
	}
	return left, nil
}
