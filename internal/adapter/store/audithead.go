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

// SignHead signs the newest entry of the audit, and stores and returns the signed head. fresh is false if that entry
// has a valid head already; SignHead then returns that one. If the audit is empty, or its ends are not as Muster wrote
// them, SignHead returns the zero head.
func (s *Store) SignHead(ctx context.Context) (head fleet.AuditHead, fresh bool, err error) {
	head, err = write(ctx, s, "sign the audit", func(t *tx) (fleet.AuditHead, error) {
		ends, ok, err := t.auditEnds()
		if err != nil || !ok || ends.LastID == 0 { // The next entry will record that the ends are not as Muster wrote them.
			return fleet.AuditHead{}, err
		}
		if err := t.findHeadsBeyond(ends); err != nil {
			return fleet.AuditHead{}, err
		}
		key, err := t.signingKey()
		if err != nil {
			return fleet.AuditHead{}, err
		}
		public, _ := key.Public().(ed25519.PublicKey)
		last, err := scanHead(t.row(selectHeads+` WHERE audit_id = $1`, ends.LastID))
		if err != nil && !absent(err) {
			return last, err
		}
		if last.Hash == ends.LastHash && last.SignedBy(public) {
			return last, nil
		}
		fresh = true
		return t.signHead(ends, key)
	})
	return head, fresh, err
}

// findHeadsBeyond looks for a stored head of an entry after the last one. Such a head is forged, or entries were
// removed. If there is one, findHeadsBeyond logs this and records it in the audit. It does so only once for each
// newest such entry.
func (t *tx) findHeadsBeyond(ends fleet.AuditEnds) error {
	var id sql.NullInt64
	if err := t.row(`SELECT MAX(audit_id) FROM audit_heads`).Scan(&id); err != nil || id.Int64 <= ends.LastID {
		return err
	}
	if w := t.store.writer; id.Int64 != w.headBeyond {
		t.committed(func() { w.headBeyond = id.Int64 })
		t.store.log.Error("there is a head of the audit beyond its end: type `muster audit verify`", "entry", id.Int64)
		t.record(fleet.AuditTampered, "audit", fmt.Sprintf("there was a head of entry %d, and the last entry was %d",
			id.Int64, ends.LastID))
	}
	return nil
}

const selectHeads = `SELECT audit_id, hash, signed_at, signature FROM audit_heads`

func scanHead(row scanner) (h fleet.AuditHead, err error) {
	var at sql.NullInt64
	err = row.Scan(&h.ID, &h.Hash, &at, &h.Signature)
	h.At = fromMillis(at)
	return h, err
}

func (t *tx) signHead(ends fleet.AuditEnds, key ed25519.PrivateKey) (head fleet.AuditHead, err error) {
	head = fleet.AuditHead{ID: ends.LastID, Hash: ends.LastHash, At: t.now}
	head.Signature = ed25519.Sign(key, head.SignedText())
	return head, t.exec(`INSERT INTO audit_heads (audit_id, hash, signed_at, signature) VALUES ($1, $2, $3, $4)
		ON CONFLICT (audit_id) DO UPDATE SET hash = excluded.hash, signed_at = excluded.signed_at,
			signature = excluded.signature`, head.ID, head.Hash, millis(head.At), head.Signature)
}

// signingKey returns the private key that signs heads. If the database has no such key, signingKey makes one. After
// somebody removed the key, `audit verify` therefore reports the heads that were signed with it.
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

// HeadKey returns the public key that signs heads, or nil if there is no key yet. SignHead makes the key.
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
