package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"muster/internal/core/desired"
	"muster/internal/core/plan"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
	"muster/internal/logkey"
)

const (
	readBackTime = 20 * time.Second // how long a daemon may take until it is read back
	restartTime  = time.Minute      // the same when its API restarts because `gui` changed
)

// verify is the fourth stage of a pass: it reads the daemon back, makes a plan from the document, and stores the
// outcome. After an error the intent stays open, and a later pass verifies it.
func (a *attempt) verify(ctx context.Context) error {
	if a.record.Moves() {
		a.close() // The session uses the old port and API key.
	}
	in, err := a.resolveAccess(ctx, a.now.input)
	if err == nil {
		in, err = a.readBack(ctx, in)
	}
	a.now.input = in
	if err != nil {
		return a.leaveOpen(a.orLost(ctx, err))
	}
	var patterns map[string][]string
	if len(a.now.result.Ignores) > 0 {
		patterns = a.readIgnores(ctx, in, a.now.result.Ignores)
	}
	a.sent = append(a.sent, a.intended.plan.Sendable()...)
	if in.change != nil {
		return a.verifyChange(ctx, in)
	}
	read := in.reading(patterns)
	read.Acknowledged, read.Saved = a.acknowledged, a.saved
	if in.base, err = desired.Finish(a.begun, read); err != nil {
		return a.leaveOpen(err)
	}
	a.begun = nil
	return a.verifyPlan(ctx, in, len(patterns) > 0)
}

// verifyPlan stores the outcome of a plan of templates. It plans again from the document that was read back: a change
// that the new plan would still send did not arrive. If fresh is true, it reads the ignore patterns again.
func (a *attempt) verifyPlan(ctx context.Context, in input, fresh bool) error {
	next, err := a.plan(ctx, in, fresh)
	if err != nil {
		a.now.input = in
		return cmp.Or(a.finish(ctx, fleet.OutcomePartial, fleet.Reason(err), in.base), a.planFailed(in, err))
	}
	a.now = next
	outcome, detail := a.judge()
	a.step(StepBeforeOutcome)
	if err := a.finish(ctx, outcome, detail, a.now.result.Entries); err != nil {
		return err
	}
	a.now.base = a.now.result.Entries
	if !a.stopUseless() {
		return nil
	}
	if next, err = a.planOrReport(ctx, a.now.input, false); err == nil {
		a.now = next
	}
	return err
}

// verifyChange compares a person's own change with the configuration that was read back from the daemon, and stores
// the outcome. The person's consent covered this one attempt; what is still left to write needs a new consent.
func (a *attempt) verifyChange(ctx context.Context, in input) error {
	in.base, in.change = a.begun, in.change.withoutConsent()
	next, err := a.plan(ctx, in, false)
	if err != nil {
		return a.leaveOpen(err)
	}
	a.now = next
	a.step(StepBeforeOutcome)
	outcome, detail := a.judge()
	return a.finish(ctx, outcome, detail, a.begun)
}

// judge returns the outcome of the attempt, and a text with its detail.
func (a *attempt) judge() (fleet.Outcome, string) {
	follows := func(c plan.Change) bool { return a.intended.plan.Follows(c) }
	switch left := slices.DeleteFunc(a.now.plan.Sendable(), follows); {
	case len(a.rejected) > 0:
		return fleet.OutcomeRejected, a.rejected[0].reason
	case a.history.isUnsaved():
		return fleet.OutcomePartial, "the daemon may not have saved it"
	case len(left) > 0:
		return fleet.OutcomePartial, "still to be done: " + plan.Names(left)
	case len(a.intended.plan.Sendable()) == 0:
		return fleet.OutcomeApplied, "the daemon saved its configuration"
	}
	return fleet.OutcomeApplied, plan.Names(a.intended.plan.Sendable())
}

// finish stores the outcome of the intent. If the store fails, the intent stays open.
func (a *attempt) finish(ctx context.Context, outcome fleet.Outcome, detail string, base []fleet.BaseEntry) error {
	a.outcome, a.detail = outcome, detail
	ending := fleet.Ending{Outcome: outcome, Detail: detail, Read: a.now.digest, Base: base}
	switch err := a.o.Store.FinishIntent(ctx, a.intent.ID, ending); {
	case fleet.CodeOf(err) == fleet.CodeNotFound: // The intent is gone with its device: there is nothing to verify.
		return during("record outcome", err)
	case err != nil:
		return a.leaveOpen(during("record outcome", err))
	}
	a.log.Info("intent finished", logkey.Device, a.id, logkey.Intent, a.intent.ID, "outcome", outcome, "detail", detail)
	return nil
}

// leaveOpen keeps the intent, whose outcome is not known, for a later pass to verify. It returns err.
func (a *attempt) leaveOpen(err error) error {
	a.history.unfinished = append(a.history.unfinished, a.intent)
	return err
}

// stopUseless stops keys whose writes are useless: keys that the daemon refused to write, and keys for which it
// accepts the write and then shows another value.
func (a *attempt) stopUseless() (stopped bool) {
	stops, now := a.history.stops, time.Now()
	for _, r := range a.rejected {
		stops.Rejected(r.keys, r.reason, a.now.digest, now)
	}
	return stops.CountUnmoved(a.intended.plan, a.now.plan, a.acknowledged, now) || len(a.rejected) > 0
}

// readBack reads the daemon after the writes. It retries for readBackTime, or for restartTime if the writes make the
// API restart.
func (a *attempt) readBack(ctx context.Context, in input) (input, error) {
	patience := readBackTime
	if a.restarts {
		patience = restartTime
	}
	err := retrying(ctx, patience, func() (err error) {
		in, err = a.read(ctx, in)
		return err
	})
	return in, err
}

// reading returns the document of the input, with these ignore patterns by folder, as a reading for package desired.
func (in input) reading(patterns map[string][]string) desired.Reading {
	return desired.Reading{Document: desired.WithIgnores(in.doc, patterns), Own: in.id, Run: in.run}
}

// resolveAccess finds out how the daemon is reached after its port or API key was changed, and stores that. For a
// minute it alternates between the new access and the old one, because the API restarts.
func (a *attempt) resolveAccess(ctx context.Context, in input) (input, error) {
	if !a.record.Moves() {
		return in, nil
	}
	next := a.record.Next(in.device.Access())
	err := retrying(ctx, restartTime, func() (err error) {
		in, err = a.tryAccess(ctx, in, next)
		return err
	})
	if errors.Is(err, errAboutToMove) {
		return in, nil // The API stays at its old port.
	}
	return in, err
}

// orLost returns err, the error of a daemon that does not answer. If the attempt was to change how the daemon is
// reached, it instead reports and returns that access is lost.
func (a *attempt) orLost(ctx context.Context, err error) error {
	if a.record.Access == nil || ctx.Err() != nil {
		return err
	}
	a.lost = true
	return a.reportLost(a.id, a.record.Access, err)
}

// reportLost reports that a daemon has not answered since Muster changed how it is reached, and returns this as an
// error.
func (e *Engine) reportLost(id fleet.DeviceID, move *plan.AccessMove, why error) error {
	lost := move.Lost(why)
	e.report(id, plan.Findings{Result: plan.AccessLost, Reason: lost.Message, Next: lost.Hint})
	return lost
}

// errAboutToMove means that the daemon still answers at its old port, although its configuration has the new one: its
// API restarts only after it has answered the write.
var errAboutToMove = &fleet.Error{Code: fleet.CodeUnavailable,
	Message: "the daemon still answers at its old port, and is to answer at a new one"}

// tryAccess finds out whether the daemon answers with next, the new access, or with the old one. If it answers with
// next, tryAccess stores that and returns the input with the device's present record.
func (e *Engine) tryAccess(ctx context.Context, in input, next fleet.Access) (input, error) {
	if e.o.Access == nil {
		return in, nil
	}
	now := in.device.Access()
	newErr := e.o.Access.TryAccess(ctx, in.id, next)
	if newErr == nil {
		if err := e.o.Access.AdoptAccess(ctx, in.id, now, next); err != nil {
			return in, during("adopt access", err)
		}
		return e.reregistered(ctx, in)
	}
	oldErr := e.o.Access.TryAccess(ctx, in.id, now)
	switch {
	case oldErr == nil && next.Port != now.Port:
		return in, e.checkStays(ctx, in.id, next.Port)
	case oldErr == nil:
		return in, nil
	case fleet.CodeOf(newErr) == fleet.CodeKeyRefused && fleet.CodeOf(oldErr) == fleet.CodeKeyRefused:
		return in, &fleet.Error{Code: fleet.CodeKeyRefused, During: "change API key", Err: newErr,
			Message: "access lost: the daemon takes neither the new API key nor the old one",
			Hint:    "Read the key at the daemon (Actions > Settings > GUI) and put it into the device's record."}
	}
	return in, fmt.Errorf("try access: new: %w; old: %w", newErr, oldErr)
}

// checkStays is for a daemon that answers at its old port. It returns errAboutToMove if the daemon's configuration
// already has the new port, and nil if the API stays at the old one.
func (e *Engine) checkStays(ctx context.Context, id fleet.DeviceID, port int) error {
	observed, err := e.o.Daemon.Config(ctx, id)
	if err != nil {
		return err
	}
	doc, err := stconfig.Parse(observed.JSON)
	if err != nil {
		return err
	}
	if plan.APIPort(doc.Get("gui").Get("address").Str()) == port {
		return errAboutToMove
	}
	return nil
}
