package store

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"muster/internal/fleet"
)

// An approval had an entry that was written after it, in a transaction of its own: a crash in between lost it.
func TestAnApprovalHasAnEntryOfItsOwn(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		id := put(t, s, deviceN(1)).ID
		waits := fullRollout(s, 1, id)
		waits.Status, waits.Approval = fleet.RolloutWaiting, &fleet.Approval{Reason: "many devices"}
		approve := func(ctx context.Context, by string, at time.Time) error {
			waits.Approval = &fleet.Approval{Reason: "many devices", By: by, At: at}
			_, err := s.PutRollouts(ctx, fleet.RolloutWrite{Rollouts: []fleet.Rollout{waits}})
			return err
		}
		entries := func() []fleet.AuditEntry {
			t.Helper()
			return must(s.Audit(t.Context(), fleet.AuditQuery{What: "rollout.approve", Oldest: true}))(t)
		}
		waits.ID = only(s.PutRollouts(t.Context(), fleet.RolloutWrite{Rollouts: []fleet.Rollout{waits}}))(t)
		if got := entries(); len(got) != 0 {
			t.Errorf("before it is approved: %+v", got)
		}
		for _, c := range []struct{ who, person, says string }{
			{"nora", "nora", "approved by nora, so that wave 1 of 2 can begin: template 1 changed"},
			{"ci", "nora", "approved by nora with the token ci, so that"},
			{"admin-token", "", "approved by admin-token, of whom it is not known which person it is, so that"},
		} {
			before := len(entries())
			ctx := fleet.WithPerson(fleet.WithActor(t.Context(), c.who), c.person)
			at := seenAt.Add(time.Duration(before) * time.Minute)
			if err := errors.Join(approve(ctx, c.who, at), approve(ctx, c.who, at)); err != nil {
				t.Fatal(err)
			}
			got := entries()
			if len(got) != before+1 || got[before].Who != c.who || got[before].Subject != "1" ||
				!strings.HasPrefix(got[before].Detail, c.says) {
				t.Errorf("%s: got %+v", c.who, got)
			}
		}
		waits.ID = 99 // An approval that is not stored has no entry.
		if err := approve(t.Context(), "nora", seenAt.Add(time.Hour)); err == nil || len(entries()) != 3 {
			t.Errorf("of a rollout that is not there: %v, %+v", err, entries())
		}
	})
}
