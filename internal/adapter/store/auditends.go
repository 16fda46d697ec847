package store

import (
	"context"
	"fmt"
	"sync"

	"muster/internal/fleet"
)

// The ends of the audit are one sealed value in the table proofs. They contain the first and the last entry of the
// audit, the sum of every roster and the combined marks of all rows. Each transaction that adds to the audit replaces
// them. A row that is put back alone no longer fits the ends, and ends that are put back are older than those known
// elsewhere.

// lostEnds returns the entry that records that the ends in the database were not those that Muster wrote.
func (t *tx) lostEnds(ends fleet.AuditEnds) fleet.AuditEntry {
	t.store.log.Error("the audit does not end as Muster wrote it: type `muster audit verify`", "entry", ends.LastID)
	return fleet.AuditEntry{At: t.now, Who: "muster", What: fleet.AuditTampered, Subject: "audit",
		Detail: fmt.Sprintf("the audit did not end as Muster wrote it; nothing before is proven, %d was the last entry",
			ends.LastID)}
}

// auditEnds reads the ends and locks them until the transaction ends. ok is false when Muster did not write the
// stored ends. ends are then computed from the known ends or from the entries in the table, so that the next entry
// can still be written.
func (t *tx) auditEnds() (ends fleet.AuditEnds, ok bool, err error) {
	if ok, err = t.proof(auditEnds, &ends); err != nil {
		return ends, false, err
	}
	last, err := scanAudit(t.row(selectAudit + ` ORDER BY id DESC LIMIT 1`))
	if err != nil && !absent(err) {
		return ends, false, err
	}
	if known := t.store.known.now(); known.LastID > 0 && (!ok || putBack(known, ends)) {
		if ok {
			t.loseWhileRunning(known, ends)
		}
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

// endsOfTable derives the first entry of the audit from the table, for ends that are missing or do not open.
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
// process writes it, so older ends in the database were put back from a copy. A process that has just started knows
// no ends yet; the file in the home folder (see endFile) and signed heads that are kept elsewhere show it then.
type knownEnds struct {
	mu   sync.Mutex // guards ends
	ends fleet.AuditEnds
}

// know records the ends of a commit, if they are newer than the known ones.
func (k *knownEnds) know(ends fleet.AuditEnds) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if ends.LastID > k.ends.LastID {
		k.ends = ends
	}
}

// now returns the newest known ends.
func (k *knownEnds) now() fleet.AuditEnds {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.ends
}

// putBack reports whether ends, which were read after known, are older than known or belong to another audit.
func putBack(known, ends fleet.AuditEnds) bool {
	return ends.LastID < known.LastID || ends.LastID == known.LastID && ends.LastHash != known.LastHash
}
