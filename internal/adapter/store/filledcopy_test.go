package store

import (
	"os"
	"sync"
	"testing"

	"muster/internal/adapter/store/storetest"
)

// filledDatabase is a database that newMeddled filled once, and found intact. Tests with a case for each table or key
// need so many such databases that filling each of them took most of their time.
type filledDatabase struct {
	once   sync.Once
	copied func(t *testing.T, to *Options) // nil: it could not be filled
}

var filledSQLite, filledPostgres filledDatabase

// newMeddledCopy is newMeddled for a database of the same kind as that of options: a copy of one that is filled.
func newMeddledCopy(t *testing.T, options Options) *meddled {
	t.Helper()
	source, fill := &filledSQLite, fillHome
	if options.DSN != "" {
		source, fill = &filledPostgres, fillPostgres
	}
	source.once.Do(func() { source.copied = fill(t, options) })
	if source.copied == nil {
		t.Fatal("the database that this test needs a copy of could not be filled")
	}
	source.copied(t, &options)
	return openMeddled(t, options)
}

// closeFilled fills a new database, and ends the connections to it.
func closeFilled(t *testing.T, options Options) Options {
	t.Helper()
	m := newMeddled(t, fresh(t, options))
	if err := m.db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	return m.options
}

func fillHome(t *testing.T, options Options) func(*testing.T, *Options) {
	t.Helper()
	filled := closeFilled(t, options)
	home := storetest.Prepared(func(home string) error { return os.CopyFS(home, os.DirFS(filled.Home)) })
	home(t) // reads the files, which are gone when this test has ended
	return func(t *testing.T, to *Options) { to.Home = home(t) }
}

func fillPostgres(t *testing.T, options Options) func(*testing.T, *Options) {
	t.Helper()
	filled := closeFilled(t, options)
	lasting := must(must(postgres())(t).NewCopy(t.Context(), filled.DSN))(t)
	return func(t *testing.T, to *Options) { to.DSN = must(postgres())(t).Copy(t, lasting) }
}
