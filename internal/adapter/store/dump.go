package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"muster/internal/fleet"
)

// dumpedTables lists all tables except that of goose, the migration library, which a restore makes again. A table
// comes after the tables that its rows refer to. A test compares the list with the database.
var dumpedTables = []string{
	"meta", "own_keys", "devices", "templates", "device_tags", "template_tags", "tag_modes", "tag_quiet", "generations",
	"template_history", "device_tag_history", "template_tag_history", "tokens", "secrets", "audit", "sightings",
	"statuses", "versions", "folders", "summaries", "revision_bodies", "revisions", "intents", "base_entries",
	"rollouts", "rollout_members", "holds", "problems", "outbox", "stops", "folder_roots", "author_keys", "certificates",
	"consents", "folder_paths", "sent_generations", "group_consents", "protected_tags", "users", "sessions", "login_links",
	"audit_heads", "proofs", "used_sign_ons", "enroll_keys", "enrollment_decisions", "history",
	"orders",
	"sources", "template_origins",
	"device_vars", "tag_vars", "device_vars_history", "tag_vars_history",
	"event_log", "folder_histories", "folder_figures", "folder_proofs",
	"revocations", "settings", "revocation_proofs",
	"told_groups", "deliveries",
	"sinks", "sink_cursors", "sink_refusals",
}

// Sink receives the content of a database: first the version of its tables, then each table with its rows, then the
// last ID that each table gave out. Each value in a row is nil, a bool, int64, string or []byte. It is valid only
// until Row returns.
type Sink interface {
	Schema(version int64) error
	Table(name string, columns []string) error
	Row(values []any) error
	Sequence(table string, last int64) error
}

// Dump passes the content of the database, as of one moment, to a Sink. It reads in one transaction, so a server may
// use the database at the same time. It uses only Home and DSN of options.
func Dump(ctx context.Context, options Options, to Sink) error {
	return failure("read the whole database", dump(ctx, options, to))
}

func dump(ctx context.Context, options Options, to Sink) (err error) {
	options.Reads = 1
	d, err := dialectOf(options)
	if err != nil {
		return err
	}
	if err := d.there(); err != nil {
		return err
	}
	db, err := d.openReads()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if _, err := conn.ExecContext(ctx, d.beginRead()); err != nil {
		return err
	}
	defer func() { // ctx may have ended
		_, failed := conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
		err = errors.Join(err, failed)
	}()
	if err := dumpAll(ctx, d, conn, to); err != nil {
		return err
	}
	return ctx.Err()
}

func dumpAll(ctx context.Context, d dialect, conn *sql.Conn, to Sink) error {
	version, err := versionIn(ctx, conn)
	if err != nil {
		return err
	}
	if err := to.Schema(version); err != nil {
		return err
	}
	for _, table := range dumpedTables {
		if err := dumpTable(ctx, conn, table, to); err != nil {
			return fmt.Errorf("table %s: %w", table, err)
		}
	}
	sequences, err := d.sequences(ctx, conn)
	if err != nil {
		return fmt.Errorf("read which IDs were given: %w", err)
	}
	for _, table := range dumpedTables {
		if last, ok := sequences[table]; ok {
			if err := to.Sequence(table, last); err != nil {
				return err
			}
		}
	}
	return nil
}

// versionIn returns the version of the tables. If that is not the version that this program needs, it returns a
// conflict error.
func versionIn(ctx context.Context, conn *sql.Conn) (version int64, err error) {
	err = conn.QueryRowContext(ctx, `SELECT MAX(version_id) FROM goose_db_version`).Scan(&version)
	if err != nil {
		return 0, err
	}
	latest, err := latestVersion(migrations)
	if err == nil && version != latest {
		err = &fleet.Error{
			Code: fleet.CodeConflict,
			Message: fmt.Sprintf("the tables of the database have version %d, and this program knows %d", version,
				latest),
			Hint: "Use the version of Muster that serves this database; or start the newer one, which brings it up to date.",
		}
	}
	return version, err
}

func dumpTable(ctx context.Context, conn *sql.Conn, table string, to Sink) error {
	rows, err := conn.QueryContext(ctx, `SELECT * FROM `+table)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // The error that matters is in rows.Err.
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	if err := to.Table(table, columns); err != nil {
		return err
	}
	booleans, err := booleansOf(rows)
	if err != nil {
		return err
	}
	values, into := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		for _, i := range booleans {
			if number, ok := values[i].(int64); ok {
				values[i] = number != 0
			}
		}
		if err := to.Row(values); err != nil {
			return err
		}
	}
	return rows.Err()
}

// booleansOf returns the indexes of the columns that hold booleans. SQLite returns the values of such columns as
// numbers.
func booleansOf(rows *sql.Rows) (columns []int, err error) {
	types, err := rows.ColumnTypes()
	for i, one := range types {
		if strings.HasPrefix(one.DatabaseTypeName(), "BOOL") {
			columns = append(columns, i)
		}
	}
	return columns, err
}

// there returns a not-found error if the database file does not exist. Opening a database without this check would
// create the file.
func (d sqliteDialect) there() error {
	_, err := os.Stat(filepath.Join(d.home, sqliteFile))
	if errors.Is(err, fs.ErrNotExist) {
		return &fleet.Error{Code: fleet.CodeNotFound, Message: "there is no database in " + d.home,
			Hint: "Name the home folder of the server with --home, or its database with --database-file."}
	}
	return err
}

func (postgresDialect) there() error { return nil }

// On both databases, the first query after BEGIN fixes the moment whose state all queries see.
func (sqliteDialect) beginRead() string   { return "BEGIN" }
func (postgresDialect) beginRead() string { return "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY" }

func (sqliteDialect) sequences(ctx context.Context, conn *sql.Conn) (map[string]int64, error) {
	return lastIDs(ctx, conn, `SELECT name, seq FROM sqlite_sequence`)
}

func (d postgresDialect) sequences(ctx context.Context, conn *sql.Conn) (map[string]int64, error) {
	owners, err := identities(ctx, conn)
	if err != nil || len(owners) == 0 {
		return nil, err
	}
	var parts []string
	for table, sequence := range owners {
		parts = append(parts, fmt.Sprintf(`SELECT '%s', CASE WHEN is_called THEN last_value ELSE 0 END FROM %s`, table,
			sequence))
	}
	return lastIDs(ctx, conn, strings.Join(parts, " UNION ALL "))
}

// identities returns, for each table that makes IDs, the name of the sequence that makes them.
func identities(ctx context.Context, conn *sql.Conn) (map[string]string, error) {
	rows, err := conn.QueryContext(ctx, `
		SELECT table_name, pg_get_serial_sequence(quote_ident(table_name), column_name) FROM information_schema.columns
		WHERE table_schema = current_schema() AND is_identity = 'YES' AND table_name <> 'goose_db_version'`)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	found := map[string]string{}
	for rows.Next() {
		var table, sequence string
		if err := rows.Scan(&table, &sequence); err != nil {
			return nil, err
		}
		found[table] = sequence
	}
	return found, rows.Err()
}

func lastIDs(ctx context.Context, conn *sql.Conn, text string) (map[string]int64, error) {
	rows, err := conn.QueryContext(ctx, text)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	found := map[string]int64{}
	for rows.Next() {
		var table string
		var last int64
		if err := rows.Scan(&table, &last); err != nil {
			return nil, err
		}
		if last > 0 {
			found[table] = last
		}
	}
	return found, rows.Err()
}
