package store

import (
	"context"

	"muster/internal/fleet"
)

const (
	changesAtOnce = 500    // audit entries in memory at a time
	mostFolded    = 20_000 // audit entries that are read for one answer
)

// RecentChanges returns the newest changes of people and tokens that a caller with the scope may read, as many as most.
// Equal writes of one moment are one change.
func (s *Store) RecentChanges(ctx context.Context, scope fleet.Scope, most int) ([]fleet.RecentChange, error) {
	fold := fleet.NewChangeFold(most)
	q := fleet.AuditQuery{Scope: scope, ByPeople: true, Limit: changesAtOnce}
	for read := 0; read < mostFolded; read += changesAtOnce {
		entries, err := s.Audit(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if !fold.Add(e) {
				return fold.Changes(false), nil
			}
			q.After = e.ID
		}
		if len(entries) < changesAtOnce {
			return fold.Changes(false), nil
		}
	}
	return fold.Changes(true), nil
}
