package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

// Names of proofs. A proof is a sealed fact that shows whether other rows are as Muster wrote them. Without the seal
// key it cannot be made, and it opens under its own name only.
const (
	auditEnds = "audit ends"        // fleet.AuditEnds
	auditKey  = "audit signing key" // the seed of an Ed25519 key
	tokenRows = "tokens"            // a roster
	userRows  = "users"             // a roster
	// secretRows is a roster, too: where a secret may go is decided by its row.
	secretRows = "secrets"

	enrollKeyRows = "enroll_keys" // a roster, of databases that had an enrol key
)

// proof opens a proof and keeps its row for this transaction: what follows from it is decided by one transaction at a
// time, whichever process it is of. A proof that is absent or cannot be opened is reported with ok false.
func (t *tx) proof(name string, into any) (ok bool, err error) {
	var sealed []byte
	err = t.row(`UPDATE proofs SET body = body WHERE name = $1 RETURNING body`, name).Scan(&sealed)
	if absent(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if err := t.store.openProof(name, sealed, into); err != nil {
		t.store.log.Error("a proof in the database is not as Muster wrote it", logkey.Proof, name, logkey.Err(err))
		return false, nil
	}
	return true, nil
}

func (t *tx) putProof(name string, value any) error {
	plain, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return t.exec(`INSERT INTO proofs (name, body) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET body = excluded.body`,
		name, t.store.seal.Seal("proofs", name, "body", plain))
}

func (s *Store) openProof(name string, sealed []byte, into any) error {
	plain, err := s.seal.Open("proofs", name, "body", sealed)
	if err == nil {
		err = json.Unmarshal(plain, into)
	}
	return err
}

// sealedProof is a proof as the readers find it, nil where there is none.
func (s *Store) sealedProof(ctx context.Context, name string) (sealed []byte, err error) {
	err = s.reads.QueryRowContext(ctx, `SELECT body FROM proofs WHERE name = $1`, name).Scan(&sealed)
	if absent(err) {
		return nil, nil
	}
	return sealed, err
}

// roster are the rows of a table that give a role or a secret, by name, each with the sum of what it means. A row that
// is not in the roster of its table, or means something else there, was not written by Muster: it gives nothing. A row
// that was deleted and put back is not in it either.
type roster map[string]string

// enroll is called by each write that makes or changes a row that gives a role.
func (t *tx) enroll(table, row, sum string) error {
	return t.changeRoster(table, func(r roster) { r[row] = sum })
}

// strike is called by each write that deletes one.
func (t *tx) strike(table, row string) error {
	return t.changeRoster(table, func(r roster) { delete(r, row) })
}

// sum is a digest of a roster. The ends of the audit have it, so that no roster can be put back without them.
func (r roster) sum() string {
	var fields []string
	for _, row := range slices.Sorted(maps.Keys(r)) {
		fields = append(fields, row, r[row])
	}
	return fleet.NetstringSum("muster roster 1\n", fields...)
}

// changeRoster changes one row of a roster only: taking the others from the table would make good what was changed
// there. A roster that cannot be opened, or is an earlier one, is begun anew: the rows that were in it give nothing
// until they are made again.
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

// roster opens the roster of a table. It is not ok, and empty, where it is not the one that Muster wrote last. A table
// whose roster was never begun has an empty one: the ends of the audit know those that were.
func (t *tx) roster(table string) (rows roster, ok bool, err error) {
	opened, err := t.proof(table, &rows)
	if err != nil {
		return nil, false, err
	}
	ends, proven, err := t.auditEnds()
	if err == nil && !opened && proven && ends.Rosters[table] == "" {
		return roster{}, true, nil
	}
	if err != nil || !opened || ends.Rosters[table] != rows.sum() {
		return roster{}, false, err
	}
	return rows, true, nil
}

// asWritten answers conflict for a row that Muster did not write, before a write that would make it good.
func (t *tx) asWritten(table, row, sum string) error {
	rows, _, err := t.roster(table)
	if err != nil || rows[row] == sum {
		return err
	}
	return &fleet.Error{Code: fleet.CodeConflict, Message: fmt.Sprintf("%q in %s was changed in the database", row, table),
		Hint: "Delete it and make it again; `muster audit verify` shows what else was changed."}
}

// enrolled reads rows of a table together with their roster: none of the two is older than the other.
func enrolled[T any](ctx context.Context, s *Store, table string, read func() ([]T, error)) ([]T, roster, error) {
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
			continue // a write came between
		}
		return rows, s.openRoster(table, after, ends, known), nil
	}
	return nil, nil, &fleet.Error{Code: fleet.CodeUnavailable, During: "read " + table,
		Message: "the rows change too often to be read", Hint: tryAgain}
}

// sealedRoster is a roster and the ends of the audit as of one moment, nil where there is none.
func (s *Store) sealedRoster(ctx context.Context, table string) (rows, ends []byte, err error) {
	err = s.reads.QueryRowContext(ctx, `SELECT (SELECT body FROM proofs WHERE name = $1),
		(SELECT body FROM proofs WHERE name = $2)`, table, auditEnds).Scan(&rows, &ends)
	return rows, ends, err
}

// openRoster is empty where the roster is not the one that Muster wrote last.
func (s *Store) openRoster(table string, sealed, sealedEnds []byte, known fleet.AuditEnds) roster {
	var rows roster
	var ends fleet.AuditEnds
	err := s.openProof(auditEnds, sealedEnds, &ends)
	if err == nil && sealed == nil && ends.Rosters[table] == "" && !putBack(known, ends) {
		return roster{} // never begun
	}
	err = errors.Join(err, s.openProof(table, sealed, &rows))
	if err == nil && !putBack(known, ends) && ends.Rosters[table] == rows.sum() {
		return rows
	}
	s.log.Error("the roster of a table is not as Muster wrote it: its rows give nothing", logkey.Proof, table,
		logkey.Err(err))
	return roster{}
}

// sumOf is what a roster keeps of a row: a digest of all that it means for a role.
func sumOf(table string, fields ...string) string {
	return fleet.NetstringSum("muster "+table+" 1\n", fields...)
}

func tokenSum(token fleet.Token) string {
	issued := token.IssuedAt
	if issued.IsZero() {
		issued = token.CreatedAt
	}
	scope := textOf(token.Scope.Tags())
	if token.Scope.Whole() {
		scope = ""
	}
	return sumOf(tokenRows, token.Name, string(token.Role), scope, token.Hash, unixMilli(token.CreatedAt),
		unixMilli(issued), unixMilli(token.ExpiresAt), token.OldHash, unixMilli(token.OldUntil))
}

func userSum(user fleet.User) string {
	table, fields := userRows, []string{user.Name, string(user.Role), user.Password}
	switch {
	case user.Identity != (fleet.Identity{}):
		scope := textOf(user.Scope.Tags())
		if user.Scope.Whole() {
			scope = ""
		}
		table += " of single sign-on"
		fields = []string{user.Name, string(user.Role), scope, user.Password, user.Identity.Issuer, user.Identity.Subject}
	case !user.Scope.Whole():
		fields = append(fields, textOf(user.Scope.Tags()))
	}
	if user.Disabled() {
		table += " that are disabled"
	}
	return sumOf(table, fields...)
}

// sealedSum is the proof in a row of a table whose rows come and go too often for a roster.
func (s *Store) sealedSum(table, row, sum string) []byte {
	return s.seal.Seal(table, row, "proof", []byte(sum))
}

// proven tells whether the proof in a row is of what the row means.
func (s *Store) proven(table, row, sum string, proof []byte) bool {
	plain, err := s.seal.Open(table, row, "proof", proof)
	if err == nil && string(plain) == sum {
		return true
	}
	s.log.Error("a row in the database was not written by Muster: it lets no one in", "table", table, logkey.Err(err))
	return false
}

// unixMilli is a time as text; "" for the zero time.
func unixMilli(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return strconv.FormatInt(at.UnixMilli(), 10)
}

// beginProofs makes the proofs of a database that has none, of nothing: rows that are there all the same give no role,
// and entries are not proven.
func (t *tx) beginProofs() error {
	var proofs int
	if err := t.row(`SELECT COUNT(*) FROM proofs`).Scan(&proofs); err != nil || proofs > 0 {
		return err
	}
	return t.putRosters(map[string]roster{tokenRows: {}, userRows: {}, secretRows: {}}, fleet.AuditEnds{FirstID: 1})
}

// putRosters writes these rosters, and ends of the audit that know of no other.
func (t *tx) putRosters(rosters map[string]roster, ends fleet.AuditEnds) error {
	ends.Rosters = map[string]string{}
	var errs []error
	for table, rows := range rosters {
		ends.Rosters[table] = rows.sum()
		errs = append(errs, t.putProof(table, rows))
	}
	return errors.Join(append(errs, t.putProof(auditEnds, ends))...)
}

// believe makes the proofs of a database of before they were kept. What it holds is believed, once.
func (t *tx) believe() error {
	ends, err := t.chainOldEntries()
	if err != nil {
		return err
	}
	allTokens, err := collect(t.ctx, t.session, scanToken, selectTokens)
	if err != nil {
		return err
	}
	allUsers, err := collect(t.ctx, t.session, scanUser, selectUsers)
	if err != nil {
		return err
	}
	tokens, users := roster{}, roster{}
	for _, token := range allTokens {
		tokens[token.Name] = tokenSum(token)
	}
	for _, user := range allUsers {
		users[user.Name] = userSum(user)
	}
	rosters := map[string]roster{tokenRows: tokens, userRows: users}
	return errors.Join(t.putRosters(rosters, ends), t.believeDevices(), t.believeSecrets())
}

// makeProofs makes the proofs and the seal check together.
func (w *writer) makeProofs(ctx context.Context, proofs func(*tx) error) error {
	return w.alone(ctx, func(t *tx) error {
		if err := proofs(t); err != nil {
			return fmt.Errorf("make the proofs of the database: %w", err)
		}
		return t.exec(putSealCheck, t.store.sealedCheck())
	})
}

// alone runs a write in a transaction of its own, before the writer runs.
func (w *writer) alone(ctx context.Context, do func(*tx) error) (err error) {
	if err := w.session.exec(ctx, w.store.dialect.begin()); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = w.session.exec(ctx, "ROLLBACK")
		}
	}()
	t := &tx{store: w.store, session: w.session, ctx: ctx, now: w.store.clock(), who: fleet.ActorOf(ctx)}
	if err := do(t); err != nil {
		return err
	}
	if err := t.appendAudit(t.effects.audit, t.effects.marks); err != nil {
		return err
	}
	return w.session.exec(ctx, "COMMIT")
}
