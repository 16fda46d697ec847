package store

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// tablesOf names the tables of the store, without those of the databases and of goose.
func tablesOf(t *testing.T, s *Store) []string {
	t.Helper()
	text := `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`
	if _, ok := s.dialect.(postgresDialect); ok {
		text = `SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'`
	}
	tables := must(collect(t.Context(), pool{s.reads}, func(row scanner) (name string, err error) {
		return name, row.Scan(&name)
	}, text))(t)
	tables = slices.DeleteFunc(tables, func(name string) bool { return name == "goose_db_version" })
	slices.Sort(tables)
	return tables
}

// tableRow is a row as text, by column.
type tableRow map[string]string

func (r tableRow) mentions(text string) bool {
	for _, value := range r {
		if strings.Contains(value, text) {
			return true
		}
	}
	return false
}

func rowsOf(t *testing.T, s *Store, table string) []tableRow {
	t.Helper()
	return must(collect(t.Context(), pool{s.reads}, func(row scanner) (tableRow, error) {
		columns, err := row.(*sql.Rows).Columns()
		if err != nil {
			return nil, err
		}
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		err = row.Scan(into...)
		named := tableRow{}
		for i, column := range columns {
			if raw, ok := values[i].([]byte); ok {
				values[i] = string(raw)
			}
			named[column] = fmt.Sprint(values[i])
		}
		return named, err
	}, `SELECT * FROM `+table))(t)
}

// The two databases have the same tables, columns and notion of what may be missing.
func TestDialectsHaveTheSameTables(t *testing.T) {
	columns := map[string][]string{}
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		kind := "sqlite"
		text := `
			SELECT m.name || '.' || c.name, c.type, c."notnull" FROM sqlite_master m JOIN pragma_table_info(m.name) c
			WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%'`
		if options.DSN != "" {
			kind = "postgres"
			text = `
				SELECT table_name || '.' || column_name, data_type, CASE is_nullable WHEN 'NO' THEN 1 ELSE 0 END
				FROM information_schema.columns WHERE table_schema = 'public'`
		}
		same := strings.NewReplacer("bigint", "integer", "bytea", "blob")
		columns[kind] = must(collect(t.Context(), pool{s.reads}, func(row scanner) (string, error) {
			var name, of string
			var notNull int
			err := row.Scan(&name, &of, &notNull)
			return fmt.Sprint(name, " ", same.Replace(strings.ToLower(of)), " ", notNull), err
		}, text))(t)
		columns[kind] = slices.DeleteFunc(columns[kind],
			func(c string) bool { return strings.HasPrefix(c, "goose_db_version.") })
		slices.Sort(columns[kind])
	})
	if got, want := columns["postgres"], columns["sqlite"]; !slices.Equal(got, want) || len(want) < 80 {
		t.Errorf("PostgreSQL has\n%s\nSQLite has\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Whoever opens the database with its own shell finds what a row of each table is.
func TestEveryTableSaysWhatARowIs(t *testing.T) {
	comments := map[string]map[string]string{}
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		kind, text := "sqlite", `SELECT name, sql FROM sqlite_master WHERE type = 'table'`
		if options.DSN != "" {
			kind, text = "postgres", `SELECT relname, COALESCE(obj_description(oid), '') FROM pg_class WHERE relkind = 'r'`
		}
		comments[kind] = map[string]string{}
		must(collect(t.Context(), pool{s.reads}, func(row scanner) (none struct{}, err error) {
			var name, comment string
			err = row.Scan(&name, &comment)
			if lines := strings.Split(comment, "\n"); kind == "sqlite" && len(lines) > 1 {
				comment = strings.TrimPrefix(strings.TrimSpace(lines[1]), "-- ")
			}
			comments[kind][name] = comment
			return none, err
		}, text))(t)
		for _, table := range tablesOf(t, s) {
			if len(comments[kind][table]) < 10 {
				t.Errorf("table %s has no comment", table)
			}
		}
	})
	for table, comment := range comments["sqlite"] {
		if got := comments["postgres"][table]; !strings.HasPrefix(table, "sqlite_") && table != "goose_db_version" &&
			got != comment {
			t.Errorf("%s: PostgreSQL says %q, SQLite %q", table, got, comment)
		}
	}
}
