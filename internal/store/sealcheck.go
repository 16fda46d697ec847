package store

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"

	"muster/internal/fleet"
)

// What the seal check holds: that the key fits, and what the database has proofs of. A database that has them and lost
// one is not like one of before: what they were about gives nothing.
const (
	sealCheckUnproven = "muster"                         // of databases without proofs
	sealCheckRoles    = "muster, with proofs"            // of tokens, users and the audit
	sealCheckDevices  = "muster, with proofs of devices" // of these, too
	sealCheckProven   = "muster, with proofs of secrets" // likewise
)

// checkSeal proves that the key fits before anything is read or written with it. A database in which nothing is sealed
// yet gets a key where there is none; any other one without its key is refused.
func (w *writer) checkSeal(ctx context.Context, makeKey func() (Sealer, error)) error {
	sealed, err := w.sealedBefore(ctx)
	if err != nil {
		return err
	}
	if w.store.seal == nil && (sealed || makeKey == nil) {
		return noSealKey()
	}
	if w.store.seal == nil {
		if w.store.seal, err = makeKey(); err != nil {
			return err
		}
	}
	if err := w.compareSeal(ctx); err != nil {
		return err
	}
	w.store.markProven()
	return nil
}

func noSealKey() error {
	return &fleet.Error{
		Code: fleet.CodeConflict, During: "open database",
		Message: "seal.key is missing in the home folder, and the database is sealed with it",
		Hint: "Put seal.key back from a backup, or give its 64 hex digits in MUSTER_SEAL_KEY. " +
			"No other key can read this database. To begin anew, start with an empty home folder and database.",
	}
}

// sealedBefore tells whether the database may hold something sealed.
func (w *writer) sealedBefore(ctx context.Context) (bool, error) {
	var rows int
	err := w.session.row(ctx, `
		SELECT (SELECT count(*) FROM meta WHERE name = 'seal_check') + (SELECT count(*) FROM devices)`).Scan(&rows)
	return rows > 0, err
}

func (w *writer) compareSeal(ctx context.Context) error {
	var text string
	err := w.session.row(ctx, `SELECT value FROM meta WHERE name = 'seal_check'`).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return w.makeProofs(ctx, (*tx).beginProofs) // a database that holds rows is not new: its seal check was taken away
	}
	if err != nil {
		return err
	}
	sealed, err := hex.DecodeString(text)
	if err != nil {
		return fmt.Errorf("read seal check: %w", err)
	}
	plain, err := w.store.seal.Open("meta", "seal_check", "value", sealed)
	if err != nil {
		return err
	}
	return w.believeOnce(ctx, string(plain))
}

// believeOnce believes what a database of before holds, where the home does not say that this was done already.
func (w *writer) believeOnce(ctx context.Context, check string) error {
	switch check {
	case sealCheckUnproven:
		if err := w.store.wantMarkBelow(provenRoles); err != nil {
			return err
		}
		if err := w.sealTexts(ctx); err != nil {
			return err
		}
		return w.makeProofs(ctx, (*tx).believe)
	case sealCheckRoles:
		if err := w.store.wantMarkBelow(provenDevices); err != nil {
			return err
		}
		return w.makeProofs(ctx, func(t *tx) error { return errors.Join(t.believeDevices(), t.believeSecrets()) })
	case sealCheckDevices:
		if err := w.store.wantMarkBelow(provenSecrets); err != nil {
			return err
		}
		return w.makeProofs(ctx, (*tx).believeSecrets)
	}
	return nil
}

const putSealCheck = `INSERT INTO meta (name, value) VALUES ('seal_check', $1)
	ON CONFLICT (name) DO UPDATE SET value = excluded.value`

func (s *Store) sealedCheck() string {
	return hex.EncodeToString(s.seal.Seal("meta", "seal_check", "value", []byte(sealCheckProven)))
}
