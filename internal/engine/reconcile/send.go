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

	"muster/internal/core/desired"
	"muster/internal/core/plan"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
	"muster/internal/logkey"
)

// maxAttempts is the most attempts of one pass. Some changes can be sent only once others have arrived, and a person
// may edit at the daemon meanwhile.
const maxAttempts = 6

// sendAll sends the plan and the plans that follow from it, until nothing is left to send and the daemon has saved
// everything.
func (p *pass) sendAll(ctx context.Context, now planned) (planned, error) {
	stops := p.history.stops
	for range maxAttempts {
		if !p.mayWrite(ctx, now.input) {
			now.mode, p.halted = fleet.ModeObserve, true
			return now, nil
		}
		if p.revokedMeanwhile(ctx, now.input) {
			p.halted = true
			p.queue.again(p.item)
			return now, nil
		}
		if stops.CountSent(now.plan.Sendable(), time.Now()) {
			next, err := p.planOrReport(ctx, now.input, false)
			if err != nil {
				return now, err
			}
			now = next
		}
		switch {
		case len(now.plan.Sendable()) > 0:
			p.report(p.id, plan.Findings{Result: plan.Applying, Plan: now.plan, BroughtBack: stops.BroughtBack()})
		case !p.history.isUnsaved():
			return now, nil
		}
		var err error
		if now, err = p.send(ctx, now); err != nil {
			return now, err
		}
	}
	if len(now.plan.Sendable()) == 0 && !p.history.isUnsaved() {
		return now, nil
	}
	message := "the configuration keeps changing while it is being written"
	if p.contested {
		message = "other devices keep giving up copies of the same folders"
	}
	return now, &fleet.Error{Code: fleet.CodeUnavailable, During: "apply plan", Message: message}
}

// attempt is one plan on its way to the daemon, with its intent, its writes and their outcome.
type attempt struct {
	*pass
	intended planned           // plan that the intent records
	now      planned           // plan made from the document read last
	begun    []fleet.BaseEntry // the device's entries with what is about to be written
	intent   fleet.Intent
	writes   []plan.Write
	record   plan.Record

	acknowledged []stconfig.Key
	rejected     []rejection
	restarts     bool // The daemon's API restarts because of a write.
	saved        bool // The daemon accepted a write of its configuration, so it saved all of it.
	replanned    bool // A new plan was made after the fresh read, which took a while.
}

// rejection is a write that the daemon answered with 4xx.
type rejection struct {
	keys   []stconfig.Key
	reason string
}

// send is the third stage of a pass: it stores the intent of one plan, reads the daemon afresh, sends the writes, and
// calls verify. It returns the plan made from what was read back. If the fresh document differs from the one of the
// plan, and a different plan follows from it, send writes nothing and returns that plan.
func (p *pass) send(ctx context.Context, intended planned) (planned, error) {
	a, err := p.begin(ctx, intended)
	if err != nil {
		return intended, err
	}
	a.step(StepAfterIntent)
	defer p.close()
	if err := a.readFresh(ctx); err != nil {
		return a.now, errors.Join(err, a.abandon(ctx, "the daemon could not be read"))
	}
	a.step(StepAfterRead)
	if moved, err := a.moved(ctx); moved || err != nil {
		return a.now, err
	}
	failure := a.write(ctx)
	a.writes = nil // They may be as large as the document that verify reads.
	a.step(StepBeforeVerify)
	err = a.verify(ctx)
	if err == nil && a.movedUnanswered(failure) {
		failure = nil
	}
	return a.now, errors.Join(failure, err)
}

// movedUnanswered reports whether failure is only that the daemon did not answer a write that moved its API, and what
// was read back shows that the write arrived. A daemon may close the connection before it answers such a write.
func (a *attempt) movedUnanswered(failure error) bool {
	return a.record.Moves() && a.outcome == fleet.OutcomeApplied && fleet.CodeOf(failure) == fleet.CodeUnavailable &&
		!errors.Is(failure, fleet.ErrNotSaved)
}

// begin stores the intent of a plan. Nothing is sent before that.
func (p *pass) begin(ctx context.Context, intended planned) (*attempt, error) {
	p.o.Memory.LiftLimit(ctx)
	a := &attempt{pass: p, intended: intended, now: intended}
	var sent []desired.Sent
	for _, c := range intended.plan.Sendable() {
		a.restarts = a.restarts || strings.EqualFold(c.Key.At(0).Name, "gui")
		sent = append(sent, desired.Sent{Key: c.Key, To: c.Sending(), Digest: c.PhraseDigest(p.id, p.o.DigestKey),
			Consented: c.Class == plan.Held && c.Consented, Chosen: c.IsChosen()})
	}
	a.writes = a.makeWrites()
	a.record = plan.RecordOf(intended.plan, intended.observed(), a.writes)
	a.record.NoteFolders(a.writes, p.o.Daemon.Known(p.id).folderMayBreak)
	record, err := json.Marshal(a.record)
	if err != nil {
		return nil, during("record writes", err)
	}
	a.record.Writes = nil // The intent has them as JSON.
	a.intent = fleet.Intent{Device: p.id, PlanDigest: intended.plan.Digest, Observed: intended.plan.Observed,
		Writes: record, CreatedAt: time.Now()}
	if c := intended.change; c == nil {
		a.intent.Generation, a.begun = intended.plan.Generation, intended.result.Begin(sent)
	} else {
		a.intent.Cause, a.intent.Detail = c.cause, c.what
		if a.begun, err = intended.baseOfPerson(); err != nil {
			return nil, err
		}
	}
	a.step(StepBeforeIntent)
	if err := p.stillRegistered(ctx, intended.input); err != nil {
		return nil, err
	}
	a.intent.ID, err = p.o.Store.BeginIntent(ctx, a.intent, a.begun)
	return a, during("record intent", err)
}

// makeWrites returns the writes of the plan. For a plan without changes it returns one write that changes nothing: the
// daemon may not have saved its configuration, and saves it with each write.
func (a *attempt) makeWrites() []plan.Write {
	if len(a.intended.plan.Sendable()) == 0 {
		return []plan.Write{plan.Save()}
	}
	return plan.Writes(a.intended.plan, a.now.observed())
}

// readFresh reads the daemon once more, right before the writes.
func (a *attempt) readFresh(ctx context.Context) (err error) {
	if err := a.open(ctx); err != nil {
		return err
	}
	a.now.input, err = a.read(ctx, a.now.input)
	return err
}

// moved plans again if the fresh document differs from the one of the plan, if the daemon may have other ignore
// patterns, or if another device gives up copies of the same folder now. It returns true if the new plan differs or
// cannot be made; the intent is then recorded as abandoned.
func (a *attempt) moved(ctx context.Context) (bool, error) {
	isReserved := a.reserveCopies(a.intended)
	if isReserved && a.intended.plan.Observed == a.now.digest && len(a.now.result.Ignores) == 0 {
		return false, nil
	}
	a.replanned = true
	next, err := a.plan(ctx, a.now.input, true)
	if err != nil {
		return true, cmp.Or(a.abandon(ctx, "the configuration changed, and no plan could be made from the new one"),
			a.planFailed(next.input, err))
	}
	a.now = next
	isMoved := a.now.plan.Digest != a.intended.plan.Digest
	if !isMoved && (isReserved || a.reserveCopies(a.now)) {
		return false, nil
	}
	if a.contested = !isReserved && (!isMoved || a.intended.plan.Observed == a.now.digest); a.contested {
		return true, a.abandon(ctx, "another device gives up a copy of the same folder: planned again")
	}
	return true, a.abandon(ctx, "the configuration changed meanwhile: planned again")
}

// abandon stores the outcome that nothing was sent, with the reason why.
func (a *attempt) abandon(ctx context.Context, why string) error {
	return a.finish(ctx, fleet.OutcomeAbandoned, why, a.intended.base)
}

// write sends the writes in order, until a person stops Muster or revokes a device. It leaves out a write that needs a
// refused one. After a failure that may pass it sends nothing more, because nobody knows whether the daemon did that
// write.
func (a *attempt) write(ctx context.Context) error {
	if a.replanned { // The fresh document differs from the one that the intent was made from.
		a.writes = a.makeWrites()
	}
	for i, w := range a.writes {
		if slices.ContainsFunc(a.rejected, func(r rejection) bool { return w.BuildsOn(r.keys) }) {
			continue
		}
		if !a.mayWrite(ctx, a.now.input) || a.revokedMeanwhile(ctx, a.now.input) {
			return nil // verify reads back what was written; the rest waits.
		}
		a.history.stops.WritesFolders(w.Keys, a.o.Daemon.Known(a.id).folderMayBreak, time.Now())
		a.step(fmt.Sprint(StepBeforeWrite, i+1))
		err := a.call(ctx, w, i == 0 && !a.replanned)
		if err != nil || w.Folder == "" { // That patterns were saved does not show that the configuration was.
			a.noteAnswer(ctx, err)
		}
		a.step(fmt.Sprint(StepAfterWrite, i+1))
		switch answerOf(err) {
		case writeDone:
			a.acknowledged, a.saved = append(a.acknowledged, w.Keys...), a.saved || w.Folder == ""
		case writeRejected:
			a.log.Warn("daemon refused a write", logkey.Device, a.id, logkey.Method, w.Method, logkey.Path, w.Path,
				logkey.Err(err))
			a.rejected = append(a.rejected, rejection{w.Keys, fleet.Reason(err)})
		case writeMoved:
			return nil
		default:
			a.unsure = true
			return during(w.Method+" "+w.Path, err)
		}
	}
	return nil
}

// call sends one write. Before that it records that the write uses the consents to its changes. It opens these consents
// again if Muster stops before the write is sent, or if the daemon answers with 5xx, because then the write was not
// done. justRead is true if the daemon's document was read right before the call.
func (a *attempt) call(ctx context.Context, w plan.Write, justRead bool) error {
	body, err := a.body(ctx, w, justRead)
	if err != nil {
		return err
	}
	used, err := a.useConsents(ctx, w.Keys)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		a.giveBack(ctx, used)
		return err
	}
	if err = a.transmit(ctx, w, body); errors.Is(err, fleet.ErrNotSaved) {
		a.giveBack(ctx, used)
	}
	return err
}

// body returns the body of a write. A body that also holds values that the write does not change must have the
// daemon's present ones. So body reads the daemon again for it, unless justRead is true and the write does not replace
// the whole document. Only an edit that a person makes between that read and the write is lost, because daemons have
// no ETag.
func (a *attempt) body(ctx context.Context, w plan.Write, justRead bool) (stconfig.Value, error) {
	if !w.Whole && (!w.Wide || justRead) {
		return w.Body, nil
	}
	read, doc, err := a.session.Config(ctx)
	if err == nil && !doc.Exists() {
		doc, err = stconfig.Parse(read.JSON)
	}
	if err != nil {
		return stconfig.Value{}, err
	}
	return w.Again(doc, a.id)
}

func (a *attempt) transmit(ctx context.Context, w plan.Write, body stconfig.Value) error {
	if w.Folder != "" {
		lines := make([]string, 0, body.Len())
		for line := range body.Values() {
			lines = append(lines, line.Str())
		}
		return a.session.SetIgnores(ctx, w.Folder, lines)
	}
	var bytes []byte
	if body.Exists() {
		bytes = body.JSON()
	}
	return a.session.Write(ctx, w.Method, w.Path, bytes)
}

// noteAnswer counts the daemon's answer to a write (nil: success), which may show that the daemon could not save. If
// the stop for that changed, noteAnswer stores it.
func (a *attempt) noteAnswer(ctx context.Context, err error) {
	if a.history.stops.Answered(err, time.Now()) {
		a.keepStops(context.WithoutCancel(ctx), a.now.input)
	}
}

// step calls Options.Step with the name of a step.
func (a *attempt) step(name string) {
	if a.o.Step == nil {
		return
	}
	if a.intended.change != nil {
		name = ChangeStepPrefix + name
	}
	a.o.Step(name)
}
