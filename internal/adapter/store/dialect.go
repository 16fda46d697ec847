package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"muster/internal/fleet"
)

// dialect has the differences between SQLite and PostgreSQL. The rest of the package uses one SQL text for both.
type dialect interface {
	goose() goose.Dialect
	migration(text string) string // translates a migration, which is written in the words of SQLite

	// openWrites returns the connection for the one writer and for migrations. openReads returns the pool for
	// everything else.
	openWrites() (*sql.DB, error)
	openReads() (*sql.DB, error)
	parsesEveryTime() bool // The driver does not keep prepared statements, so each query is parsed again.

	// lockHome and lockSession keep a second server out. On PostgreSQL the lock belongs to the session that writes and
	// ends with its connection: a server that lost the lock cannot write any more.
	lockHome() (*homeLock, error) // nil where lockSession takes the lock
	lockSession(ctx context.Context, conn *sql.Conn) error

	there() error // returns an error if the database is a file that does not exist
	beginRead() string
	listTables() string
	sequences(ctx context.Context, conn *sql.Conn) (map[string]int64, error) // the last ID that each table gave out
	setSequence(ctx context.Context, conn *sql.Conn, table string, last int64) error

	begin() string             // starts a transaction that may write
	givenID() string           // SQL words for an INSERT that sets the ID column itself
	scrub() string             // statement that empties the write-ahead log; "" if there is none
	batchLimit() time.Duration // time limit of a batch; 0: none

	freeze(tables string) string // statement that lets no other program write to tables until the commit; "": begin does
}

func dialectOf(options Options) (dialect, error) {
	if options.DSN == "" {
		return sqliteDialect{home: options.Home, reads: atMost(options.Reads, max(4, 2*runtime.NumCPU()))}, nil
	}
	if scheme, _, _ := strings.Cut(options.DSN, "://"); scheme != "postgres" && scheme != "postgresql" {
		return nil, &fleet.Error{
			Code: fleet.CodeInvalid, During: "open database", Message: "the address of the database is not understood",
			Hint: "Give postgres://USER@HOST/NAME, or leave it out for the embedded database.",
		}
	}
	config, err := pgx.ParseConfig(options.DSN)
	if err != nil {
		return nil, &fleet.Error{
			Code: fleet.CodeInvalid, During: "open database", Message: "the address of the database is not understood",
			Hint: "Give postgres://USER@HOST/NAME.", Err: err,
		}
	}
	config.RuntimeParams["application_name"] = "muster/" + rand.Text()[:10] // names this server's sessions
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = 10 * time.Second
	}
	return postgresDialect{config: config, reads: atMost(options.Reads, max(8, 2*runtime.NumCPU()))}, nil
}

// atMost returns usual, or limit if that is lower. A limit of 0 means no limit.
func atMost(limit, usual int) int {
	if limit > 0 {
		return min(limit, usual)
	}
	return usual
}

const (
	sqliteFile = "muster.db"
	lockFile   = "muster.lock"
)

type sqliteDialect struct {
	home  string
	reads int // connections
}

func (sqliteDialect) goose() goose.Dialect         { return goose.DialectSQLite3 }
func (sqliteDialect) migration(text string) string { return text }
func (sqliteDialect) begin() string                { return "BEGIN IMMEDIATE" }
func (sqliteDialect) givenID() string              { return "" }

func (sqliteDialect) scrub() string { return "PRAGMA wal_checkpoint(TRUNCATE)" }

// batchLimit returns 0, because a system call to a disk cannot be cut short.
func (sqliteDialect) batchLimit() time.Duration { return 0 }

func (sqliteDialect) freeze(string) string { return "" }

func (d sqliteDialect) openWrites() (*sql.DB, error) {
	// SQLite would create the file readable for everybody, and give its other files the same mode. So the file is created
	// here. An existing file must not be opened here: closing it would drop the locks that SQLite has on it in this
	// process. Another program that opens the database would then believe that nobody else uses it, and delete the
	// write-ahead log.
	f, err := os.OpenFile(filepath.Join(d.home, sqliteFile), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return d.writePool()
	}
	if err != nil {
		return nil, &fleet.Error{
			Code: fleet.CodeUnavailable, During: "open database", Message: "the database file cannot be made",
			Hint: "Look whether the home directory exists and belongs to the user that runs Muster.", Err: err,
		}
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	return d.writePool()
}

// writePool opens the connection that writes. SQLite overwrites what it deletes (secure_delete). It keeps data for
// rolling back a savepoint in memory (temp_store), because otherwise it would write them into files outside the home
// folder.
func (d sqliteDialect) writePool() (*sql.DB, error) {
	return d.pool(1, "_txlock=immediate", "_pragma=secure_delete(1)", "_pragma=temp_store(memory)")
}

func (sqliteDialect) parsesEveryTime() bool   { return true }
func (postgresDialect) parsesEveryTime() bool { return false }

func (d sqliteDialect) openReads() (*sql.DB, error) {
	return d.pool(d.reads, "_pragma=query_only(1)")
}

// pool opens connections to the database file, with the pragmas in the DSN. A pragma that is executed on a pool would
// reach only one connection.
func (d sqliteDialect) pool(connections int, parameters ...string) (*sql.DB, error) {
	path := strings.ReplaceAll(url.PathEscape(filepath.ToSlash(filepath.Join(d.home, sqliteFile))), "%2F", "/")
	dsn := "file:" + path + "?" + strings.Join(append([]string{
		"_pragma=busy_timeout(5000)", // first, because the pragmas after it may have to wait
		"_pragma=journal_mode(wal)",
		"_pragma=synchronous(full)",
		"_pragma=foreign_keys(1)",
	}, parameters...), "&")
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	return db, nil
}

func (d sqliteDialect) lockHome() (*homeLock, error) { return lockHome(d.home) }

func (sqliteDialect) lockSession(context.Context, *sql.Conn) error { return nil }

type postgresDialect struct {
	config *pgx.ConnConfig
	reads  int // connections
}

func (postgresDialect) goose() goose.Dialect      { return goose.DialectPostgres }
func (postgresDialect) begin() string             { return "BEGIN" }
func (postgresDialect) givenID() string           { return "OVERRIDING SYSTEM VALUE" }
func (postgresDialect) scrub() string             { return "" }
func (postgresDialect) batchLimit() time.Duration { return 30 * time.Second }

func (postgresDialect) freeze(tables string) string {
	return "LOCK TABLE " + tables + " IN SHARE ROW EXCLUSIVE MODE"
}

var (
	postgresTypes = strings.NewReplacer(
		" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT", " BIGINT NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
		" INTEGER ", " BIGINT ", " INTEGER,", " BIGINT,", " INTEGER;", " BIGINT;",
		" BLOB ", " BYTEA ", " BLOB,", " BYTEA,", " BLOB;", " BYTEA;")
	tableComment = regexp.MustCompile(`CREATE TABLE (\w+) \(\n +-- (.*)\n`)
)

// migration translates the column types. It also turns the comment of each table into COMMENT ON TABLE, which psql
// shows. SQLite needs no such statement, because it keeps the text of CREATE TABLE.
func (postgresDialect) migration(text string) string {
	for _, table := range tableComment.FindAllStringSubmatch(text, -1) {
		text += fmt.Sprintf("COMMENT ON TABLE %s IS '%s';\n", table[1], strings.ReplaceAll(table[2], "'", "''"))
	}
	return postgresTypes.Replace(text)
}

func (d postgresDialect) openWrites() (*sql.DB, error) {
	db := stdlib.OpenDB(*d.config)
	db.SetMaxOpenConns(1)
	return db, nil
}

func (d postgresDialect) openReads() (*sql.DB, error) {
	db := stdlib.OpenDB(*d.config)
	db.SetMaxOpenConns(d.reads)
	db.SetMaxIdleConns(min(d.reads, 8))
	return db, nil
}

func (postgresDialect) lockHome() (*homeLock, error) { return nil, nil } //nolint:nilnil // a session has the lock

// advisoryLock is the number of the lock that keeps a second server out: "muster" in ASCII. Each database has its own
// locks, so servers with different databases do not disturb each other.
const advisoryLock = 0x6d7573746572

// endOwnSessions is SQL that ends the other sessions of this server process that hold the lock.
const endOwnSessions = `
	SELECT pg_terminate_backend(l.pid) FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
	WHERE l.locktype = 'advisory' AND l.granted AND l.classid = $1 AND l.objid = $2 AND l.pid <> pg_backend_pid()
		AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
		AND a.application_name = current_setting('application_name')`

// lockSession takes the advisory lock. It tries for a second, because the session of a server that was just killed may
// not have ended yet. If a session of this same process holds the lock, its connection was cut, and the database may
// not notice that for hours; lockSession ends that session.
func (postgresDialect) lockSession(ctx context.Context, conn *sql.Conn) error {
	const patience, pause = time.Second, 50 * time.Millisecond
	for waited := time.Duration(0); ; waited += pause {
		var locked bool
		if err := conn.QueryRowContext(ctx, `SELECT pg_try_advisory_lock($1)`,
			int64(advisoryLock)).Scan(&locked); err != nil {
			return err
		}
		if locked {
			break
		}
		if waited >= patience {
			return inUse("database", nil)
		}
		const high, low = advisoryLock >> 32, advisoryLock & 0xffffffff
		if _, err := conn.ExecContext(ctx, endOwnSessions, int64(high), int64(low)); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
	// A write that is acknowledged must be on disk, also if the database's default is not to wait for that. A stricter
	// setting, such as waiting for a standby server, stays.
	var commit string
	if err := conn.QueryRowContext(ctx, `SHOW synchronous_commit`).Scan(&commit); err != nil {
		return err
	}
	if commit != "off" {
		return nil
	}
	_, err := conn.ExecContext(ctx, `SET synchronous_commit TO on`)
	return err
}

func inUse(what string, cause error) error {
	return &fleet.Error{
		Code: fleet.CodeConflict, During: "lock database", Message: "another Muster server is using this " + what,
		Hint: "Stop that server first, or give this one a " + what + " of its own.", Err: cause,
	}
}
