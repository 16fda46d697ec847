package reconcile

import (
	"cmp"
	"context"
	"slices"
	"time"

	"muster/internal/desired"
	"muster/internal/fleet"
	"muster/internal/plan"
)

// verify reads back, judges, and records the outcome. An error leaves the intent open: it is verified later.
func (a *attempt) verify(ctx context.Context) error {
	if a.record.Moves() {
		a.j.closeSession() // it holds the old access
	}
	if err := a.settleAccess(ctx); err != nil {
		return a.leaveOpen(a.orLost(ctx, err))
	}
	if err := a.readBack(ctx); err != nil {
		return a.leaveOpen(a.orLost(ctx, err))
	}
	patterns := map[string][]string(nil)
	if len(a.j.result.Ignores) > 0 {
		patterns = a.readIgnores(ctx, a.j, a.j.result.Ignores)
	}
	if a.j.change != nil {
		return a.verifyChange(ctx)
	}
	read := a.j.reading(patterns)
	read.Acknowledged, read.Saved = a.acknowledged, a.saved
	entries, err := desired.Finish(a.begun, read)
	if err != nil {
		return a.leaveOpen(err)
	}
	a.j.entries = entries
	a.j.sent = append(a.j.sent, a.planned.Sendable()...)
	if err := a.makePlan(ctx, a.j, len(patterns) > 0); err != nil {
		return cmp.Or(a.finish(ctx, fleet.OutcomePartial, fleet.Reason(err), entries), a.planFailed(a.j, err))
	}
	outcome, detail := a.judge()
	a.step(StepBeforeOutcome)
	if err := a.finish(ctx, outcome, detail, a.j.result.Entries); err != nil {
		return err
	}
	a.j.entries = a.j.result.Entries
	if a.stopUseless() {
		if err := a.makePlan(ctx, a.j, false); err != nil {
			return a.planFailed(a.j, err)
		}
	}
	return nil
}

// verifyChange judges a person's change by what was read back, and records the outcome.
func (a *attempt) verifyChange(ctx context.Context) error {
	a.j.sent = append(a.j.sent, a.planned.Sendable()...)
	a.j.change.digest, a.j.change.consent = "", nil // consent is for one time
	a.j.entries = a.begun
	if err := a.planChange(ctx, a.j); err != nil {
		return a.leaveOpen(err)
	}
	a.step(StepBeforeOutcome)
	outcome, detail := a.judge()
	return a.finish(ctx, outcome, detail, a.begun)
}

func (a *attempt) judge() (fleet.Outcome, string) {
	follows := func(c plan.Change) bool { return a.planned.Follows(c) }
	switch left := slices.DeleteFunc(a.j.plan.Sendable(), follows); {
	case len(a.rejected) > 0:
		return fleet.OutcomeRejected, a.rejected[0].reason
	case a.j.isUnsaved():
		return fleet.OutcomePartial, "the daemon may not have saved it"
	case len(left) > 0:
		return fleet.OutcomePartial, "still to be done: " + plan.Names(left)
	case len(a.planned.Sendable()) == 0:
		return fleet.OutcomeApplied, "the daemon saved its configuration"
	}
	return fleet.OutcomeApplied, plan.Names(a.planned.Sendable())
}

// stopUseless stops the keys that it is of no use to write again: those that the daemon refused, and those that it
// took and still shows otherwise.
func (a *attempt) stopUseless() (stopped bool) {
	stops, now := a.j.m.history.stops, time.Now()
	for _, r := range a.rejected {
		stops.Rejected(r.keys, r.reason, a.j.digest, now)
	}
	return stops.CountUnmoved(a.planned, a.j.plan, a.acknowledged, now) || len(a.rejected) > 0
}

// readBack reads the daemon, and waits for its API where that restarts.
func (a *attempt) readBack(ctx context.Context) error {
	patience := readBackTime
	if a.restarts {
		patience = restartTime
	}
	return retrying(ctx, patience, func() error { return a.read(ctx, a.j) })
}

// retrying calls until it goes well, patience is over, or ctx ended.
func retrying(ctx context.Context, patience time.Duration, call func() error) error {
	until := time.Now().Add(patience)
	for pause := firstRetry; ; pause = min(2*pause, longestRetry) {
		err := call()
		if err == nil || ctx.Err() != nil || time.Now().Add(pause).After(until) {
			return err
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
}
