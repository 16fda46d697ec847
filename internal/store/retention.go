package store

import (
	"context"
	"time"
)

// Retention says how many revisions of a device are kept, and for how long. The newest is always kept.
type Retention struct {
	Revisions int           // per device; 0: any number
	Age       time.Duration // since another one took its place; 0: any age
}

// DefaultRetention keeps the last hundred of each device, for a year.
var DefaultRetention = Retention{Revisions: 100, Age: 365 * 24 * time.Hour}

const (
	janitorEvery = time.Hour
	pruneLength  = 500 // revisions in one transaction: others write in between
)

// RunJanitor forgets old revisions now and every hour, until ctx ends.
func (s *Store) RunJanitor(ctx context.Context, r Retention) error {
	tick := time.NewTicker(janitorEvery)
	defer tick.Stop()
	for {
		if forgotten, err := s.PruneRevisions(ctx, r); err != nil && ctx.Err() == nil {
			s.log.Warn("old revisions are not forgotten yet", "err", err)
		} else if forgotten > 0 {
			s.log.Info("old revisions forgotten", "count", forgotten)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// PruneRevisions forgets the revisions that are too many or too old, and the documents that no revision needs any more.
func (s *Store) PruneRevisions(ctx context.Context, r Retention) (forgotten int64, err error) {
	if r.Revisions <= 0 && r.Age <= 0 {
		return 0, nil
	}
	for {
		n, err := write(ctx, s, "forget old revisions", func(t *tx) (int64, error) { return t.pruneRevisions(r) })
		forgotten += n
		if err != nil || n < pruneLength {
			return forgotten, err
		}
	}
}

func (t *tx) pruneRevisions(r Retention) (int64, error) {
	many, old := int64(r.Revisions), int64(0)
	if many <= 0 {
		many = 1 << 62
	}
	if r.Age > 0 {
		old = t.now.Add(-r.Age).UnixMilli()
	}
	n, err := t.affect(`
		DELETE FROM revisions WHERE (device_id, number) IN (
			SELECT r.device_id, r.number FROM revisions r
			JOIN (SELECT device_id, MAX(number) AS number FROM revisions GROUP BY device_id) newest ON newest.device_id = r.device_id
			WHERE r.number < newest.number AND (r.number <= newest.number - CAST($1 AS BIGINT) OR EXISTS (
				SELECT 1 FROM revisions n WHERE n.device_id = r.device_id AND n.number = r.number + 1 AND n.seen_at < CAST($2 AS BIGINT)))
			LIMIT CAST($3 AS BIGINT))`, many, old, pruneLength)
	if err != nil || n == 0 {
		return n, err
	}
	return n, t.exec(`DELETE FROM revision_bodies WHERE NOT EXISTS (
		SELECT 1 FROM revisions r WHERE r.device_id = revision_bodies.device_id AND r.digest = revision_bodies.digest)`)
}
