package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"muster/internal/fleet"
)

// Load fills an empty database from a backup, all or nothing. It calls give with a Sink; give passes the content of
// the backup to it. of says when the backup was made and restored. The fleet's mode becomes observe, unless it is
// paused, because the daemons may have newer configurations than the templates describe. Load returns a conflict error
// if the database is not empty, and leaves it as it is.
func Load(ctx context.Context, options Options, of fleet.Restored, give func(Sink) error) error {
	return failure("fill the database", load(ctx, options, of, give))
}

func load(ctx context.Context, options Options, of fleet.Restored, give func(Sink) error) (err error) {
	d, err := dialectOf(options)
	if err != nil {
		return err
	}
	home, err := d.lockHome()
	if err != nil {
		return err
	}
	if home != nil {
		defer func() { err = errors.Join(err, home.release()) }()
	}
	db, err := d.openWrites()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(2) // goose needs a connection of its own
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if err := d.lockSession(ctx, conn); err != nil {
		return err
	}
	if err := wantEmpty(ctx, d, conn); err != nil {
		return err
	}
	l := &loader{ctx: ctx, dialect: d, db: db, conn: conn, restored: of}
	if err := give(l); err != nil {
		return errors.Join(err, l.takeBack()) //nolint:contextcheck // the loader has it
	}
	return l.finish() //nolint:contextcheck // likewise
}

// wantEmpty returns a conflict error if the database has a seal check, and so may contain sealed values, or if it has
// tables but not those of Muster.
func wantEmpty(ctx context.Context, d dialect, conn *sql.Conn) error {
	tables, err := tablesIn(ctx, d, conn)
	if err != nil || len(tables) == 0 {
		return err
	}
	sealed := 1
	if slices.Contains(tables, "meta") {
		err = conn.QueryRowContext(ctx, `SELECT COUNT(*) FROM meta WHERE name = 'seal_check'`).Scan(&sealed)
	}
	if err == nil && sealed > 0 {
		err = &fleet.Error{Code: fleet.CodeConflict, Message: "the database is not empty",
			Hint: "Give an empty one: a restore replaces nothing. To have this one's place, stop its server and make a new " +
				"database, or move its home folder away."}
	}
	return err
}

// loader is the Sink that fills the tables in one transaction.
type loader struct {
	ctx      context.Context //nolint:containedctx // of Load: a loader does not outlive it
	dialect  dialect
	db       *sql.DB
	conn     *sql.Conn
	restored fleet.Restored

	begun  bool
	table  string
	insert *sql.Stmt
	filled []string
}

// Schema creates the tables of this version, and deletes the rows that the migrations wrote into them.
func (l *loader) Schema(version int64) error {
	latest, err := latestVersion(migrations)
	if err != nil {
		return err
	}
	if version > latest {
		return &fleet.Error{Code: fleet.CodeConflict,
			Message: fmt.Sprintf("the backup was made by a newer Muster: its tables have version %d, this program knows %d",
				version, latest),
			Hint: "Restore it with that version, or a newer one."}
	}
	if version < firstVersion {
		return &fleet.Error{Code: fleet.CodeConflict,
			Message: "the backup was made by a Muster before 0.1.0, the first release",
			Hint:    "Restore it with the program that made it."}
	}
	provider, err := newProvider(l.dialect, l.db, migrations, withoutRows)
	if err != nil {
		return err
	}
	if _, err := provider.UpTo(l.ctx, version); err != nil {
		return fmt.Errorf("make the tables: %w", err)
	}
	if err := l.exec(l.dialect.begin()); err != nil {
		return err
	}
	l.begun = true
	tables, err := tablesIn(l.ctx, l.dialect, l.conn)
	if err != nil {
		return err
	}
	for _, table := range slices.Backward(dumpedTables) {
		if slices.Contains(tables, table) {
			if err := l.exec(`DELETE FROM ` + table); err != nil {
				return err
			}
		}
	}
	return nil
}

// Table starts a table: the calls of Row that follow are for it. It returns an error if the tables of the backup's
// version do not include this one, or if the columns are not the same.
func (l *loader) Table(name string, columns []string) error {
	tables, err := tablesIn(l.ctx, l.dialect, l.conn)
	if err != nil {
		return err
	}
	if !slices.Contains(tables, name) || slices.Contains(l.filled, name) {
		return notOurs("the table " + name + " is not one of its version")
	}
	if err := l.endTable(); err != nil {
		return err
	}
	there, err := l.columns(name)
	if err != nil {
		return err
	}
	if sorted := slices.Sorted(slices.Values(columns)); !slices.Equal(sorted, slices.Sorted(slices.Values(there))) {
		return notOurs(fmt.Sprintf("the table %s has the columns %v, and its version %v", name, columns, there))
	}
	places := make([]string, len(columns))
	for i := range places {
		places[i] = fmt.Sprintf("$%d", i+1)
	}
	l.table = name
	l.filled = append(l.filled, name)
	l.insert, err = l.conn.PrepareContext(l.ctx, `INSERT INTO `+name+` (`+strings.Join(columns, ", ")+`) `+
		l.dialect.givenID()+` VALUES (`+strings.Join(places, ", ")+`)`)
	return err
}

// columns returns the columns of a table. The table's name becomes part of the SQL, so the caller has checked that it
// is one of Muster's.
func (l *loader) columns(table string) ([]string, error) {
	rows, err := l.conn.QueryContext(l.ctx, `SELECT * FROM `+table+` LIMIT 0`)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	return columns, errors.Join(err, rows.Err())
}

func notOurs(why string) error {
	return &fleet.Error{Code: fleet.CodeInvalid, Message: "the backup does not fit: " + why,
		Hint: "Restore it with the version of Muster that made it."}
}

// Row inserts a row into the present table.
func (l *loader) Row(values []any) error {
	if _, err := l.insert.ExecContext(l.ctx, values...); err != nil {
		return fmt.Errorf("table %s: %w", l.table, err)
	}
	return nil
}

// Sequence sets the last ID that a table gave out, so that the restored database gives out no ID twice.
func (l *loader) Sequence(table string, last int64) error {
	if !slices.Contains(l.filled, table) {
		return notOurs("it has no table " + table)
	}
	return l.dialect.setSequence(l.ctx, l.conn, table, last)
}

func (l *loader) endTable() error {
	if l.insert == nil {
		return nil
	}
	err := l.insert.Close()
	l.insert = nil
	return err
}

// finish checks that the backup contained every table, sets the fleet's mode (see observe), and commits.
func (l *loader) finish() error {
	err := l.endTable()
	if err == nil {
		err = l.complete()
	}
	if err == nil {
		err = l.observe()
	}
	if err != nil {
		return errors.Join(err, l.takeBack())
	}
	return l.exec("COMMIT")
}

func (l *loader) complete() error {
	tables, err := tablesIn(l.ctx, l.dialect, l.conn)
	if err != nil {
		return err
	}
	for _, table := range tables {
		if !slices.Contains(l.filled, table) {
			return notOurs("the table " + table + " is missing")
		}
	}
	return nil
}

// endingWithARestore lists the tables that a restore empties. A session or link that ended after the backup was made
// must not become valid again.
var endingWithARestore = []string{"sessions", "login_links", "used_sign_ons"}

// observe sets the fleet's mode to observe unless it is paused, so that the restored server does not write to daemons
// until a person resumes. It also stores the note that the database was restored, and empties the tables in
// endingWithARestore.
func (l *loader) observe() error {
	for _, table := range endingWithARestore {
		if err := l.exec(`DELETE FROM ` + table); err != nil {
			return err
		}
	}
	body, err := json.Marshal(restoredBody(l.restored))
	if err != nil {
		return err
	}
	for _, row := range [][2]string{{"fleet_mode", string(fleet.ModeObserve)}, {"restored", string(body)}} {
		_, err := l.conn.ExecContext(l.ctx, `
			INSERT INTO meta (name, value) VALUES ($1, $2)
			ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE meta.value <> 'paused'`, row[0], row[1])
		if err != nil {
			return err
		}
	}
	return nil
}

func (l *loader) takeBack() error {
	err := l.endTable()
	if !l.begun {
		return err
	}
	_, rolledBack := l.conn.ExecContext(context.WithoutCancel(l.ctx), "ROLLBACK")
	return errors.Join(err, rolledBack)
}

func (l *loader) exec(text string) error {
	_, err := l.conn.ExecContext(l.ctx, text)
	return err
}

func (d sqliteDialect) setSequence(ctx context.Context, conn *sql.Conn, table string, last int64) error {
	if _, err := conn.ExecContext(ctx, `DELETE FROM sqlite_sequence WHERE name = $1`, table); err != nil {
		return err
	}
	_, err := conn.ExecContext(ctx, `INSERT INTO sqlite_sequence (name, seq) VALUES ($1, $2)`, table, last)
	return err
}

func (d postgresDialect) setSequence(ctx context.Context, conn *sql.Conn, table string, last int64) error {
	owners, err := identities(ctx, conn)
	if err != nil {
		return err
	}
	if owners[table] == "" {
		return notOurs("the table " + table + " makes no IDs")
	}
	_, err = conn.ExecContext(ctx, `SELECT setval(CAST($1 AS TEXT)::regclass, $2)`, owners[table], last)
	return err
}

// tablesIn returns the names of the tables in a database, without goose's own.
func tablesIn(ctx context.Context, d dialect, conn *sql.Conn) (tables []string, err error) {
	rows, err := conn.QueryContext(ctx, d.listTables())
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		if name != "goose_db_version" {
			tables = append(tables, name)
		}
	}
	return tables, rows.Err()
}

func (sqliteDialect) listTables() string {
	return `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`
}

func (postgresDialect) listTables() string {
	return `SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()`
}

// restoredBody is the JSON form of fleet.Restored in the table meta.
type restoredBody struct {
	BackupAt time.Time `json:"backupAt"`
	At       time.Time `json:"at"`
}

// parseRestored returns nil for a text that Muster did not write. The row is in doubt then.
func parseRestored(text string) *fleet.Restored {
	var body restoredBody
	if err := json.Unmarshal([]byte(text), &body); err != nil {
		return nil
	}
	return new(fleet.Restored(body))
}

// finishRestore writes the note that the database was restored, and the mode, with marks. Load could not do that,
// because it has no key for marks. It believes nothing that it reads: the note is the one of the caller, and a mode
// less strict than observe becomes observe.
func (t *tx) finishRestore(of fleet.Restored) error {
	body, err := json.Marshal(restoredBody(of))
	if err != nil {
		return err
	}
	var mode string
	if err := t.row(`SELECT value FROM meta WHERE name = 'fleet_mode'`).Scan(&mode); err != nil && !absent(err) {
		return err
	}
	strict := fleet.Strictest(fleet.Mode(mode), fleet.ModeObserve)
	return errors.Join(t.putMeta("restored", string(body)), t.putMeta("fleet_mode", string(strict)))
}

// endRestored deletes the note that the database was restored. It is called when a person lets Muster write again.
func (t *tx) endRestored() error {
	t.register(func(c *contents) { c.restored = nil })
	return t.dropMeta("restored")
}
