package store

import (
	"context"
	"fmt"
	"sync"

	"muster/internal/fleet"
)

// The ends of the audit are one sealed value in the table proofs. They contain the ID of the audit's first entry, the
// ID and hash of its last entry, the digest of every roster, and the combined marks of devices, of decisions and of
// every marked table. A transaction that adds an entry or changes a roster or mark replaces the ends.
//
// If somebody puts back an earlier copy of a row, the row does not fit the ends. If somebody puts back the ends too,
// they are older than those that the process knows (knownEnds), or older than the end file in the home folder.

// lostEnds logs that the stored ends are not those that Muster wrote, and returns the audit entry that records it.
// ends are those that auditEnds returned in their place.
func (t *tx) lostEnds(ends fleet.AuditEnds) fleet.AuditEntry {
	t.store.log.Error("the audit does not end as Muster wrote it: type `muster audit verify`", "entry", ends.LastID)
	return fleet.AuditEntry{At: t.now, Who: "muster", What: fleet.AuditTampered, Subject: "audit",
		Detail: fmt.Sprintf("the audit did not end as Muster wrote it; nothing before is proven, %d was the last entry",
			ends.LastID)}
}

// auditEnds reads the ends and locks them until the transaction ends. ok reports whether they are the ends that Muster
// wrote last, and the audit has no entry after their last one. If ok is false, auditEnds returns other ends, so that
// the next entry can be written:
//
//   - the known ends (see knownEnds), if there are any and the stored ones are missing, do not open, were put back or
//     are of a copy of the audit that went on elsewhere;
//   - the stored ends with the ID of the newest entry in the table, if they open and another program added entries;
//   - otherwise ends that are computed from the entries in the table.
func (t *tx) auditEnds() (ends fleet.AuditEnds, ok bool, err error) {
	if ok, err = t.proof(auditEnds, &ends); err != nil {
		return ends, false, err
	}
	last, err := scanAudit(t.row(selectAudit + ` ORDER BY id DESC LIMIT 1`))
	if err != nil && !absent(err) {
		return ends, false, err
	}
	known := t.store.known.now()
	lost := !ok && known.LastID > 0
	if ok {
		if lost, err = isOther(t.ctx, t.session, known, ends); err != nil {
			return ends, false, err
		}
	}
	if lost {
		if ok {
			t.loseWhileRunning(known, ends)
			if err := t.endEverySession(&known); err != nil { // They came back with the older database.
				return ends, false, err
			}
		}
		known = beginningAs(known, ends)
		known.LastID = max(known.LastID, last.ID)
		return known, false, nil // The next entry follows the known ends, so that verify shows which entries are missing.
	}
	if ok && last.ID > ends.LastID { // Another program added entries: the next entry gets an ID after theirs.
		ends.LastID = last.ID
		return ends, false, nil
	}
	if ok {
		t.store.known.know(ends)
		return ends, true, nil
	}
	if ends, err = t.endsOfTable(); err != nil {
		return ends, false, err
	}
	ends.LastID, ends.LastHash = last.ID, last.Hash
	beginTables(&ends)
	return ends, false, nil
}

// endsOfTable makes ends from the oldest entry in the table; only FirstID and Before are set. It is for databases
// whose stored ends are missing or do not open.
func (t *tx) endsOfTable() (ends fleet.AuditEnds, err error) {
	first, err := scanAudit(t.row(selectAudit + ` ORDER BY id LIMIT 1`))
	if err != nil && !absent(err) {
		return ends, err
	}
	return fleet.AuditEnds{FirstID: max(first.ID, 1), Before: first.Previous}, nil
}

// openEnds reads the ends without locking them. ok is false when they are missing or their seal does not open.
func (s *Store) openEnds(ctx context.Context, q querier) (ends fleet.AuditEnds, ok bool, err error) {
	proofs, err := collect(ctx, q, func(row scanner) (sealed []byte, err error) {
		return sealed, row.Scan(&sealed)
	}, `SELECT body FROM proofs WHERE name = $1`, auditEnds)
	if err != nil || len(proofs) == 0 || s.openProof(auditEnds, proofs[0], &ends) != nil {
		return fleet.AuditEnds{}, false, err
	}
	return ends, true, nil
}

// knownEnds holds the newest ends of the audit that this process wrote or read. The audit only grows, whichever
// process writes it, so older ends in the database were put back from a copy. A process that has just started knows no
// ends yet. Then only the file in the home folder (see endFile) and signed heads that are kept elsewhere show that
// older ends were put back.
type knownEnds struct {
	mu   sync.Mutex // guards ends
	ends fleet.AuditEnds
}

// know makes ends the known ends if they are newer: their last entry has a higher ID than that of the known ends, or
// they were written later with the same last entry.
func (k *knownEnds) know(ends fleet.AuditEnds) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if ends.LastID > k.ends.LastID || isOlder(k.ends, ends) {
		k.ends = ends
	}
}

// replace makes ends the known ends, whatever they were. It is for a start that finds a loss.
func (k *knownEnds) replace(ends fleet.AuditEnds) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ends = ends
}

// now returns the newest known ends.
func (k *knownEnds) now() fleet.AuditEnds {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.ends
}

// beginningAs returns known. If stored are the ends of an audit that was cut beyond the last known entry, the result
// begins where stored begins: no known entry is in the table.
func beginningAs(known, stored fleet.AuditEnds) fleet.AuditEnds {
	if stored.FirstID > known.LastID {
		known.FirstID, known.Before = stored.FirstID, stored.Before
	}
	return known
}

// isOther reports whether ends, which were read from the database, are not those of the audit that has the last known
// entry: they were put back, or are of a copy of the audit that went on elsewhere. The caller takes known before it
// reads ends, or does both in the writer's goroutine: a write in between would make right ends look old. Without known
// ends the result is false.
func isOther(ctx context.Context, q querier, known, ends fleet.AuditEnds) (bool, error) {
	switch {
	case known.LastID == 0:
		return false, nil
	case known.LastID == ends.LastID && known.LastHash == ends.LastHash:
		return isOlder(ends, known), nil
	case ends.LastID <= known.LastID:
		return true, nil
	}
	return lacksLast(ctx, q, known)
}

// isOlder reports whether ends were written before later, although both have the same last entry: what happened between
// them has no entry, such as that a consent was used.
func isOlder(ends, later fleet.AuditEnds) bool {
	return ends.LastID == later.LastID && ends.LastHash == later.LastHash && ends.Writes < later.Writes
}

// lacksLast reports whether the audit table lacks the last known entry, or has it with another hash.
func lacksLast(ctx context.Context, q querier, known fleet.AuditEnds) (bool, error) {
	entries, err := collect(ctx, q, scanAudit, selectAudit+` WHERE id = $1`, known.LastID)
	return len(entries) != 1 || entries[0].Hash != known.LastHash, err
}
