package reconcile

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"muster/internal/desired"
	"muster/internal/fleet"
	"muster/internal/logkey"
	"muster/internal/memlimit"
	"muster/internal/plan"
	"muster/internal/stconfig"
)

const (
	maxRounds    = 6                // of one apply: what could only follow once something was there, or a busy person
	readBackTime = 20 * time.Second // for a daemon that answers slowly
	restartTime  = time.Minute      // for an API that restarts because `gui` changed
	firstRetry   = 100 * time.Millisecond
	longestRetry = 2 * time.Second
)

// sendAll sends the plan and what follows from it, until nothing is left to send and the daemon has saved it.
func (e *Engine) sendAll(ctx context.Context, j *job) error {
	for range maxRounds {
		if !e.mayWrite(ctx, j) {
			j.mode, j.halted = fleet.ModeObserve, true
			return nil
		}
		if j.m.history.stops.CountSent(j.plan.Sendable(), time.Now()) {
			if err := e.makePlan(ctx, j, false); err != nil {
				return e.planFailed(j, err)
			}
		}
		switch sendable := j.plan.Sendable(); {
		case len(sendable) > 0:
			e.report(j.m.id, plan.Findings{Result: plan.Applying, Plan: j.plan})
		case !j.isUnsaved():
			return nil
		}
		if err := e.send(ctx, j); err != nil {
			return err
		}
	}
	if len(j.plan.Sendable()) == 0 && !j.isUnsaved() {
		return nil
	}
	return &fleet.Error{Code: fleet.CodeUnavailable, During: "apply plan",
		Message: "the configuration keeps changing while it is being written"}
}

// send takes one plan through intent, fresh read, writes, read back and outcome. Afterwards the job holds the plan
// made from what was read back, or, when the daemon had moved meanwhile, from what was read: then nothing was sent.
func (e *Engine) send(ctx context.Context, j *job) error {
	a, err := e.begin(ctx, j)
	if err != nil {
		return err
	}
	a.step(StepAfterIntent)
	defer j.closeSession()
	if j.session == nil {
		err = e.openSession(ctx, j)
	}
	if err == nil {
		err = e.read(ctx, j)
	}
	if err != nil {
		return errors.Join(err, a.abandon(ctx, "the daemon could not be read"))
	}
	a.step(StepAfterRead)
	if moved, err := a.moved(ctx); moved || err != nil {
		return err
	}
	failure := a.write(ctx)
	a.step(StepBeforeVerify)
	if err := a.verify(ctx); err != nil {
		return errors.Join(failure, err)
	}
	return failure
}

// attempt is one apply under way.
type attempt struct {
	*Engine
	j       *job
	planned plan.Plan
	stored  []fleet.BaseEntry // before the intent
	begun   []fleet.BaseEntry // with it
	intent  fleet.Intent
	writes  []plan.Write
	record  plan.Record

	acknowledged []stconfig.Key
	rejected     []rejection
	restarts     bool // the daemon's API
	saved        bool // the daemon took a write of its configuration
	replanned    bool // after the fresh read, which takes a while
}

// step names a step as it is reached.
func (a *attempt) step(name string) {
	if a.j.change != nil {
		name = StepsOfChanges + name
	}
	a.Engine.step(name)
}

// rejection is a write that the daemon answered with 4xx.
type rejection struct {
	keys   []stconfig.Key
	reason string
}

// begin records the intent. The first byte is sent only after that.
func (e *Engine) begin(ctx context.Context, j *job) (*attempt, error) {
	memlimit.Settle(ctx)
	a := &attempt{Engine: e, j: j, planned: j.plan, stored: j.entries}
	var sent []desired.Sent
	for _, c := range j.plan.Sendable() {
		a.restarts = a.restarts || strings.EqualFold(c.Key.At(0).Name, "gui")
		sent = append(sent, desired.Sent{Key: c.Key, To: c.Sending(), Digest: c.PhraseDigest(j.m.id, e.o.DigestKey)})
	}
	a.writes = a.makeWrites()
	a.record = plan.RecordOf(j.plan, j.observed(), a.writes)
	record, err := json.Marshal(a.record)
	if err != nil {
		return nil, during("record writes", err)
	}
	a.intent = fleet.Intent{Device: j.m.id, PlanDigest: j.plan.Digest, Observed: j.plan.Observed, Writes: record,
		CreatedAt: time.Now()}
	if j.change == nil {
		a.intent.Generation, a.begun = j.plan.Generation, j.result.Begin(sent)
	} else {
		a.intent.Cause, a.intent.Detail = j.change.cause, j.change.what
		if a.begun, err = j.keptByChange(); err != nil {
			return nil, err
		}
	}
	a.step(StepBeforeIntent)
	if err := e.stillRegistered(ctx, j); err != nil {
		return nil, err
	}
	a.intent.ID, err = e.o.Store.BeginIntent(ctx, a.intent, a.begun)
	return a, during("record intent", err)
}

// abandon records that nothing was sent.
func (a *attempt) abandon(ctx context.Context, why string) error {
	return a.finish(ctx, fleet.OutcomeAbandoned, why, a.stored)
}

// moved plans again where the daemon has another document than the plan was made from, or other ignore patterns.
func (a *attempt) moved(ctx context.Context) (bool, error) {
	if a.j.plan.Observed == a.j.digest && len(a.j.result.Ignores) == 0 {
		return false, nil
	}
	a.replanned = true
	if err := a.makePlan(ctx, a.j, true); err != nil {
		return true, cmp.Or(a.abandon(ctx, "the configuration changed, and no plan could be made from the new one"),
			a.planFailed(a.j, err))
	}
	if a.j.plan.Digest == a.planned.Digest {
		return false, nil
	}
	return true, a.abandon(ctx, "the configuration changed meanwhile: planned again")
}

// write sends the narrow writes in order, until a person stops Muster. A write that the daemon refuses keeps back
// those that build on it; a failure that may pass ends them all, because it is not known what the daemon took.
func (a *attempt) write(ctx context.Context) error {
	if a.replanned { // from another document than the intent
		a.writes = a.makeWrites()
	}
	for i, w := range a.writes {
		if slices.ContainsFunc(a.rejected, func(r rejection) bool { return w.BuildsOn(r.keys) }) {
			continue
		}
		if !a.mayWrite(ctx, a.j) {
			return nil // Muster was stopped: what was written is read back, what is left waits
		}
		a.j.m.history.stops.WritesFolders(w.Keys, a.j.known.FolderErrors, time.Now())
		a.step(fmt.Sprint(StepBeforeWrite, i+1))
		err := a.call(ctx, w, i == 0 && !a.replanned)
		if err != nil || w.Folder == "" { // ignore patterns that were saved say nothing of the configuration
			a.answered(ctx, a.j, err)
		}
		a.step(fmt.Sprint(StepAfterWrite, i+1))
		if errors.Is(err, plan.ErrMoved) {
			return nil // what is left is planned again from what is read back
		}
		switch fleet.CodeOf(err) {
		case "":
			a.acknowledged, a.saved = append(a.acknowledged, w.Keys...), a.saved || w.Folder == ""
		case fleet.CodeRejected:
			a.log.Warn("daemon refused a write", logkey.Device, a.j.m.id, logkey.Method, w.Method, logkey.Path, w.Path,
				logkey.Err(err))
			a.rejected = append(a.rejected, rejection{w.Keys, fleet.Reason(err)})
		default:
			a.j.unsure = true
			return during(w.Method+" "+w.Path, err)
		}
	}
	return nil
}

// call sends one write, and uses the consents that are for it.
func (a *attempt) call(ctx context.Context, w plan.Write, justRead bool) error {
	body, err := a.body(ctx, w, justRead)
	if err != nil {
		return err
	}
	used, err := a.useConsents(ctx, w.Keys)
	if err != nil {
		return err
	}
	if err = a.transmit(ctx, w, body); errors.Is(err, fleet.ErrNotSaved) {
		a.giveBack(ctx, used)
	}
	return err
}

// body is what a write says. What it says beyond its changes was read a moment ago, or is read once more: there is no
// ETag, so a person's edit that arrives in between is lost, and nothing else is.
func (a *attempt) body(ctx context.Context, w plan.Write, justRead bool) (stconfig.Value, error) {
	if !w.Whole && (!w.Wide || justRead) {
		return w.Body, nil
	}
	read, doc, err := a.j.session.Config(ctx)
	if err == nil && !doc.Exists() {
		doc, err = stconfig.Parse(read.JSON)
	}
	if err != nil {
		return stconfig.Value{}, err
	}
	return w.Again(doc, a.j.m.id)
}

func (a *attempt) transmit(ctx context.Context, w plan.Write, body stconfig.Value) error {
	if w.Folder != "" {
		lines := make([]string, 0, body.Len())
		for line := range body.Values() {
			lines = append(lines, line.Str())
		}
		return a.j.session.SetIgnores(ctx, w.Folder, lines)
	}
	var bytes []byte
	if body.Exists() {
		bytes = body.JSON()
	}
	return a.j.session.Write(ctx, w.Method, w.Path, bytes)
}

// observed is the document that the plan was made from, with ignore patterns where templates name them.
func (j *job) observed() stconfig.Value {
	if j.change != nil {
		return j.doc
	}
	return j.result.Observed()
}

// finish records what became of the intent.
func (a *attempt) finish(ctx context.Context, outcome fleet.Outcome, detail string, entries []fleet.BaseEntry) error {
	a.j.outcome, a.j.detail = outcome, detail
	ending := fleet.Ending{Outcome: outcome, Detail: detail, Read: a.j.digest, Base: entries}
	switch err := a.o.Store.FinishIntent(ctx, a.intent.ID, ending); {
	case fleet.CodeOf(err) == fleet.CodeNotFound: // it went with the device: there is nothing to verify
		return during("record outcome", err)
	case err != nil:
		return a.leaveOpen(during("record outcome", err))
	}
	a.log.Info("intent finished", logkey.Device, a.j.m.id, logkey.Intent, a.intent.ID, "outcome", outcome, "detail",
		detail)
	return nil
}

// leaveOpen remembers an intent whose outcome is not known.
func (a *attempt) leaveOpen(err error) error {
	a.j.m.history.unfinished = append(a.j.m.history.unfinished, a.intent)
	return err
}
