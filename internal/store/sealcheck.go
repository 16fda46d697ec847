package store

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"

	"muster/internal/fleet"
)

const sealCheck = "muster"

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

// sealedBefore tells whether the database may hold something sealed.
func (w *writer) sealedBefore(ctx context.Context) (bool, error) {
	var rows int
	err := w.session.row(ctx, `
		SELECT (SELECT count(*) FROM meta WHERE name = 'seal_check') + (SELECT count(*) FROM devices)`).Scan(&rows)
	return rows > 0, err
}

func (w *writer) compareSeal(ctx context.Context) error {
	s := w.store
	var sealed string
	row := w.session.row(ctx, `SELECT value FROM meta WHERE name = 'seal_check'`)
	err := row.Scan(&sealed)
	if errors.Is(err, sql.ErrNoRows) {
		return w.session.exec(ctx, `INSERT INTO meta (name, value) VALUES ('seal_check', $1)`, s.sealedCheck())
	}
	if err != nil {
		return err
	}
	return s.openCheck(sealed)
}

func (s *Store) sealedCheck() string {
	return hex.EncodeToString(s.seal.Seal("meta", "seal_check", "value", []byte(sealCheck)))
}

func (s *Store) openCheck(sealed string) error {
	raw, err := hex.DecodeString(sealed)
	if err != nil {
		return fmt.Errorf("read seal check: %w", err)
	}
	_, err = s.seal.Open("meta", "seal_check", "value", raw)
	return err
}
