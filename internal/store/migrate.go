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

// Forward only, one transaction each, never edited once released.
//
//go:embed migrations
var migrations embed.FS

// migrate brings the tables up to date, or refuses a database that is newer than this program.
func migrate(ctx context.Context, d dialect) (err error) {
	db, err := d.openWrites()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	provider, err := newProvider(d, db)
	if err != nil {
		return err
	}
	current, known, err := provider.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("read version of the tables: %w", err)
	}
	if current > known {
		return &fleet.Error{
			Code: fleet.CodeConflict, During: "migrate database",
			Message: fmt.Sprintf("this database was written by a newer Muster: its tables have version %d, this program "+
				"knows %d", current, known),
			Hint: "Start the newer program, or restore a backup made before the upgrade.",
		}
	}
	if current == known {
		return nil
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("migrate database from version %d to %d: %w", current, known, err)
	}
	return nil
}

// latestVersion is the version of the tables that this program knows.
func latestVersion() (version int64, err error) {
	names, err := fs.Glob(migrations, "migrations/sqlite/*.sql")
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

func newProvider(d dialect, db *sql.DB) (*goose.Provider, error) {
	files, err := fs.Sub(migrations, "migrations/"+d.migrations())
	if err != nil {
		return nil, err
	}
	return goose.NewProvider(d.goose(), db, files)
}
