package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"muster/internal/fleet"
)

// failure converts an error of a database driver to a fleet.Error with the code that fits. If err contains a
// fleet.Error, failure returns it unchanged. It wraps any other error, which then counts as internal. during says what
// was being done.
func failure(during string, err error) error {
	if err == nil {
		return nil
	}
	var known *fleet.Error
	if errors.As(err, &known) {
		return err
	}
	code, message, hint := diagnose(err)
	if code == "" {
		return fmt.Errorf("%s: %w", during, err)
	}
	return &fleet.Error{Code: code, During: during, Message: message, Hint: hint, Err: err}
}

func diagnose(err error) (code fleet.Code, message, hint string) {
	var inSQLite *sqlite.Error
	if errors.As(err, &inSQLite) {
		return diagnoseSQLite(inSQLite.Code())
	}
	var inPostgres *pgconn.PgError
	if errors.As(err, &inPostgres) {
		return diagnosePostgres(inPostgres.Code)
	}
	var connect *pgconn.ConnectError
	var network net.Error
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fleet.CodeUnavailable, "the database did not answer in time", tryAgain
	case errors.As(err, &connect), errors.As(err, &network),
		errors.Is(err, driver.ErrBadConn), errors.Is(err, sql.ErrConnDone), errors.Is(err, net.ErrClosed):
		return fleet.CodeUnavailable, "the database cannot be reached",
			"Look whether the database server runs, then try again."
	}
	return "", "", ""
}

const tryAgain = "Try again in a moment."

func diagnoseSQLite(extended int) (code fleet.Code, message, hint string) {
	switch extended {
	case sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY:
		return fleet.CodeConflict, "there is one of that name already", ""
	}
	switch extended & 0xff { // the primary code
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM:
		return fleet.CodeUnavailable, "the database is read-only",
			"Look at the permissions of the home directory and whether its disk is mounted for writing."
	case sqlite3.SQLITE_FULL:
		return fleet.CodeUnavailable, "the disk of the database is full",
			"Make room on the disk of the home directory, then try again."
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return fleet.CodeUnavailable, "the database is locked by another program",
			"Close the program that has it open, then try again."
	case sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN:
		return fleet.CodeUnavailable, "the database file cannot be read or written",
			"Look at the disk of the home directory."
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return fleet.CodeUnavailable, "the database file is damaged", "Restore a backup."
	case sqlite3.SQLITE_TOOBIG:
		return fleet.CodeTooLarge, "this is too large for the database", ""
	}
	return "", "", ""
}

// diagnosePostgres returns code, message and hint for a SQLSTATE; see
// https://www.postgresql.org/docs/current/errcodes-appendix.html. For an unknown state it returns empty texts.
func diagnosePostgres(state string) (code fleet.Code, message, hint string) {
	switch {
	case state == "23505":
		return fleet.CodeConflict, "there is one of that name already", ""
	case state == "25006":
		return fleet.CodeUnavailable, "the database is read-only",
			"Look whether this is the primary server, and at default_transaction_read_only."
	case state == "53100":
		return fleet.CodeUnavailable, "the disk of the database is full", "Make room on the database server, then try again."
	case state == "55P03", state == "57014", state == "40001", state == "40P01":
		return fleet.CodeUnavailable, "the database was busy for too long", tryAgain
	case strings.HasPrefix(state, "28"), state == "42501", state == "3D000":
		return fleet.CodeUnavailable, "the database does not let Muster in",
			"Look at the user, the password and the name in the address of the database, and at the user's rights."
	case strings.HasPrefix(state, "53"), strings.HasPrefix(state, "57"), strings.HasPrefix(state, "08"),
		strings.HasPrefix(state, "58"):
		return fleet.CodeUnavailable, "the database cannot serve now", tryAgain
	case state == "54000":
		return fleet.CodeTooLarge, "this is too large for the database", ""
	}
	return "", "", ""
}

// unavailable returns the error for a connection that could not be made again. Its code is always unavailable. Message
// and hint are those that failure finds for err, if any.
func unavailable(err error) error {
	result := &fleet.Error{Code: fleet.CodeUnavailable, Message: "the database cannot be reached", Hint: tryAgain,
		Err: err}
	var known *fleet.Error
	if errors.As(failure("reconnect", err), &known) {
		result.Message, result.Hint = known.Message, known.Hint
	}
	return result
}
