package reconcile

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"muster/internal/core/desired"
	"muster/internal/core/plan"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
	"muster/internal/logkey"
)

// accessRetry is the pause between two attempts to reach a daemon that answers neither with its new nor with its old
// port and API key.
const accessRetry = 10 * time.Second

// findUnfinished loads the intents that a crash left open. They are verified before a new plan is made for their
// devices.
func (e *Engine) findUnfinished(ctx context.Context) error {
	open, err := e.o.Store.OpenIntents(ctx)
	if err != nil {
		return during("read open intents", err)
	}
	for _, intent := range open {
		e.queue.load(intent.Device, func(h *history) { h.unfinished = append(h.unfinished, intent) })
		e.queue.add(intent.Device)
	}
	return nil
}

// verifyUnfinished reads the daemon to find out what became of open intents, and stores their outcome. It sends
// nothing: changes that did not arrive are in the next plan. waiting is true if the intents stay open for now, because
// the daemon cannot be read.
func (p *pass) verifyUnfinished(ctx context.Context, in input) (_ input, waiting bool, err error) {
	open := p.history.unfinished
	if len(open) == 0 {
		return in, false, nil
	}
	last := open[len(open)-1]
	if in, err = p.recoverAccess(ctx, in, last); err != nil {
		p.reportUnverified(last, err)
		return in, true, err
	}
	if !p.o.Daemon.Known(p.id).Online {
		p.reportUnverified(last, &fleet.Error{Code: fleet.CodeUnavailable, Message: "it cannot be reached"})
		return in, true, nil
	}
	in.known.Online, p.unsure = true, true
	if in, err = p.read(ctx, in); err != nil {
		return in, true, err
	}
	now, unplannable, err := p.planUnfinished(ctx, in)
	if err != nil {
		return in, true, err
	}
	for _, intent := range open {
		outcome, detail := fleet.OutcomePartial, "interrupted: no plan can be made that shows whether something is missing"
		if !unplannable {
			outcome, detail = p.outcomeOfPlan(now, intent)
		}
		if err := p.finishUnfinished(ctx, now.input, intent, outcome, detail); err != nil {
			return in, true, err
		}
	}
	return in, false, nil
}

// planUnfinished plans again from the document of in, which was read just now. A change of an open intent that the new
// plan still has did not arrive. The input of the returned plan has the ownership records that follow from that
// document. unplannable is true if no plan can be made.
func (p *pass) planUnfinished(ctx context.Context, in input) (now planned, unplannable bool, err error) {
	now = planned{input: in}
	stored, err := p.o.Store.BaseEntries(ctx, p.id)
	if err != nil {
		return now, false, err
	}
	patterns := p.readIgnores(ctx, in, desired.IgnoresIn(stored))
	if in.base, err = desired.Finish(stored, in.reading(patterns)); err != nil {
		return now, false, err
	}
	if now, err = p.plan(ctx, in, true); err != nil {
		return planned{input: in}, true, nil //nolint:nilerr // the outcome says that no plan can be made
	}
	now.input = in
	return now, false, nil
}

// outcomeOfPlan returns the outcome, and its detail, for the interrupted intent of a plan of templates. now is the plan
// that was made after the interruption.
//
// A change was not sent if a person consented to it before the intent began and this consent is open, because a write
// uses the consents to its changes before it is sent. Only a write that was answered with 5xx gives them back: then the
// daemon counts as unsaved. A held change whose consent is used may have been sent, and may have been undone at the
// daemon since. Any other change of the intent that is still planned did not arrive, also where it cannot be sent now.
func (p *pass) outcomeOfPlan(now planned, intent fleet.Intent) (fleet.Outcome, string) {
	intended := plan.ReadRecord(intent).Keys()
	var unsent, unknown, left []plan.Change
	for _, c := range now.plan.Changes {
		isIntended := slices.ContainsFunc(intended, c.Key.Equal)
		switch isHeld := isIntended && c.Class == plan.Held; {
		case isHeld && c.Consented && !p.history.isUnsaved() && p.wasConsentedBefore(c.Key, intent.CreatedAt):
			unsent = append(unsent, c)
		case isHeld && !c.Consented:
			unknown = append(unknown, c)
		case isIntended || c.Sendable():
			left = append(left, c)
		}
	}
	var details []string
	add := func(text string, changes []plan.Change) {
		if len(changes) > 0 {
			details = append(details, text+plan.Names(changes))
		}
	}
	add("interrupted before it was sent, the consent stays valid: ", unsent)
	add("interrupted, not known whether it was sent, a new consent is needed: ", unknown)
	add("interrupted, still to be done: ", left)
	switch {
	case len(unsent) > 0 && len(unsent) == len(intended):
		return fleet.OutcomeAbandoned, strings.Join(details, "; ")
	case len(details) > 0:
		return fleet.OutcomePartial, strings.Join(details, "; ")
	case p.history.isUnsaved():
		return fleet.OutcomePartial, "interrupted: the daemon may not have saved it"
	}
	return fleet.OutcomeApplied, "verified after an interruption"
}

// wasConsentedBefore reports whether the change of this key has an open answer that was given before t.
func (p *pass) wasConsentedBefore(key stconfig.Key, t time.Time) bool {
	return slices.ContainsFunc(p.history.answers.At([]stconfig.Key{key}), func(c fleet.Consent) bool {
		return !c.At.After(t)
	})
}

// finishUnfinished stores the outcome of an open intent.
func (p *pass) finishUnfinished(ctx context.Context, in input, intent fleet.Intent, outcome fleet.Outcome,
	detail string) error {
	record := plan.ReadRecord(intent)
	p.history.stops.WritesFolders(record.Keys(), func(folder string) bool {
		return slices.Contains(record.MayBreak, folder)
	}, time.Now())
	if intent.Cause == fleet.CauseRestore || intent.Cause == fleet.CauseAccept {
		outcome, detail = outcomeOfChange(in, intent)
	}
	ending := fleet.Ending{Outcome: outcome, Detail: detail, Read: in.digest, Base: in.base}
	err := p.o.Store.FinishIntent(ctx, intent.ID, ending)
	gone := fleet.CodeOf(err) == fleet.CodeNotFound // The intent is gone with the deleted device.
	if err != nil && !gone {
		return during("record outcome", err)
	}
	p.history.unfinished = p.history.unfinished[1:]
	if !gone {
		p.log.Info("unfinished intent verified", logkey.Device, p.id, logkey.Intent, intent.ID, "outcome", outcome)
	}
	return nil
}

// outcomeOfChange returns the outcome, and its detail, for the interrupted intent of a person's own change.
func outcomeOfChange(in input, intent fleet.Intent) (fleet.Outcome, string) {
	if in.digest == intent.Observed {
		return fleet.OutcomeAbandoned, "nothing of the " + intent.Detail +
			" reached the daemon before an interruption: do it again"
	}
	return fleet.OutcomePartial, "the " + intent.Detail +
		" was interrupted: look at the configuration, and do again what is missing"
}

// reportUnverified reports that the outcome of the intent `last` is not known, because the daemon cannot be read; why
// is that error. If this intent was to change how the daemon is reached, and its API had time to restart, it reports
// that access is lost.
func (p *pass) reportUnverified(last fleet.Intent, why error) {
	move := plan.ReadRecord(last).Access
	restarting := restartTime - time.Since(last.CreatedAt)
	switch {
	case fleet.CodeOf(why) == fleet.CodeKeyRefused:
		p.report(p.id, plan.Findings{Result: plan.KeyRefused, Reason: fleet.Reason(why)})
	case move != nil && restarting <= 0:
		_ = p.reportLost(p.id, move, why)
	default:
		p.report(p.id, plan.Findings{Result: plan.Unverified})
	}
	if move != nil { // The mirror's watcher knows only how the daemon was reached before.
		p.queue.later(p.item, accessRetry)
	}
}

// recoverAccess finds out how the daemon is reached now, if an open intent was to change that. It returns the input
// with the device's present record.
func (p *pass) recoverAccess(ctx context.Context, in input, intent fleet.Intent) (input, error) {
	now := in.device.Access()
	next := plan.ReadRecord(intent).Next(now)
	if next == now || in.known.Online && next.Port == now.Port {
		return in, nil // reading the daemon is enough to verify the intent
	}
	in, err := p.tryAccess(ctx, in, next)
	if errors.Is(err, errAboutToMove) && time.Since(intent.CreatedAt) > restartTime {
		return in, nil // The API stays at its old port.
	}
	return in, err
}
