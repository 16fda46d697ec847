package store

import (
	"context"
	"database/sql"
	"errors"
	"sync"
)

// maxPrepared bounds the number of cached statements. The package has fewer SQL texts than that.
const maxPrepared = 200

// reads is the pool of connections for everybody except the one writer. If prepares is set, it caches prepared
// statements: SQLite's driver parses the SQL text of every query, and that is most of the cost of a small query.
type reads struct {
	*sql.DB
	prepares bool

	mu    sync.RWMutex // guards stmts
	stmts map[string]*sql.Stmt
}

func newReads(db *sql.DB, prepares bool) *reads {
	return &reads{DB: db, prepares: prepares, stmts: map[string]*sql.Stmt{}}
}

func (r *reads) QueryContext(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	stmt, err := r.prepared(ctx, text) //nolint:sqlclosecheck // cached until the pool is closed
	if err != nil {
		return nil, err
	}
	if stmt == nil {
		return r.DB.QueryContext(ctx, text, args...)
	}
	return stmt.QueryContext(ctx, args...)
}

func (r *reads) QueryRowContext(ctx context.Context, text string, args ...any) scanner {
	stmt, err := r.prepared(ctx, text) //nolint:sqlclosecheck // cached until the pool is closed
	if err != nil {
		return failedRow{err}
	}
	if stmt == nil {
		return r.DB.QueryRowContext(ctx, text, args...)
	}
	return stmt.QueryRowContext(ctx, args...)
}

// prepared returns the cached statement for an SQL text, or nil if statements are not cached or the cache is full.
func (r *reads) prepared(ctx context.Context, text string) (*sql.Stmt, error) {
	if !r.prepares {
		return nil, nil //nolint:nilnil // no statement is no error
	}
	r.mu.RLock()
	stmt, full := r.stmts[text], len(r.stmts) >= maxPrepared
	r.mu.RUnlock()
	if stmt != nil || full {
		return stmt, nil
	}
	stmt, err := r.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if same := r.stmts[text]; same != nil {
		return same, stmt.Close() //nolint:sqlclosecheck // the other one is cached
	}
	r.stmts[text] = stmt
	return stmt, nil
}

// oneMoment is a querier that reads in the transaction of one connection, so that all queries see the same moment.
type oneMoment struct{ conn *sql.Conn }

func (o oneMoment) query(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	return o.conn.QueryContext(ctx, text, args...)
}

func (r *reads) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var errs []error
	for text, stmt := range r.stmts {
		errs = append(errs, stmt.Close())
		delete(r.stmts, text)
	}
	return errors.Join(append(errs, r.DB.Close())...)
}
