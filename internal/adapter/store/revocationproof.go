package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"muster/internal/fleet"
)

var selectRevocationProofs = `SELECT revoked_id, device_id, config_at, digest, connections_at, returns, returned_at, ` +
	revocationProofRows.columns("") + ` FROM revocation_proofs`

func scanRevocationProof(row scanner) (p fleet.RevocationProof, err error) {
	var configAt, connectionsAt, returnedAt int64
	err = row.Scan((*string)(&p.Revoked), (*string)(&p.Device), &configAt, &p.Digest, &connectionsAt, &p.Returns,
		&returnedAt)
	p.ConfigAt, p.ConnectionsAt, p.ReturnedAt = timeOf(configAt), timeOf(connectionsAt), timeOf(returnedAt)
	return p, err
}

// RevocationProofs returns what is proven about one revoked device. A row that is not believed is left out, so it
// proves nothing.
func (s *Store) RevocationProofs(ctx context.Context, revoked fleet.DeviceID) ([]fleet.RevocationProof, error) {
	rows, err := collect(ctx, pool{s.reads}, believing(s, revocationProofRows, scanRevocationProof),
		selectRevocationProofs+` WHERE revoked_id = $1`, string(revoked))
	return onlyBelieved(rows), failure("read what is proven about revocations", err)
}

// PutRevocationProofs stores proofs about one revoked device, records them in the audit, and returns those that it
// stored. A proof or a return from before the revocation is left out, and so is one about a device that was deleted.
// When the last managed device is proven, the audit gets an entry that says so.
func (s *Store) PutRevocationProofs(ctx context.Context, revoked fleet.DeviceID, proofs []fleet.RevocationProof) (
	[]fleet.RevocationProof, error) {
	return write(ctx, s, "keep what is proven about revocations", func(t *tx) ([]fleet.RevocationProof, error) {
		return t.putRevocationProofs(revoked, proofs)
	})
}

func (t *tx) putRevocationProofs(revoked fleet.DeviceID, proofs []fleet.RevocationProof) (
	[]fleet.RevocationProof, error) {
	revocation, err := t.revocation(revoked)
	if absent(err) {
		return nil, nil // The revocation ended meanwhile.
	}
	if err != nil {
		return nil, err
	}
	var proven, returned []fleet.RevocationProof
	for _, p := range proofs {
		stored, err := t.putRevocationProof(revocation, p)
		switch {
		case err != nil:
			return nil, err
		case stored && p.Proven():
			proven = append(proven, p)
		case stored:
			returned = append(returned, p)
		}
	}
	t.recordProofs("revocation.returned", revoked, returned, func(p fleet.RevocationProof) string {
		return fmt.Sprintf("%s has the device again, seen %s", p.Device, proofTime(p.ReturnedAt))
	})
	t.recordProofs("revocation.proven", revoked, proven, func(p fleet.RevocationProof) string {
		return fmt.Sprintf("%s: configuration %.12s read %s without the device, connections read %s without it", p.Device,
			p.Digest, proofTime(p.ConfigAt), proofTime(p.ConnectionsAt))
	})
	if len(proven) > 0 {
		err = t.recordCompletion(revoked)
	}
	return slices.Concat(returned, proven), err
}

func (t *tx) putRevocationProof(of fleet.Revocation, p fleet.RevocationProof) (stored bool, err error) {
	if at := cmp.Or(p.ConfigAt, p.ReturnedAt); at.Before(of.At) {
		return false, nil
	}
	if exists, err := t.exists(p.Device); err != nil || !exists {
		return false, err
	}
	put := func() error {
		return t.exec(`INSERT INTO revocation_proofs
				(revoked_id, device_id, config_at, digest, connections_at, returns, returned_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7)
			ON CONFLICT (revoked_id, device_id) DO UPDATE SET config_at = excluded.config_at, digest = excluded.digest,
				connections_at = excluded.connections_at, returns = excluded.returns, returned_at = excluded.returned_at`,
			string(of.Device), string(p.Device), orZero(p.ConfigAt), p.Digest, orZero(p.ConnectionsAt),
			p.Returns, orZero(p.ReturnedAt))
	}
	return true, t.marking(revocationProofRows, put, string(of.Device), string(p.Device))
}

// orZero is a time in milliseconds, and 0 for the zero time.
func orZero(at time.Time) int64 {
	if at.IsZero() {
		return 0
	}
	return at.UnixMilli()
}

const proofsOfEntry = 20 // devices that one entry of the audit names

// recordProofs adds entries to the audit that name the devices of proofs.
func (t *tx) recordProofs(what string, revoked fleet.DeviceID, proofs []fleet.RevocationProof,
	text func(fleet.RevocationProof) string) {
	slices.SortFunc(proofs, func(a, b fleet.RevocationProof) int { return cmp.Compare(a.Device, b.Device) })
	for some := range slices.Chunk(proofs, proofsOfEntry) {
		var texts []string
		for _, p := range some {
			texts = append(texts, text(p))
		}
		t.record(what, string(revoked), strings.Join(texts, "; "))
	}
}

// recordCompletion adds an entry to the audit if all managed devices are proven to be without the revoked device.
// Devices that are revoked themselves do not count: Muster writes nothing to them.
func (t *tx) recordCompletion(revoked fleet.DeviceID) error {
	var left int
	err := t.row(`SELECT COUNT(*) FROM devices d WHERE NOT EXISTS (SELECT 1 FROM revocations r WHERE r.device_id = d.id)
		AND NOT EXISTS (SELECT 1 FROM revocation_proofs p WHERE p.device_id = d.id AND p.revoked_id = $1
			AND p.config_at > 0 AND p.connections_at > 0)`, string(revoked)).Scan(&left)
	if err != nil || left > 0 {
		return err
	}
	rows, err := collect(t.ctx, t.session, believing(t.store, revocationProofRows, scanRevocationProof),
		selectRevocationProofs+` WHERE revoked_id = $1
			AND NOT EXISTS (SELECT 1 FROM revocations r WHERE r.device_id = revocation_proofs.device_id)`, string(revoked))
	if err != nil {
		return err
	}
	for _, row := range rows {
		if !row.believed {
			return nil
		}
	}
	t.record("revocation.complete", string(revoked), fmt.Sprintf("none of %d managed devices has the device", len(rows)))
	return nil
}

// proofTime is a time in an entry of the audit about proofs.
func proofTime(at time.Time) string { return at.UTC().Format(time.RFC3339) }

// forgetRevocationProofs removes what is proven about a revocation that ends.
func (t *tx) forgetRevocationProofs(revoked fleet.DeviceID) error {
	if err := t.unmark(revocationProofRows, `revoked_id = $1`, string(revoked)); err != nil {
		return err
	}
	return t.exec(`DELETE FROM revocation_proofs WHERE revoked_id = $1`, string(revoked))
}
