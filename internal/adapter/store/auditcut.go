package store

import (
	"context"
	"fmt"
	"time"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

const cutLength = 1000 // most entries that one transaction deletes, because other writes wait for it

// CutAudit deletes the oldest entries of the audit, up to the first that is not older than age, and returns how many
// it deleted. Before it deletes, it signs a head. It never deletes the newest entry, nor one that the home folder on
// disk remembers as the newest: a start that does not find that entry takes the database for one that went on
// elsewhere. It deletes nothing if age is 0, while a loss is not accepted, or if the ends or the oldest entries are not
// as Muster wrote them.
func (s *Store) CutAudit(ctx context.Context, age time.Duration) (deleted int64, err error) {
	if age <= 0 {
		return 0, nil
	}
	for {
		due, err := s.dueEntries(ctx, s.clock().Add(-age))
		if err != nil || due == 0 {
			return deleted, err
		}
		if _, _, err := s.SignHead(ctx); err != nil {
			return deleted, err
		}
		remembered, err := s.end.synced()
		if err != nil {
			return deleted, err
		}
		n, err := write(ctx, s, "cut the audit", func(t *tx) (int64, error) { return t.cutAudit(due, remembered) })
		if deleted += n; err != nil || n < cutLength {
			return deleted, err
		}
		select {
		case <-time.After(prunePause):
		case <-ctx.Done():
			return deleted, ctx.Err()
		}
	}
}

// dueEntries counts the entries that come before the first entry made at cutoff or later. If all entries are older
// than cutoff, it counts all but the newest. If the clock was once set back, an entry from before that may have a time
// after cutoff; the count then ends there.
func (s *Store) dueEntries(ctx context.Context, cutoff time.Time) (n int64, err error) {
	err = s.reads.QueryRowContext(ctx, `SELECT COUNT(*) FROM audit WHERE id < COALESCE(
		(SELECT MIN(id) FROM audit WHERE at >= $1), (SELECT MAX(id) FROM audit))`, cutoff.UnixMilli()).Scan(&n)
	return n, failure("count old entries of the audit", err)
}

// cutAudit deletes the oldest entries and returns how many. due is how many are to be deleted, and remembered is the
// newest entry that the home folder remembers. cutAudit deletes at most cutLength, and neither the newest entry nor the
// remembered one. It records in the audit's ends that the audit begins after them. It deletes nothing while a loss is
// not accepted, or if the ends or these entries are not as Muster wrote them.
func (t *tx) cutAudit(due, remembered int64) (deleted int64, err error) {
	ends, ok, err := t.auditEnds()
	if err != nil || !ok || t.store.loss.now() != nil {
		return 0, err
	}
	taken, err := t.auditTaken()
	if err != nil {
		return 0, err
	}
	due = min(due, cutLength, min(ends.LastID, remembered)-ends.FirstID, taken-ends.FirstID+1)
	oldest, err := collect(t.ctx, t.session, scanAudit, selectAudit+` ORDER BY id LIMIT $1`, due+1)
	if err != nil || due < 1 {
		return 0, err
	}
	if !follows(ends, oldest) || int64(len(oldest)) != due+1 {
		t.store.log.Error("old entries of the audit are not deleted: they are not as Muster wrote them", logkey.Next,
			"type `muster audit verify`")
		return 0, nil
	}
	last := oldest[due-1]
	if err := t.exec(`DELETE FROM audit WHERE id <= $1`, last.ID); err != nil {
		return 0, err
	}
	t.record("audit.cut", "", fmt.Sprintf("entries %d to %d were deleted because of their age", ends.FirstID, last.ID))
	ends.FirstID, ends.Before = last.ID+1, last.Hash
	return due, t.putProof(auditEnds, ends)
}

// auditTaken returns the ID of the last entry that every sink of the audit took. Later entries are not deleted.
func (t *tx) auditTaken() (id int64, err error) {
	err = t.session.row(t.ctx, `SELECT COALESCE(MIN(audit), 9223372036854775807) FROM sink_cursors WHERE audit >= 0`).
		Scan(&id)
	return id, err
}

// follows reports whether entries are the first entries of the audit by its ends: in order, without a gap, and each
// with the right hashes.
func follows(ends fleet.AuditEnds, entries []fleet.AuditEntry) bool {
	id, previous := ends.FirstID, ends.Before
	for _, e := range entries {
		if e.ID != id || e.Previous != previous || e.Hash != e.Sum() {
			return false
		}
		id, previous = id+1, e.Hash
	}
	return true
}
