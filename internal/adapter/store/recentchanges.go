package store

import (
	"context"
	"database/sql"

	"muster/internal/fleet"
)

const (
	changesAtOnce = 500    // audit entries in memory at a time
	mostFolded    = 20_000 // audit entries that are read for one answer
)

// RecentChanges returns the newest changes of people and tokens that a caller with the scope may read, as many as most.
// Equal writes of one moment are one change.
func (s *Store) RecentChanges(ctx context.Context, scope fleet.Scope, most int) ([]fleet.RecentChange, error) {
	changes, err := s.foldedChanges(ctx, scope, most)
	if err != nil || len(changes) == 0 {
		return nil, err
	}
	return changes, s.addGenerations(ctx, changes)
}

// addGenerations adds to changes the generations that they made: those have the times of the changes' writes.
func (s *Store) addGenerations(ctx context.Context, changes []fleet.RecentChange) error {
	since := changes[0].Since
	for _, change := range changes {
		if change.Since.Before(since) {
			since = change.Since
		}
	}
	return eachRow(ctx, pool{s.reads}, func(row scanner) error {
		var number int64
		var at sql.NullInt64
		var by string
		if err := row.Scan(&number, &by, &at); err != nil {
			return err
		}
		made := fromMillis(at)
		for i, change := range changes {
			if change.Who == by && !made.Before(change.Since) && !made.After(change.At) {
				changes[i].Generations = append(change.Generations, number)
			}
		}
		return nil
	}, `SELECT number, made_by, created_at FROM generations WHERE created_at >= $1 ORDER BY number`, millis(since))
}

// foldedChanges are the changes that the entries of the audit make.
func (s *Store) foldedChanges(ctx context.Context, scope fleet.Scope, most int) ([]fleet.RecentChange, error) {
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
