package reconcile

import (
	"context"
	"errors"
	"time"

	"muster/internal/desired"
	"muster/internal/fleet"
	"muster/internal/logkey"
	"muster/internal/plan"
)

// accessRetry is how often Muster tries to reach a lost daemon at its new access.
const accessRetry = 10 * time.Second

// findUnfinished remembers the intents that a crash left open. Nothing is planned for their devices before they are
// verified.
func (e *Engine) findUnfinished(ctx context.Context) error {
	open, err := e.o.Store.OpenIntents(ctx)
	if err != nil {
		return during("read open intents", err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, intent := range open {
		m := e.item(intent.Device)
		m.history.unfinished = append(m.history.unfinished, intent)
		e.push(m)
	}
	return nil
}

// verifyUnfinished reads the daemon to find out what became of open intents, and records it. Nothing is sent again:
// what is still missing is in the next plan. waiting says that the daemon cannot be read now.
func (e *Engine) verifyUnfinished(ctx context.Context, j *job) (waiting bool, err error) {
	h := &j.m.history
	open := h.unfinished
	if len(open) == 0 {
		return false, nil
	}
	last := open[len(open)-1]
	if err := e.recoverAccess(ctx, j, last); err != nil {
		e.reportUnverified(j, last, err)
		return true, err
	}
	if !e.o.Daemon.Known(j.m.id).Online {
		e.reportUnverified(j, last, &fleet.Error{Code: fleet.CodeUnavailable, Message: "it cannot be reached"})
		return true, nil
	}
	j.known.Online, j.unsure = true, true
	if err := e.read(ctx, j); err != nil {
		return true, err
	}
	stored, err := e.o.Store.BaseEntries(ctx, j.m.id)
	if err != nil {
		return true, err
	}
	patterns := e.readIgnores(ctx, j, desired.IgnoresIn(stored))
	if j.entries, err = desired.Finish(stored, j.reading(patterns)); err != nil {
		return true, err
	}
	outcome, detail := fleet.OutcomePartial, "verified after an interruption: something is still missing"
	if planErr := e.makePlan(ctx, j, true); planErr == nil && len(j.plan.Sendable()) == 0 && !j.isUnsaved() {
		outcome, detail = fleet.OutcomeApplied, "verified after an interruption"
	}
	for _, intent := range open {
		h.stops.WritesFolders(plan.ReadRecord(intent).Keys(), nil, time.Now())
		outcome, detail := outcome, detail
		if intent.Cause == fleet.CauseRestore || intent.Cause == fleet.CauseAccept {
			outcome, detail = restoredOr(j, intent)
		}
		ending := fleet.Ending{Outcome: outcome, Detail: detail, Read: j.digest, Base: j.entries}
		err := e.o.Store.FinishIntent(ctx, intent.ID, ending)
		gone := fleet.CodeOf(err) == fleet.CodeNotFound // with the device, which was deleted and registered anew
		if err != nil && !gone {
			return true, during("record outcome", err)
		}
		h.unfinished = h.unfinished[1:]
		if gone {
			continue
		}
		e.log.Info("unfinished intent verified", logkey.Device, j.m.id, logkey.Intent, intent.ID, "outcome", outcome)
	}
	return false, nil
}

// reading is what the job read, with ignore patterns.
func (j *job) reading(patterns map[string][]string) desired.Reading {
	return desired.Reading{Document: desired.WithIgnores(j.doc, patterns), Own: j.m.id, Run: j.run}
}

// restoredOr is what became of a restore, or of another change that templates know nothing of.
func restoredOr(j *job, intent fleet.Intent) (fleet.Outcome, string) {
	if j.digest == intent.Observed {
		return fleet.OutcomeAbandoned, "nothing of the " + intent.Detail +
			" reached the daemon before an interruption: do it again"
	}
	return fleet.OutcomePartial, "the " + intent.Detail +
		" was interrupted: look at the configuration, and do again what is missing"
}

// reportUnverified says that the outcome of an intent is not known, because the daemon does not answer. When the
// intent was to change how it is reached, and its API had the time to restart, that is the reason.
func (e *Engine) reportUnverified(j *job, last fleet.Intent, why error) {
	move := plan.ReadRecord(last).Access
	restarting := restartTime - time.Since(last.CreatedAt)
	switch {
	case fleet.CodeOf(why) == fleet.CodeKeyRefused:
		e.report(j.m.id, plan.Findings{Result: plan.KeyRefused, Reason: fleet.Reason(why)})
	case move != nil && restarting <= 0:
		_ = e.reportLost(j.m.id, move, why)
	default:
		e.report(j.m.id, plan.Findings{Result: plan.Unverified})
	}
	if move != nil { // the watcher knows the old access only
		e.later(j.m, accessRetry)
	}
}

// recoverAccess finds out how the daemon is reached, where an open intent was to change that.
func (e *Engine) recoverAccess(ctx context.Context, j *job, intent fleet.Intent) error {
	now := j.device.Access()
	next := plan.ReadRecord(intent).Next(now)
	if next == now || j.known.Online && next.Port == now.Port {
		return nil // verified by reading alone
	}
	err := e.tryAccess(ctx, j, next)
	if errors.Is(err, errAboutToMove) && time.Since(intent.CreatedAt) > restartTime {
		return nil // it stays where it was
	}
	return err
}
