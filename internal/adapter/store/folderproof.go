package store

import (
	"context"
	"time"
)

// proofsKeptFor is how long what is proven of a folder's copies is kept without being proven again.
const proofsKeptFor = 180 * 24 * time.Hour

// FolderProofs returns what was proven of the copies of a folder; nil: nothing is kept.
func (s *Store) FolderProofs(ctx context.Context, folder string) ([]byte, error) {
	var sealed []byte
	err := s.reads.QueryRowContext(ctx, `SELECT body FROM folder_proofs WHERE folder = $1`, folder).Scan(&sealed)
	if absent(err) {
		return nil, nil //nolint:nilnil // a folder need not be proven
	}
	if err == nil {
		sealed, err = s.seal.Open("folder_proofs", folder, "body", sealed)
	}
	return sealed, failure("read what is proven of a folder", err)
}

// PutFolderProofs replaces what is proven of the copies of a folder.
func (s *Store) PutFolderProofs(ctx context.Context, folder string, proofs []byte) error {
	_, err := write(ctx, s, "keep what is proven of a folder", func(t *tx) (none struct{}, err error) {
		if err := t.exec(`DELETE FROM folder_proofs WHERE saved_at < $1`, millis(t.now.Add(-proofsKeptFor))); err != nil {
			return none, err
		}
		return none, t.exec(`INSERT INTO folder_proofs (folder, body, saved_at) VALUES ($1, $2, $3)
			ON CONFLICT (folder) DO UPDATE SET body = excluded.body, saved_at = excluded.saved_at`,
			folder, t.store.seal.Seal("folder_proofs", folder, "body", proofs), millis(t.now))
	})
	return err
}
