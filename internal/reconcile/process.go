package reconcile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"muster/internal/fleet"
	"muster/internal/plan"
)

// process makes a pass over a device, for the first request that waits, if there is any. After an error the device is
// queued again after a pause.
func (e *Engine) process(ctx context.Context, m *item) error {
	var r *request
	handed := e.o.Daemon.TakeKept(m.id)
	e.mu.Lock()
	if len(m.requests) > 0 {
		r, m.requests = m.requests[0], m.requests[1:]
		m.again = m.again || len(m.requests) > 0
	}
	e.mu.Unlock()

	limited := e.o.Memory.TryDo
	if r != nil { // a request waits for the answer
		limited = e.o.Memory.Do
	}
	err := limited(ctx, func(ctx context.Context) error { return e.pass(ctx, m, r, handed) })
	if r != nil && err != nil {
		e.unanswered(ctx, m, r)
	}
	if r != nil {
		r.done <- err
	}
	if r != nil && r.change != nil {
		e.enqueue(m.id) // what templates make of the document as it is now
		return nil      // the person has the error
	}
	if isLasting(err) || r != nil && (fleet.CodeOf(err) == fleet.CodeConflict ||
		fleet.CodeOf(err) == fleet.CodeNotFound) {
		return nil // the person has been told, or reads it in the device's state
	}
	return err
}

// unanswered takes a person's apply back that came to nothing: their consent must not go out at some later time, and
// what else was to be done in this look is still to be done.
func (e *Engine) unanswered(ctx context.Context, m *item, r *request) {
	m.history.answers.EndAll(r.armed)
	e.closeConsents(context.WithoutCancel(ctx), m)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.items[m.id] == m { // else it was forgotten
		m.again = true
	}
}

// isLasting tells what is a template's fault, or a person's: it stays so until something changes.
func isLasting(err error) bool {
	code := fleet.CodeOf(err)
	return code == fleet.CodeInvalid || code == fleet.CodeTooLarge || code == fleet.CodeMalformed
}

func (e *Engine) pass(ctx context.Context, m *item, r *request, handed *fleet.ObservedConfig) error {
	j, err := e.newJob(ctx, m)
	if err != nil {
		return err
	}
	j.handed = handed
	if j.device == nil || !e.isOf(m, j.device) {
		return e.forget(j, r)
	}
	if err := e.readConsents(ctx, m); err != nil {
		return during("read consents", err)
	}
	e.timeConsents(ctx, m, j.known.Online)
	if j.mode == fleet.ModePaused {
		e.report(m.id, plan.Findings{Result: plan.Paused})
		return refuse(r, "the device is paused")
	}
	if waiting, err := e.verifyUnfinished(ctx, j); waiting || err != nil {
		return err
	}
	// What the mirror says comes before anything is read from the store: daemons tell their status every minute, and most
	// of them have nothing new.
	if r == nil && j.known.Digest != "" && m.history.isDone(j.known.Digest, j.print) {
		e.passedAgain(j)
		return nil
	}
	if r == nil && e.nothingToPlan(j) {
		return nil
	}
	if j.entries, err = e.o.Store.BaseEntries(ctx, m.id); err != nil {
		return err
	}
	if r != nil && r.change != nil {
		return e.carryOut(ctx, j, r.change)
	}
	if len(j.templates) == 0 && len(j.entries) == 0 && r == nil && j.known.Digest != "" && !j.isUnsaved() &&
		!m.history.restart.required {
		m.history.keepWaiting(plan.Plan{}, nil)
		e.held.Put(m.id, nil)
		e.report(m.id, plan.Findings{Result: plan.NoTemplates})
		j.digest = j.known.Digest
		e.planned(j)
		return nil
	}
	if over, err := e.load(ctx, j); over || err != nil {
		return errors.Join(err, refuse(r, "the daemon was never read, or its configuration cannot be believed"))
	}
	if r == nil && m.history.isDone(j.digest, j.print) {
		e.passedAgain(j)
		return nil
	}
	m.history.released(j)
	e.judgeFolders(ctx, j)
	defer func() {
		kept := context.WithoutCancel(ctx)
		e.keepStops(kept, j)
		e.closeConsents(kept, m)
	}()
	if err := e.makePlan(ctx, j, j.known.Online); err != nil {
		return e.planFailed(j, err)
	}
	if r != nil {
		if err := e.applyApproved(ctx, j, r); err != nil {
			return err
		}
	}
	if err := e.answerWaiting(ctx, j); err != nil {
		return err
	}
	if m.history.stops.CountDrift(j.plan.Sendable(), j.digest, time.Now()) {
		if err := e.makePlan(ctx, j, false); err != nil {
			return e.planFailed(j, err)
		}
	}
	return e.act(ctx, j, r)
}

// load takes the newest document; over says that there is none to plan from.
func (e *Engine) load(ctx context.Context, j *job) (over bool, err error) {
	switch err := e.observe(ctx, j); {
	case errors.Is(err, errNothingSeen):
		e.report(j.m.id, plan.Findings{Result: plan.NeverRead})
		return true, nil
	case fleet.CodeOf(err) == fleet.CodeUnbelievable, fleet.CodeOf(err) == fleet.CodeMalformed:
		e.report(j.m.id, plan.Findings{Result: plan.Unbelievable, Reason: fleet.Reason(err)})
		return true, nil
	default:
		return false, err
	}
}

// act does what the plan says, where that is allowed and possible, and reports the result.
func (e *Engine) act(ctx context.Context, j *job, r *request) error {
	var err error
	switch sendable := len(j.plan.Sendable()) > 0; {
	case sendable && j.mode != fleet.ModeOn:
		err = refuse(r, j.blocked())
	case sendable && j.known.TooOld:
		e.report(j.m.id, plan.Findings{Result: plan.TooOld})
		e.planned(j)
		return refuse(r, j.blocked())
	case sendable && !j.known.Online:
		err = refuse(r, j.blocked())
	case sendable || j.maySave():
		err = e.sendAll(ctx, j)
	default:
		err = e.keepEntries(ctx, j)
	}
	if err == nil {
		e.restart(ctx, j)
	}
	j.failed = err
	if j.halted && r != nil {
		j.m.history.answers.EndAll(r.armed)
	}
	e.judgeFolders(ctx, j)
	e.conclude(j)
	if err != nil {
		return err
	}
	j.report(r, e.consented(j.m))
	if j.halted {
		j.m.history.forgetInputs() // what it was planned from holds no more: the next pass plans anew when Muster goes on
		return nil
	}
	j.m.history.done(j)
	if len(j.result.Ignores) > 0 && j.known.Online {
		e.later(j.m, j.m.history.untilIgnores())
	}
	return nil
}

// blocked is why nothing can be sent to the daemon now, "" when it can.
func (j *job) blocked() string {
	switch {
	case j.mode != fleet.ModeOn:
		return "Muster only observes this device"
	case j.known.TooOld:
		return "the daemon is too old to manage"
	case !j.known.Online:
		return "the daemon cannot be reached now"
	}
	return ""
}

// keepEntries records what a person's edits did to the base where nothing is to be sent. Only a document that was read
// just now may change what the base of a key is.
func (e *Engine) keepEntries(ctx context.Context, j *job) error {
	if fleet.SameEntries(j.entries, j.result.Entries) || !j.known.Online {
		return nil
	}
	was := j.digest
	if err := e.read(ctx, j); err != nil {
		return err
	}
	if j.digest != was {
		if err := e.makePlan(ctx, j, true); err != nil {
			return e.planFailed(j, err)
		}
		if len(j.plan.Sendable()) > 0 && j.mode == fleet.ModeOn {
			return e.sendAll(ctx, j)
		}
	}
	return e.putEntries(ctx, j, j.result.Entries)
}

// putEntries keeps the base entries of the registration that the job is about.
func (e *Engine) putEntries(ctx context.Context, j *job, entries []fleet.BaseEntry) error {
	if err := e.stillRegistered(ctx, j); err != nil {
		return err
	}
	j.entries = entries
	return e.o.Store.PutBaseEntries(ctx, j.m.id, entries)
}

// planFailed says that no plan could be made. What is a template's fault stays so until something changes.
func (e *Engine) planFailed(j *job, err error) error {
	var known *fleet.Error
	if j.change != nil || !isLasting(err) || !errors.As(err, &known) {
		return err
	}
	e.held.Put(j.m.id, nil)
	e.report(j.m.id, plan.Findings{Result: plan.Unplannable, Reason: fleet.Reason(err), Next: known.Hint})
	j.m.history.done(j)
	e.passed(j.m, fleet.Pass{Generation: j.view.registry.Generation, Observed: j.digest, Failed: fleet.Reason(err)})
	return err
}

// refuse is the answer to a person whose apply cannot be done; nil without a request.
func refuse(r *request, why string) error {
	if r == nil {
		return nil
	}
	return &fleet.Error{Code: fleet.CodeConflict, During: "apply plan", Message: why,
		Hint: "The state of the device says what to do about that."}
}

// nothingToPlan tells that there is nothing to plan from yet, before the store is asked: while a fleet is contacted
// for the first time, most devices are queued more than once.
func (e *Engine) nothingToPlan(j *job) bool {
	if j.known.NeverRead {
		result := plan.NeverRead
		if len(j.templates) == 0 {
			result = plan.NoTemplates
		}
		e.report(j.m.id, plan.Findings{Result: result})
		return true
	}
	return j.known.Unkept && j.m.history.neverPlanned()
}

// neverPlanned tells that nothing was planned yet.
func (m *history) neverPlanned() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.print == fingerprint{}
}

// isDone tells whether a document was reconciled to its end, with all else that it is planned from.
func (m *history) isDone(digest string, print fingerprint) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	aged := m.ignores != nil && !time.Now().Before(m.ignoresUntil)
	unsaved, _ := m.stops.Unsaved()
	return m.observed == digest && m.print == print && !aged && !m.restart.required && unsaved == nil
}

// done notes that a state was reconciled to its end.
func (m *history) done(j *job) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.print = j.print; m.forgotten == j.forgotten {
		m.observed = j.digest
	}
}

// later queues a device after a while.
func (e *Engine) later(m *item, after time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	m.timer.start(after, func() { e.enqueue(m.id) })
}

// isOf tells whether an item is of this registration of its device. One that was in no pass yet becomes so.
func (e *Engine) isOf(m *item, device *fleet.Registered) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if m.registered.IsZero() {
		m.registered = device.CreatedAt
	}
	return m.registered.Equal(device.CreatedAt)
}

// forget drops a registration that is over, and queues the device where it was registered anew.
func (e *Engine) forget(j *job, r *request) error {
	var gone error = fleet.NotFoundf("there is no device %s", j.m.id)
	if j.device != nil {
		gone = conflict("the device was registered anew meanwhile", "Look at its plan, then apply that one.")
	}
	e.held.Put(j.m.id, nil)
	e.report(j.m.id, plan.Findings{Result: plan.Gone})
	e.mu.Lock()
	defer e.mu.Unlock()
	j.m.timer.stop()
	j.m.answer(gone)
	delete(e.items, j.m.id)
	if j.device != nil {
		e.push(e.item(j.m.id))
	}
	if r == nil {
		return nil
	}
	return gone
}

// during says what was tried; nil stays nil.
func during(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}
