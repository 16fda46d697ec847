package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"muster/internal/fleet"
)

// dialect is what differs between the two databases. The SQL of the rest of the package is the same for both.
type dialect interface {
	goose() goose.Dialect
	migrations() string // the folder below migrations

	// openWrites gives connections for the one writer and for migrations, openReads the pool for everything else.
	openWrites() (*sql.DB, error)
	openReads() (*sql.DB, error)
	parsesEveryTime() bool // the driver keeps no statements by itself

	// lockHome and lockSession keep a second server out. Where the lock is a session's it dies with the connection that
	// writes: a server that lost it cannot write any more.
	lockHome() (*homeLock, error) // nil where a session has the lock
	lockSession(ctx context.Context, conn *sql.Conn) error

	there() error // where the database is a file that is not there
	beginRead() string
	listTables() string
	sequences(ctx context.Context, conn *sql.Conn) (map[string]int64, error) // the last ID that each table gave
	setSequence(ctx context.Context, conn *sql.Conn, table string, last int64) error

	begin() string             // starts a transaction that may write
	givenID() string           // in an INSERT that gives the ID which the table would make itself
	scrub() string             // cuts the log that holds earlier content of the tables; "" where Muster has no such file
	batchLimit() time.Duration // the longest that a batch may take; 0: it cannot be cut short
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
	config.RuntimeParams["application_name"] = "muster/" + rand.Text()[:10] // its own sessions are known by that
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = 10 * time.Second
	}
	return postgresDialect{config: config, reads: atMost(options.Reads, max(8, 2*runtime.NumCPU()))}, nil
}

// atMost is the usual number of connections, or as many as there may be.
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

func (sqliteDialect) goose() goose.Dialect { return goose.DialectSQLite3 }
func (sqliteDialect) migrations() string   { return "sqlite" }
func (sqliteDialect) begin() string        { return "BEGIN IMMEDIATE" }
func (sqliteDialect) givenID() string      { return "" }

func (sqliteDialect) scrub() string { return "PRAGMA wal_checkpoint(TRUNCATE)" }

// batchLimit: a system call to a disk cannot be cut short.
func (sqliteDialect) batchLimit() time.Duration { return 0 }

func (d sqliteDialect) openWrites() (*sql.DB, error) {
	// SQLite would make the file readable for everybody; its companions take its mode. One that is there must not be
	// opened here: closing it would drop the locks that SQLite holds on it in this process, and another program that
	// looks into the database would take itself for its last user and delete the write-ahead log.
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

// writePool keeps in memory what a savepoint may have to take back. SQLite would write it into files in the folder for
// temporary files otherwise.
func (d sqliteDialect) writePool() (*sql.DB, error) {
	return d.pool(1, "_txlock=immediate", "_pragma=secure_delete(1)", "_pragma=temp_store(memory)")
}

func (sqliteDialect) parsesEveryTime() bool   { return true }
func (postgresDialect) parsesEveryTime() bool { return false }

func (d sqliteDialect) openReads() (*sql.DB, error) {
	return d.pool(d.reads, "_pragma=query_only(1)")
}

// pool puts the pragmas into the DSN: executed once on a pool they would reach one connection.
func (d sqliteDialect) pool(connections int, parameters ...string) (*sql.DB, error) {
	path := strings.ReplaceAll(url.PathEscape(filepath.ToSlash(filepath.Join(d.home, sqliteFile))), "%2F", "/")
	dsn := "file:" + path + "?" + strings.Join(append([]string{
		"_pragma=busy_timeout(5000)", // first: the next ones may have to wait
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
func (postgresDialect) migrations() string        { return "postgres" }
func (postgresDialect) begin() string             { return "BEGIN" }
func (postgresDialect) givenID() string           { return "OVERRIDING SYSTEM VALUE" }
func (postgresDialect) scrub() string             { return "" }
func (postgresDialect) batchLimit() time.Duration { return 30 * time.Second }

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

// advisoryLock is "muster" in ASCII. Advisory locks are counted per database.
const advisoryLock = 0x6d7573746572

// endOwnSessions ends other sessions of this server that hold the lock.
const endOwnSessions = `
	SELECT pg_terminate_backend(l.pid) FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
	WHERE l.locktype = 'advisory' AND l.granted AND l.classid = $1 AND l.objid = $2 AND l.pid <> pg_backend_pid()
		AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
		AND a.application_name = current_setting('application_name')`

// lockSession waits a moment: the session of a server that was killed right before may not have ended yet. One of this
// very server whose connection was cut is ended: the database may not notice for hours that its client has gone.
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
	// Acknowledged means on disk, whatever the server's default is. Stronger settings stay.
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
