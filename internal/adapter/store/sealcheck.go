package store

import (
	"context"
	"encoding/hex"
	"fmt"

	"muster/internal/fleet"
)

// checkSeal checks that the seal key fits the database, before anything is read or written with it. If there is no key
// and nothing in the database is sealed yet, makeKey makes one. If there is no key and something is sealed, or makeKey
// is nil, checkSeal returns a conflict error. A database without a seal check gets one (see beginProofs).
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
	return w.compareSeal(ctx)
}

func noSealKey() error {
	return &fleet.Error{
		Code: fleet.CodeConflict, During: "open database",
		Message: "seal.key is missing in the home folder, and the database is sealed with it",
		Hint: "Put seal.key back from a backup, or give its 64 hex digits in MUSTER_SEAL_KEY. " +
			"No other key can read this database. To begin anew, start with an empty home folder and database.",
	}
}

// sealedBefore reports whether the database may contain sealed values.
func (w *writer) sealedBefore(ctx context.Context) (bool, error) {
	var rows int
	err := w.session.row(ctx, `
		SELECT (SELECT count(*) FROM meta WHERE name = 'seal_check') + (SELECT count(*) FROM devices)`).Scan(&rows)
	return rows > 0, err
}

func (w *writer) compareSeal(ctx context.Context) error {
	err := w.fitsSeal(ctx)
	if absent(err) {
		return w.alone(ctx, (*tx).beginProofs)
	}
	return err
}

// fitsSeal returns an error if the database was sealed with another key, and sql.ErrNoRows if it has no seal check.
func (w *writer) fitsSeal(ctx context.Context) error {
	var text string
	if err := w.session.row(ctx, `SELECT value FROM meta WHERE name = 'seal_check'`).Scan(&text); err != nil {
		return err
	}
	sealed, err := hex.DecodeString(text)
	if err != nil {
		return fmt.Errorf("read seal check: %w", err)
	}
	if w.store.seal == nil {
		return noSealKey()
	}
	_, err = w.store.seal.Open("meta", "seal_check", "value", sealed)
	return err
}

// sealedCheck returns a new seal check: a text sealed with the present key, which no other key opens.
func (s *Store) sealedCheck() string {
	return hex.EncodeToString(s.seal.Seal("meta", "seal_check", "value", []byte("muster")))
}
