package reconcile

import (
	"context"
	"time"

	"muster/internal/core/plan"
	"muster/internal/fleet"
	"muster/internal/logkey"
)

// pass is the work of one worker on one item, in four stages: observe makes the input, makePlan makes a plan from it,
// send writes the plan to the daemon, and verify reads the daemon back and makes the next input.
type pass struct {
	connection
	item      *item
	request   *request              // what a person asks for; nil: the pass runs because something changed
	handed    *fleet.ObservedConfig // configuration that the store was given a moment ago; nil: ask the store
	print     fingerprint           // fingerprint of the inputs
	forgotten int                   // how often forgetInputs had been called when the pass began

	sent   []plan.Change // changes that all attempts of the pass sent
	halted bool          // During the pass a person stopped Muster, or revoked a device.
	lost   bool          // The daemon has not answered since its access was changed. That is reported already.

	// unplanned is the input, read last, for which the templates make no plan; that is reported already. Nil: they make
	// one.
	unplanned *input

	contested bool // The last attempt sent nothing, because another device gave up a copy of the same folder.

	// covered are the answers for all members of the rollout that match held changes of this device while nothing can be
	// sent to the daemon. They are not stored: the device uses them once Muster can write to it.
	covered []fleet.Consent

	outcome fleet.Outcome // outcome of the last attempt
	detail  string        // detail of that outcome
}

// request is work that a person waits for: an apply of the plan that they saw, or a change of their own.
type request struct {
	change *change // the person's own change; nil: an apply

	by      string                  // the person who asks
	digest  string                  // digest of the plan that the person saw; digest and answers are for an apply
	answers map[string]fleet.Answer // answers by key
	done    chan error              // gets the answer; of capacity 1

	armed []int64 // IDs of the consents that the request gave

	sent, waiting []plan.Change // changes that were done, and changes that still wait; to be read after done
}

// work makes one pass over an item. The way in which the pass ends decides when the item is due again.
func (e *Engine) work(ctx context.Context, m *item) {
	bounded, cancel := context.WithTimeout(ctx, workTime)
	defer cancel()
	r := e.queue.takeRequest(m)
	err := e.workWithin(bounded, m, r)
	if ctx.Err() != nil {
		err = nil // The server stops: nothing is due any more.
	}
	if pause := e.queue.finish(m, endOf(r, err)); pause > 0 {
		e.log.Warn("device will be tried again", logkey.Device, m.id, logkey.Err(err), "pause", pause)
	}
}

// workWithin makes a pass over an item within the memory for all plans together, and answers the request. A request
// waits for memory. Without a request the work ends with fleet.ErrNoMemory, and the item is due again once memory was
// freed. Memory may call run up to three times; each call is a pass of its own.
func (e *Engine) workWithin(ctx context.Context, m *item, r *request) error {
	handed := e.o.Daemon.TakeConfig(m.id)
	run := func(ctx context.Context) error { return e.newPass(m, r, handed).run(ctx) }
	if r == nil {
		return e.o.Memory.TryDo(ctx, run)
	}
	err := e.o.Memory.Do(ctx, run)
	if err != nil {
		e.newPass(m, r, nil).takeBackConsents(ctx)
	}
	r.done <- err
	if r.change != nil {
		e.queue.add(m.id) // The templates' plan follows, from the document as it is now.
	}
	return err
}

func (e *Engine) newPass(m *item, r *request, handed *fleet.ObservedConfig) *pass {
	return &pass{connection: connection{Engine: e, id: m.id, history: &m.history}, item: m, request: r, handed: handed}
}

// takeBackConsents ends the consents that came with a failed apply, so that they are not used later, when the person
// does not expect it. It queues the item again, because the failed pass may have left other work undone.
func (p *pass) takeBackConsents(ctx context.Context) {
	p.history.answers.EndAll(p.request.armed)
	p.closeConsents(context.WithoutCancel(ctx))
	p.queue.again(p.item)
}

// run takes the pass through its stages.
func (p *pass) run(ctx context.Context) error {
	in, ended, err := p.observe(ctx)
	if ended || err != nil {
		return err
	}
	if in.change != nil {
		return p.carryOut(ctx, in)
	}
	p.history.release(in, p.print)
	p.judgeFolders(ctx, in)
	defer func() {
		kept := context.WithoutCancel(ctx)
		p.keepStops(kept, in)
		p.closeConsents(kept)
	}()
	now, err := p.planAnswered(ctx, in)
	if err == nil {
		err = p.act(ctx, now)
	}
	if p.unplanned != nil {
		return p.takeAway(ctx, *p.unplanned, err)
	}
	return err
}

// planAnswered makes the plan with people's answers. It loads the answers, makes the values that a person chose to
// keep the base, and stops keys that a person sets back again and again. After each of these steps it plans again if
// the step changed something.
func (p *pass) planAnswered(ctx context.Context, in input) (planned, error) {
	now, err := p.planOrReport(ctx, in, in.known.Online)
	if err == nil && p.request != nil {
		now, err = p.applyApproved(ctx, now)
	}
	if err == nil {
		now, err = p.answerWaiting(ctx, now)
	}
	if err == nil && p.history.stops.CountDrift(now.plan.Sendable(), now.digest, time.Now()) {
		now, err = p.planOrReport(ctx, now.input, false)
	}
	return now, err
}

// planOrReport makes the plan of an input. If that fails because of the templates, it also reports the failure.
func (p *pass) planOrReport(ctx context.Context, in input, fresh bool) (planned, error) {
	now, err := p.plan(ctx, in, fresh)
	if err != nil {
		return now, p.planFailed(now.input, err)
	}
	return now, nil
}

// planFailed reports that the templates make no plan of the document that was read, and returns err. From then on the
// pass does not report its earlier plan, which is for an older document. An error that may pass by itself is returned
// without a report.
func (p *pass) planFailed(in input, err error) error {
	if in.change != nil || in.failed || !isLasting(err) {
		return err
	}
	p.unplanned = &in
	p.held.Put(p.id, nil)
	p.report(p.id, p.unplannable(err))
	p.history.done(in.digest, p.print, p.forgotten, 0)
	p.endBroughtBackLater()
	p.keepPass(fleet.Pass{Generation: in.admitted.registry.Generation, Observed: in.digest, Failed: fleet.Reason(err)})
	return err
}

// act sends the plan if that is allowed and possible, and reports the result of the pass.
func (p *pass) act(ctx context.Context, now planned) error {
	var err error
	switch sendable := len(now.plan.Sendable()) > 0; {
	case sendable && now.mode == fleet.ModeOn && now.known.TooOld:
		p.report(p.id, plan.Findings{Result: plan.TooOld})
		p.finish(now)
		return refuse(p.request, now.blocked())
	case sendable && now.blocked() != "":
		err = refuse(p.request, now.blocked())
	case sendable, p.maySave(now.input):
		now, err = p.sendAll(ctx, now)
	default:
		now, err = p.keepBase(ctx, now)
	}
	if err == nil {
		p.restart(ctx, now)
	}
	if p.halted && p.request != nil {
		p.history.answers.EndAll(p.request.armed)
	}
	p.judgeFolders(ctx, now.input)
	p.conclude(now, err)
	if err != nil {
		return err
	}
	p.answerRequest(now)
	if p.halted {
		p.history.forgetInputs() // When Muster may write again, the next pass makes a new plan.
		return nil
	}
	p.history.done(now.digest, p.print, p.forgotten, now.letGo)
	p.endBroughtBackLater()
	if len(now.result.Ignores) > 0 && now.known.Online {
		p.queue.later(p.item, p.history.untilIgnores())
	}
	return nil
}

// keepBase stores the device's ownership records if a person's edits changed the base and nothing is to be sent. It
// first reads the daemon, because only a document read just now may change the base of a key.
func (p *pass) keepBase(ctx context.Context, now planned) (planned, error) {
	if fleet.SameEntries(now.base, now.result.Entries) || !now.known.Online {
		return now, nil
	}
	in, err := p.read(ctx, now.input)
	if err != nil {
		return now, err
	}
	if in.digest == now.digest {
		now.input = in
	} else {
		next, err := p.planOrReport(ctx, in, true)
		if err != nil {
			return now, err
		}
		if now = next; len(now.plan.Sendable()) > 0 && now.mode == fleet.ModeOn {
			return p.sendAll(ctx, now)
		}
	}
	now.input, err = p.putBase(ctx, now.input, now.result.Entries)
	return now, err
}

// putBase stores the device's ownership records, unless the device was deleted since the input was made.
func (p *pass) putBase(ctx context.Context, in input, base []fleet.BaseEntry) (input, error) {
	if err := p.stillRegistered(ctx, in); err != nil {
		return in, err
	}
	in.base = base
	return in, p.o.Store.PutBaseEntries(ctx, p.id, base)
}

// maySave reports whether the daemon can be written to and may have changes that it has not saved. The pass then sends
// a write that changes nothing, which makes the daemon save.
func (p *pass) maySave(in input) bool { return p.history.isUnsaved() && in.blocked() == "" }

// mayWrite reports whether Muster may write to the device at this moment. Since the input was made, a person may have
// stopped Muster or deleted the device.
func (e *Engine) mayWrite(ctx context.Context, in input) bool {
	registry, err := e.o.Store.Registry(ctx)
	return err == nil && in.isOf(registry) && registry.ModeAt(in.admitted.registry, in.id) == fleet.ModeOn
}

// stillRegistered returns not_found if the device was deleted since the input was made, even if it was registered
// again. The results of the pass must not be stored then.
func (e *Engine) stillRegistered(ctx context.Context, in input) error {
	registry, err := e.o.Store.Registry(ctx)
	if err == nil && !in.isOf(registry) {
		err = fleet.NotFoundf("device %s was deleted meanwhile", in.id)
	}
	return err
}
