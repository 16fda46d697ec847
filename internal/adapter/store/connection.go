package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"

	"muster/internal/fleet"
)

// session is the one connection that writes, with its prepared statements. On PostgreSQL it also holds the advisory
// lock that keeps other servers out.
type session struct {
	db    *sql.DB
	conn  *sql.Conn
	stmts map[string]*sql.Stmt // statements by their text
}

func (w *writer) connect(ctx context.Context) error {
	db, err := w.store.dialect.openWrites()
	if err != nil {
		return err
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return errors.Join(err, db.Close())
	}
	w.session = &session{db: db, conn: conn, stmts: map[string]*sql.Stmt{}}
	if err := w.store.dialect.lockSession(ctx, conn); err != nil {
		return errors.Join(err, w.disconnect())
	}
	return nil
}

func (w *writer) disconnect() error {
	if w.session == nil {
		return nil
	}
	s := w.session
	w.session = nil
	var errs []error
	for _, stmt := range s.stmts {
		errs = append(errs, stmt.Close())
	}
	if err := s.conn.Close(); !errors.Is(err, sql.ErrConnDone) {
		errs = append(errs, err)
	}
	return errors.Join(append(errs, s.db.Close())...)
}

// reload reads the contents and the admission from the database again. It compares the tables in compared with their
// marks (see loadBy). The result says which parts may differ from what was in memory before.
func (w *writer) reload(ctx context.Context, compared []*markedTable) (fleet.Committed, error) {
	if err := w.session.exec(ctx, w.store.dialect.beginRead()); err != nil {
		return fleet.Committed{}, err
	}
	fresh, err := w.store.loadBy(ctx, w.session, compared)
	if err := errors.Join(err, w.session.exec(context.WithoutCancel(ctx), "ROLLBACK")); err != nil {
		return fleet.Committed{}, err
	}
	changed := w.store.model.replace(fresh)
	before := w.store.admission.Load()
	if err := w.store.loadAdmission(ctx); err != nil {
		return changed, err
	}
	if before != nil && !before.Same(w.store.admission.Load()) {
		changed.Admitted = slices.Collect(maps.Keys(fresh.devices))
	}
	return changed, nil
}

// querier runs queries. Examples are the writer's session and the pool of readers.
type querier interface {
	query(ctx context.Context, text string, args ...any) (*sql.Rows, error)
}

func (s *session) prepared(ctx context.Context, text string) (*sql.Stmt, error) {
	if stmt, ok := s.stmts[text]; ok {
		return stmt, nil
	}
	stmt, err := s.conn.PrepareContext(ctx, text)
	if err != nil {
		return nil, fmt.Errorf("prepare %q: %w", text, err)
	}
	s.stmts[text] = stmt
	return stmt, nil
}

func (s *session) exec(ctx context.Context, text string, args ...any) error {
	_, err := s.affect(ctx, text, args...)
	return err
}

// affect is exec, and returns the number of rows that the statement changed.
func (s *session) affect(ctx context.Context, text string, args ...any) (int64, error) {
	stmt, err := s.prepared(ctx, text) //nolint:sqlclosecheck // cached until the session ends
	if err != nil {
		return 0, err
	}
	result, err := stmt.ExecContext(ctx, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

func (s *session) query(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	stmt, err := s.prepared(ctx, text) //nolint:sqlclosecheck // cached until the session ends
	if err != nil {
		return nil, err
	}
	return stmt.QueryContext(ctx, args...)
}

// scanner is one row of a result. If the query failed, its Scan returns that error; if a query for one row found none,
// Scan returns sql.ErrNoRows.
type scanner interface{ Scan(into ...any) error }

type failedRow struct{ err error }

func (r failedRow) Scan(...any) error { return r.err }

func (s *session) row(ctx context.Context, text string, args ...any) scanner {
	stmt, err := s.prepared(ctx, text) //nolint:sqlclosecheck // cached until the session ends
	if err != nil {
		return failedRow{err}
	}
	return stmt.QueryRowContext(ctx, args...)
}

// pool makes the pool of readers a querier.
type pool struct{ *reads }

func (p pool) query(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	return p.QueryContext(ctx, text, args...)
}

// collect runs a query and returns all rows, each read by scan. If there are no rows, the result is an empty slice,
// not nil.
func collect[T any](ctx context.Context, q querier, scan func(scanner) (T, error), text string, args ...any) ([]T,
	error) {
	all := []T{}
	err := eachRow(ctx, q, func(row scanner) error {
		one, err := scan(row)
		all = append(all, one)
		return err
	}, text, args...)
	if err != nil {
		return nil, err
	}
	return all, nil
}

// eachRow runs a query and calls read with every row. It keeps no row in memory.
func eachRow(ctx context.Context, q querier, read func(scanner) error, text string, args ...any) error {
	rows, err := q.query(ctx, text, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // The error that matters is in rows.Err.
	for rows.Next() {
		if err := read(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
