package store

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

// These are the names of proofs. A proof is a sealed value that shows whether other rows are as Muster wrote them.
// Nobody can make one without the seal key, and it opens only under its own name.
const (
	auditEnds = "audit ends"        // fleet.AuditEnds
	auditKey  = "audit signing key" // the seed of an Ed25519 key

	// Each of these is the name of a table and of the proof with its roster. A roster (see type roster) lists the
	// rows that the table must have.
	tokenRows     = "tokens"
	userRows      = "users"
	secretRows    = "secrets"
	enrollKeyRows = "enroll_keys"
	sessionRows   = "sessions"
	linkRows      = "login_links"
)

// proof opens the proof with this name, and decodes it into the value that into points to. It locks the proof's row
// until the transaction ends, so that two processes never decide by the same proof at once. ok is false if there is no
// such proof or it does not open.
func (t *tx) proof(name string, into any) (ok bool, err error) {
	sealed, err := t.lockProof(name)
	if err != nil || sealed == nil {
		return false, err
	}
	if err := t.store.openProof(name, sealed, into); err != nil {
		t.store.log.Error("a proof in the database is not as Muster wrote it", logkey.Proof, name, logkey.Err(err))
		return false, nil
	}
	return true, nil
}

// lockProof locks a proof's row until the transaction ends, and returns the proof as it is stored, still sealed. It
// returns nil if there is no such proof.
func (t *tx) lockProof(name string) (sealed []byte, err error) {
	err = t.row(`UPDATE proofs SET body = body WHERE name = $1 RETURNING body`, name).Scan(&sealed)
	if absent(err) {
		return nil, nil
	}
	return sealed, err
}

const putProof = `INSERT INTO proofs (name, body) VALUES ($1, $2)
	ON CONFLICT (name) DO UPDATE SET body = excluded.body`

func (t *tx) putProof(name string, value any) error {
	sealed, err := t.store.sealProof(name, value)
	if err != nil {
		return err
	}
	return t.exec(putProof, name, sealed)
}

func (s *Store) sealProof(name string, value any) ([]byte, error) {
	plain, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	if ends, is := value.(fleet.AuditEnds); is {
		s.decoded.keepEnds(plain, ends)
	}
	return s.seal.Seal("proofs", name, "body", plain), nil
}

func (s *Store) openProof(name string, sealed []byte, into any) error {
	plain, err := s.seal.Open("proofs", name, "body", sealed)
	if err == nil {
		err = s.decoded.decode(name, plain, into)
	}
	return err
}

// sealedProof returns a proof as it is stored, still sealed, and locks no row. It returns nil if the proof does not
// exist.
func (s *Store) sealedProof(ctx context.Context, name string) (sealed []byte, err error) {
	err = s.reads.QueryRowContext(ctx, `SELECT body FROM proofs WHERE name = $1`, name).Scan(&sealed)
	if absent(err) {
		return nil, nil
	}
	return sealed, err
}

// sealedSum returns the proof of a session or log-in link: the digest of the row's content, sealed for this row. The
// proof is stored in the row itself. A roster lists these rows, too (sessionroster.go).
func (s *Store) sealedSum(table, row, sum string) []byte {
	return s.seal.Seal(table, row, "proof", []byte(sum))
}

// proven reports whether proof opens for this row and contains sum, the digest of the row's present content. If not,
// proven logs that.
func (s *Store) proven(table, row, sum string, proof []byte) bool {
	plain, err := s.seal.Open(table, row, "proof", proof)
	if err == nil && string(plain) == sum {
		return true
	}
	s.log.Error("a row in the database was not written by Muster: it lets no one in", "table", table, logkey.Err(err))
	return false
}

// unixMilli returns a time as a decimal number of milliseconds since 1970, and the zero time as "".
func unixMilli(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return strconv.FormatInt(at.UnixMilli(), 10)
}

// beginProofs writes the seal check, and empty proofs if the database has none. It runs on a database without a seal
// check: a new one, or one that lost it. If there were no proofs, Muster does not trust rows that are already there:
// tokens and users get no role, and nothing in the audit is proven.
func (t *tx) beginProofs() error {
	if err := t.loadMarkKey(); err != nil {
		return err
	}
	var proofs int
	if err := t.row(`SELECT COUNT(*) FROM proofs`).Scan(&proofs); err != nil {
		return err
	}
	if proofs == 0 {
		ends := fleet.AuditEnds{FirstID: 1, Rosters: map[string]string{}}
		for _, table := range []string{tokenRows, userRows, secretRows, enrollKeyRows, sessionRows, linkRows} {
			ends.Rosters[table] = roster{}.sum()
			if err := t.putProof(table, roster{}); err != nil {
				return err
			}
		}
		beginTables(&ends)
		if err := t.putProof(auditEnds, ends); err != nil {
			return err
		}
		if err := t.markBeginning(); err != nil {
			return err
		}
	}
	return t.exec(`INSERT INTO meta (name, value) VALUES ('seal_check', $1)`, t.store.sealedCheck())
}

// alone runs a write in a transaction of its own. Only Open calls it, before the writer's goroutine starts.
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
	if err := t.appendAudit(t.effects); err != nil {
		return err
	}
	return w.session.exec(ctx, "COMMIT")
}
