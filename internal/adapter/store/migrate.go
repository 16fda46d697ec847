package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"

	"muster/internal/fleet"
)

// Each file of migrations changes the tables in one transaction. There is no migration back, and a released file is
// never edited. The files are written in SQLite's SQL; dialect.migration translates them for PostgreSQL.
//
//go:embed migrations
var migrations embed.FS

// firstVersion is the version of the tables of release 0.1.0. Programs before that release numbered their versions
// from 1 on.
const firstVersion = 100

// migrate brings the tables up to date. It returns a conflict error for a database that is newer than this program, or
// older than the first release. It also returns an error for a database that was sealed with another key: it gives new
// marks to rows that a migration changes, and needs the key for that.
func (s *Store) migrate(ctx context.Context, files fs.FS) (err error) {
	if needed, err := latestVersion(files); err != nil || s.writer.hasTables(ctx, needed) {
		return err
	}
	db, err := s.dialect.openWrites()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	provider, err := newProvider(s.dialect, db, files, keptMarks{s, markedTables}.over)
	if err != nil {
		return err
	}
	current, known, err := provider.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("read version of the tables: %w", err)
	}
	switch {
	case current == known:
		return nil
	case current > known:
		return &fleet.Error{
			Code: fleet.CodeConflict, During: "migrate database",
			Message: fmt.Sprintf("this database was written by a newer Muster: its tables have version %d, this program "+
				"knows %d", current, known),
			Hint: "Start the newer program, or restore a backup made before the upgrade.",
		}
	case current > 0 && current < firstVersion:
		return &fleet.Error{
			Code: fleet.CodeConflict, During: "migrate database",
			Message: fmt.Sprintf("this database was written by a Muster before 0.1.0, the first release: its tables have "+
				"version %d, and 0.1.0 begins with %d", current, firstVersion),
			Hint: "Start with an empty home folder (and database), and register the devices again (`muster enroll`). " +
				"`muster export DIR` of the old program writes templates, tags and settings as files, and `muster apply DIR` " +
				"brings them in. Daemons keep their configuration meanwhile.",
		}
	}
	if current > 0 {
		if err := s.writer.fitsSeal(ctx); err != nil && !absent(err) {
			return err
		}
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("migrate database from version %d to %d: %w", current, known, err)
	}
	return nil
}

// hasTables reports whether the tables have this version. It asks on the connection of the writer: the usual start,
// with nothing to migrate, opens no further one. It reports false if it cannot find out.
func (w *writer) hasTables(ctx context.Context, version int64) bool {
	var current sql.NullInt64
	err := w.session.conn.QueryRowContext(ctx, `SELECT MAX(version_id) FROM goose_db_version`).Scan(&current)
	return err == nil && current.Int64 == version
}

// latestVersion returns the version of the tables that the migrations in files make.
func latestVersion(files fs.FS) (version int64, err error) {
	names, err := fs.Glob(files, "migrations/*.sql")
	if err != nil {
		return 0, err
	}
	for _, name := range names { // sorted
		if version, err = goose.NumericComponent(name); err != nil {
			return 0, err
		}
	}
	return version, nil
}

// around is a function that runs a migration. change does the migration; around calls it in the migration's
// transaction and may do further work there. from and to are the versions of the tables before and after.
type around func(ctx context.Context, tx *sql.Tx, from, to int64, change func() error) error

// withoutRows is the around for tables without rows. There are no marks to keep, so it only calls change.
func withoutRows(_ context.Context, _ *sql.Tx, _, _ int64, change func() error) error {
	return change()
}

func newProvider(d dialect, db *sql.DB, files fs.FS, run around) (*goose.Provider, error) {
	names, err := fs.Glob(files, "migrations/*.sql")
	if err != nil {
		return nil, err
	}
	var all []*goose.Migration
	var from int64
	for _, name := range names {
		version, err := goose.NumericComponent(name)
		if err != nil {
			return nil, err
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		before := from
		up := func(ctx context.Context, tx *sql.Tx) error {
			return run(ctx, tx, before, version, func() error {
				_, err := tx.ExecContext(ctx, d.migration(string(text)))
				return err
			})
		}
		all = append(all, goose.NewGoMigration(version, &goose.GoFunc{RunTx: up}, nil))
		from = version
	}
	return goose.NewProvider(d.goose(), db, nil, goose.WithGoMigrations(all...))
}
