package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

// roster is the list of the rows that a table must have, for tables whose rows give a role or a secret. It maps the
// name of each row to the row's sum, the digest of its content (see sumOf). A row whose sum is not in the roster was
// written by another program, or deleted and put back: it gives neither role nor secret. The roster is stored as a
// proof under the name of its table.
type roster map[string]string

// addToRoster stores the sum of a row in the roster of its table. Each write that inserts or changes a row of such a
// table calls it.
func (t *tx) addToRoster(table, row, sum string) error {
	return t.changeRoster(table, func(r roster) { r[row] = sum })
}

// dropFromRoster removes a row from the roster of its table. Each write that deletes a row of such a table calls it.
func (t *tx) dropFromRoster(table, row string) error {
	return t.changeRoster(table, func(r roster) { delete(r, row) })
}

// sum returns the digest of the whole roster. The ends of the audit (see auditends.go) contain this digest, so an
// earlier roster that somebody puts back from a copy does not fit the ends.
func (r roster) sum() string {
	var fields []string
	for _, row := range slices.Sorted(maps.Keys(r)) {
		fields = append(fields, row, r[row])
	}
	return fleet.NetstringSum("muster roster 1\n", fields...)
}

// changeRoster calls change to change one entry of a roster, and stores the roster. If the stored roster does not open
// or does not fit the ends, changeRoster begins with an empty one; the other rows of the table then give nothing until
// a person makes them again. It does not make a new roster from the rows in the table: that would make valid what
// another program wrote there.
func (t *tx) changeRoster(table string, change func(roster)) error {
	rows, ok, err := t.roster(table)
	if err != nil {
		return err
	}
	if !ok {
		t.record(fleet.AuditTampered, table, "the roster was missing or changed; what it held does not count any more")
	}
	change(rows)
	ends, ok, err := t.auditEnds()
	if err != nil {
		return err
	}
	if !ok {
		t.effects.audit = append(t.effects.audit, t.lostEnds(ends))
	}
	return t.putRoster(table, rows, ends)
}

func (t *tx) putRoster(table string, rows roster, ends fleet.AuditEnds) error {
	sums := map[string]string{table: rows.sum()}
	for other, sum := range ends.Rosters {
		if other != table {
			sums[other] = sum
		}
	}
	ends.Rosters = sums
	return errors.Join(t.putProof(table, rows), t.putProof(auditEnds, ends))
}

// roster reads and opens the roster of a table. If it is not the roster that Muster wrote last, rows is empty and ok
// is false.
func (t *tx) roster(table string) (rows roster, ok bool, err error) {
	ends, known, err := t.auditEnds() // This comes first, because it may empty the roster (see endEverySession).
	if err != nil {
		return nil, false, err
	}
	sealed, err := t.lockProof(table)
	if err != nil {
		return nil, false, err
	}
	if _, listed := ends.Rosters[table]; known && sealed == nil && !listed {
		return roster{}, true, nil // The database is from before the version in which the table got a roster.
	}
	if wrong := t.store.openProof(table, sealed, &rows); wrong != nil || ends.Rosters[table] != rows.sum() {
		t.store.log.Error(alteredRoster, logkey.Proof, table, logkey.Err(wrong))
		return roster{}, false, nil
	}
	return rows, true, nil
}

// asWritten returns a conflict error if Muster did not write a row. sum is the digest of the row's present content. A
// write calls asWritten before it changes a row, because the changed row gets a new sum in the roster. That sum would
// also make valid what another program wrote into the row.
func (t *tx) asWritten(table, row, sum string) error {
	rows, _, err := t.roster(table)
	if err != nil || rows[row] == sum {
		return err
	}
	return &fleet.Error{Code: fleet.CodeConflict, Message: fmt.Sprintf("%q in %s was changed in the database", row, table),
		Hint: "Delete it and make it again; `muster audit verify` shows what else was changed."}
}

// readWithRoster calls read, which reads rows of a table, and returns these rows with the roster of the same moment.
// It calls read again if the roster changed meanwhile, and after ten times returns an unavailable error.
func readWithRoster[T any](ctx context.Context, s *Store, table string, read func() ([]T, error)) ([]T, roster, error) {
	const tries = 10
	known := s.known.now()
	for range tries {
		before, err := s.sealedProof(ctx, table)
		if err != nil {
			return nil, nil, err
		}
		rows, err := read()
		if err != nil {
			return nil, nil, err
		}
		after, ends, err := s.sealedRoster(ctx, table)
		if err != nil {
			return nil, nil, err
		}
		if !bytes.Equal(before, after) {
			continue // A write came between the two readings.
		}
		made, err := s.openRoster(ctx, table, after, ends, known)
		return rows, made, err
	}
	return nil, nil, &fleet.Error{Code: fleet.CodeUnavailable, During: "read " + table,
		Message: "the rows change too often to be read", Hint: tryAgain}
}

// readListed is readWithRoster for a read that finds the rows that a caller names. If it finds no row, it does not read
// the roster, so that a guess costs little.
func readListed[T any](ctx context.Context, s *Store, table string, read func() ([]T, error)) ([]T, roster, error) {
	rows, err := read()
	if err != nil || len(rows) == 0 {
		return nil, nil, err
	}
	return readWithRoster(ctx, s, table, read)
}

const alteredRoster = "the roster of a table is not as Muster wrote it: its rows give nothing"

// sealedRoster reads the roster of a table and the ends of the audit at one moment, and returns both sealed. A missing
// one is nil.
func (s *Store) sealedRoster(ctx context.Context, table string) (rows, ends []byte, err error) {
	err = s.reads.QueryRowContext(ctx, `SELECT (SELECT body FROM proofs WHERE name = $1),
		(SELECT body FROM proofs WHERE name = $2)`, table, auditEnds).Scan(&rows, &ends)
	return rows, ends, err
}

// openRoster opens the roster and the ends that sealedRoster returned. It returns an empty roster if the stored one is
// not the roster that Muster wrote last. known are the ends that this process knew before the reading.
func (s *Store) openRoster(ctx context.Context, table string, sealed, sealedEnds []byte, known fleet.AuditEnds) (roster,
	error) {
	var rows roster
	var ends fleet.AuditEnds
	wrong := s.openProof(auditEnds, sealedEnds, &ends)
	if _, listed := ends.Rosters[table]; wrong == nil && sealed == nil && !listed {
		return roster{}, nil // The database is from before the version in which the table got a roster.
	}
	wrong = errors.Join(wrong, s.openProof(table, sealed, &rows))
	if wrong == nil && ends.Rosters[table] == rows.sum() {
		isOther, err := isOther(ctx, pool{s.reads}, known, ends)
		if err != nil || !isOther {
			return rows, err
		}
	}
	s.log.Error(alteredRoster, logkey.Proof, table, logkey.Err(wrong))
	return roster{}, nil
}

// sumOf returns the sum of a row: the digest of the columns that decide which power the row gives, and to whom.
func sumOf(table string, fields ...string) string {
	return fleet.NetstringSum("muster "+table+" 1\n", fields...)
}

// tokenSum returns the sum of a token's row. Tokens from before version 116 have no owner, and keep their sum.
func tokenSum(token fleet.Token) string {
	fields := []string{token.Name, string(token.Role), scopeField(token.Scope), token.Hash,
		unixMilli(token.CreatedAt), unixMilli(token.IssuedAt), unixMilli(token.ExpiresAt), token.OldHash,
		unixMilli(token.OldUntil)}
	if token.Owner != "" || token.OldOwner != "" {
		fields = append(fields, token.Owner, token.OldOwner)
	}
	return sumOf(tokenRows, fields...)
}

// userSum returns the sum of a user's row. Users from before version 116 have no AccessGivenAt, and keep their sum.
func userSum(user fleet.User) string {
	fields := []string{user.Name, string(user.Role), scopeField(user.Scope), user.Password, user.Identity.Issuer,
		user.Identity.Subject, strconv.FormatBool(user.Disabled())}
	if !user.AccessGivenAt.IsZero() {
		fields = append(fields, unixMilli(user.AccessGivenAt))
	}
	return sumOf(userRows, fields...)
}

// scopeField returns a scope as text for sums; "" is the whole fleet.
func scopeField(scope fleet.Scope) string {
	if scope.Whole() {
		return ""
	}
	return textOf(scope.Tags())
}

// verifyTokens, verifyUsers and verifyEnrollKeys describe the rows that Muster did not write, and the rows that are
// missing.
func (s *Store) verifyTokens(ctx context.Context) ([]string, error) {
	return verifyRoster(ctx, s, rosterOf[fleet.Token]{tokenRows, "token", givesNoRole, func() ([]fleet.Token, error) {
		return collect(ctx, pool{s.reads}, scanToken, selectTokens)
	}, func(token fleet.Token) (name, sum string) { return token.Name, tokenSum(token) }})
}

func (s *Store) verifyUsers(ctx context.Context) ([]string, error) {
	return verifyRoster(ctx, s, rosterOf[fleet.User]{userRows, "user", givesNoRole, func() ([]fleet.User, error) {
		return collect(ctx, pool{s.reads}, scanUser, selectUsers)
	}, func(user fleet.User) (name, sum string) { return user.Name, userSum(user) }})
}

func (s *Store) verifyEnrollKeys(ctx context.Context) ([]string, error) {
	read := func() ([]fleet.EnrollKey, error) {
		return collect(ctx, pool{s.reads}, scanEnrollKey, selectEnrollKeys)
	}
	sum := func(key fleet.EnrollKey) (id, sum string) { return key.ID, enrollKeySum(key) }
	return verifyRoster(ctx, s, rosterOf[fleet.EnrollKey]{enrollKeyRows, "enrol key", "it registers no device", read, sum})
}

const givesNoRole = "it gives no role"

// rosterOf describes a table with a roster, for verifyRoster.
type rosterOf[T any] struct {
	table   string
	noun    string // The word for a row in texts for people.
	follows string // Text for people: the effect on a row that Muster did not write.
	read    func() ([]T, error)
	sum     func(T) (name, sum string)
}

// verifyRoster compares a table with its roster. wrong describes each row that differs from its entry in the roster or
// has none, and each entry of the roster whose row is gone.
func verifyRoster[T any](ctx context.Context, s *Store, of rosterOf[T]) (wrong []string, err error) {
	rows, in, err := readWithRoster(ctx, s, of.table, of.read)
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		name, sum := of.sum(row)
		if in[name] != sum {
			wrong = append(wrong, fmt.Sprintf("%s %q was changed or added: %s", of.noun, name, of.follows))
		}
		delete(in, name)
	}
	for name := range in {
		wrong = append(wrong, fmt.Sprintf("%s %q is missing: Muster did not delete it", of.noun, name))
	}
	return slices.Sorted(slices.Values(wrong)), nil
}
