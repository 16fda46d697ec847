package store

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"fmt"

	"muster/internal/fleet"
)

// SignHead signs where the audit ends now and keeps that. fresh tells whether the audit has grown since the last head.
func (s *Store) SignHead(ctx context.Context) (head fleet.AuditHead, fresh bool, err error) {
	head, err = write(ctx, s, "sign the audit", func(t *tx) (fleet.AuditHead, error) {
		ends, ok, err := t.auditEnds()
		if err != nil || !ok { // the next entry records that the ends are not as they were
			return fleet.AuditHead{}, err
		}
		last, err := scanHead(t.row(selectHeads + ` ORDER BY audit_id DESC LIMIT 1`))
		if err != nil && !absent(err) {
			return last, err
		}
		if last.ID >= ends.LastID {
			return last, nil
		}
		fresh = true
		return t.signHead(ends)
	})
	return head, fresh, err
}

const selectHeads = `SELECT audit_id, hash, signed_at, signature FROM audit_heads`

func scanHead(row scanner) (h fleet.AuditHead, err error) {
	var at sql.NullInt64
	err = row.Scan(&h.ID, &h.Hash, &at, &h.Signature)
	h.At = fromMillis(at)
	return h, err
}

func (t *tx) signHead(ends fleet.AuditEnds) (head fleet.AuditHead, err error) {
	key, err := t.signingKey()
	if err != nil {
		return head, err
	}
	head = fleet.AuditHead{ID: ends.LastID, Hash: ends.LastHash, At: t.now}
	head.Signature = ed25519.Sign(key, head.SignedText())
	return head, t.exec(`INSERT INTO audit_heads (audit_id, hash, signed_at, signature) VALUES ($1, $2, $3, $4)
		ON CONFLICT (audit_id) DO UPDATE SET hash = excluded.hash, signed_at = excluded.signed_at,
			signature = excluded.signature`, head.ID, head.Hash, millis(head.At), head.Signature)
}

// signingKey is made when there is none. Another one in the place of one that was lost shows: what the old one signed
// is not signed by it.
func (t *tx) signingKey() (ed25519.PrivateKey, error) {
	var seed []byte
	ok, err := t.proof(auditKey, &seed)
	if err != nil {
		return nil, err
	}
	if ok && len(seed) == ed25519.SeedSize {
		return ed25519.NewKeyFromSeed(seed), nil
	}
	seed = make([]byte, ed25519.SeedSize)
	_, _ = rand.Read(seed) // never fails: it ends the process instead
	key := ed25519.NewKeyFromSeed(seed)
	public, _ := key.Public().(ed25519.PublicKey)
	t.record("audit.key", "", "heads are signed by "+hex.EncodeToString(public)+" from here on")
	return key, t.putProof(auditKey, seed)
}

// HeadKey is the public key that signs heads, nil before the first.
func (s *Store) HeadKey(ctx context.Context) (ed25519.PublicKey, error) {
	sealed, err := s.sealedProof(ctx, auditKey)
	if err != nil || sealed == nil {
		return nil, failure("read the key of the audit", err)
	}
	var seed []byte
	if err := s.openProof(auditKey, sealed, &seed); err != nil {
		return nil, err
	}
	if len(seed) != ed25519.SeedSize {
		return nil, fmt.Errorf("the key of the audit has %d bytes", len(seed))
	}
	public, _ := ed25519.NewKeyFromSeed(seed).Public().(ed25519.PublicKey)
	return public, nil
}
