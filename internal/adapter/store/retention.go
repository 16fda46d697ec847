package store

import (
	"context"
	"maps"
	"slices"
	"time"

	"muster/internal/fleet"
)

// Retention says how many revisions of a device are kept and for how long, and how long entries of the audit are kept.
// The newest revision of a device always stays, and so does the newest entry of the audit.
type Retention struct {
	Revisions int // per device; 0: any number
	// Recent keeps revisions beyond that number that were replaced within this time, up to maxRecent of each device.
	// 0: the number alone decides.
	Recent time.Duration
	Age    time.Duration // longest time since a newer revision replaced it; 0: any age
	Audit  time.Duration // age after which entries of the audit are deleted; 0: never
}

const (
	janitorEvery = time.Hour
	maxRecent    = 1000                  // revisions of a device that Retention.Recent keeps at most
	pruneLength  = 100                   // most revisions that one transaction deletes, because other writes wait for it
	prunePause   = 20 * time.Millisecond // pause between transactions, so that others can use the disk
)

// SetRetention replaces the retention. Until it is called, everything is kept.
func (s *Store) SetRetention(r Retention) {
	s.retention.Store(&r)
	select {
	case s.cleaning <- struct{}{}:
	default:
	}
}

func (s *Store) kept() Retention {
	if r := s.retention.Load(); r != nil {
		return *r
	}
	return Retention{}
}

// RunJanitor deletes old revisions and entries of the audit until ctx ends: at once, every hour, and when the retention
// was replaced.
func (s *Store) RunJanitor(ctx context.Context) error {
	tick := time.NewTicker(janitorEvery)
	defer tick.Stop()
	for {
		r := s.kept()
		if forgotten, err := s.PruneRevisions(ctx, r); err != nil && ctx.Err() == nil {
			s.log.Warn("old revisions are not forgotten yet", "err", err)
		} else if forgotten > 0 {
			s.log.Info("old revisions forgotten", "count", forgotten)
		}
		if deleted, err := s.CutAudit(ctx, r.Audit); err != nil && ctx.Err() == nil {
			s.log.Warn("old entries of the audit are not deleted yet", "err", err)
		} else if deleted > 0 {
			s.log.Info("old entries of the audit deleted", "count", deleted)
		}
		select {
		case <-tick.C:
		case <-s.cleaning:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// PruneRevisions deletes the revisions that r does not keep, and the documents that no revision uses any more. It
// returns how many revisions it deleted. It finds them with the pool of readers, so that the one writer has only to
// delete.
func (s *Store) PruneRevisions(ctx context.Context, r Retention) (forgotten int64, err error) {
	if r.Revisions <= 0 && r.Age <= 0 {
		return 0, nil
	}
	devices := slices.Sorted(maps.Keys(s.model.current().registry.Devices))
	var some []fleet.DeviceID
	var due int64
	for i, id := range devices {
		n, err := s.countOld(ctx, id, r)
		if err != nil {
			return forgotten, failure("count old revisions", err)
		}
		if n > 0 {
			some, due = append(some, id), due+n
		}
		if due < pruneLength && i < len(devices)-1 {
			continue
		}
		n, err = s.forgetDue(ctx, some, due, r)
		if forgotten += n; err != nil {
			return forgotten, err
		}
		some, due = nil, 0
	}
	return forgotten, nil
}

// forgetDue deletes old revisions of these devices in small writes, and pauses after each so that others can write.
// due is the number of old revisions that were counted before.
func (s *Store) forgetDue(ctx context.Context, devices []fleet.DeviceID, due int64, r Retention) (forgotten int64,
	err error) {
	for forgotten < due {
		n, err := write(ctx, s, "forget old revisions", func(t *tx) (int64, error) { return t.forgetOld(devices, r) })
		if err != nil || n == 0 { // The other revisions were deleted with their devices.
			return forgotten, err
		}
		forgotten += n
		select {
		case <-time.After(prunePause):
		case <-ctx.Done():
			return forgotten, ctx.Err()
		}
	}
	return forgotten, nil
}

const (
	// whereOld selects the revisions of device $1 that are to be deleted. $2 is the number of revisions to keep, $3 the
	// time before which an old revision was replaced. Those beyond $2 stay if they were replaced at $4 or later and are
	// not beyond $5. Its conditions use indexes only.
	whereOld = `
		WHERE r.device_id = $1 AND (
			r.number <= (SELECT MAX(number) FROM revisions WHERE device_id = $1) - CAST($2 AS BIGINT)
				AND (r.number <= (SELECT MAX(number) FROM revisions WHERE device_id = $1) - CAST($5 AS BIGINT)
					OR NOT EXISTS (SELECT 1 FROM revisions n WHERE n.device_id = $1 AND n.number = r.number + 1
						AND n.seen_at >= CAST($4 AS BIGINT)))
			OR EXISTS (SELECT 1 FROM revisions n WHERE n.device_id = $1 AND n.number = r.number + 1
				AND n.seen_at < CAST($3 AS BIGINT)))`
	countOld  = `SELECT COUNT(*) FROM revisions r` + whereOld
	deleteOld = `
		DELETE FROM revisions WHERE device_id = $1 AND number IN (
			SELECT r.number FROM revisions r` + whereOld + ` ORDER BY r.number LIMIT CAST($6 AS BIGINT)) RETURNING digest`

	deleteUnusedBody = `
		DELETE FROM revision_bodies WHERE device_id = $1 AND digest = $2
			AND NOT EXISTS (SELECT 1 FROM revisions WHERE device_id = $1 AND digest = $2)`
)

// old returns the arguments of whereOld. more are further arguments, which it appends.
func (r Retention) old(id fleet.DeviceID, now time.Time, more ...any) []any {
	const never = 1 << 62
	many, before, recent := int64(r.Revisions), int64(0), int64(never)
	if many <= 0 {
		many = never
	}
	if r.Recent > 0 {
		recent = now.Add(-r.Recent).UnixMilli()
	}
	if r.Age > 0 {
		before = now.Add(-r.Age).UnixMilli()
	}
	return append([]any{string(id), many, before, recent, max(many, maxRecent)}, more...)
}

func (s *Store) countOld(ctx context.Context, id fleet.DeviceID, r Retention) (n int64, err error) {
	err = s.reads.QueryRowContext(ctx, countOld, r.old(id, s.clock())...).Scan(&n)
	return n, err
}

// forgetOld deletes revisions of these devices that r does not keep, at most pruneLength in all, and returns how many
// it deleted.
func (t *tx) forgetOld(devices []fleet.DeviceID, r Retention) (forgotten int64, err error) {
	for _, id := range devices {
		digests, err := collect(t.ctx, t.session, func(row scanner) (digest string, err error) {
			return digest, row.Scan(&digest)
		}, deleteOld, r.old(id, t.now, pruneLength-forgotten)...)
		if err != nil {
			return 0, err
		}
		for _, digest := range digests {
			t.forget()
			if err := t.exec(deleteUnusedBody, string(id), digest); err != nil {
				return 0, err
			}
		}
		if forgotten += int64(len(digests)); forgotten >= pruneLength {
			break
		}
	}
	return forgotten, nil
}
