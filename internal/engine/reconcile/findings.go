package reconcile

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"muster/internal/core/plan"
	"muster/internal/fleet"
)

// LastPass returns the result of the last finished pass over a device, from memory.
func (e *Engine) LastPass(id fleet.DeviceID) fleet.Pass {
	if m := e.queue.find(id); m != nil {
		return m.history.lastPass()
	}
	return fleet.Pass{}
}

// report hands the findings of a pass to Options.Found.
func (e *Engine) report(id fleet.DeviceID, f plan.Findings) {
	if e.o.Found != nil {
		e.o.Found(id, f)
	}
}

// conclude reports the last plan of the pass, unless the pass already reported that access is lost or that no plan can
// be made. failure is the error that ended the pass and that may pass by itself; nil without an error.
func (p *pass) conclude(now planned, failure error) {
	if p.lost || p.unplanned != nil {
		return
	}
	p.endUnplanned(now.plan)
	p.rememberHeld(now)
	now.plan = p.withCovered(now.plan)
	p.report(p.id, p.findings(now, failure))
	if now.change == nil {
		p.rememberShort(now)
		p.history.putRevoked(now.result.RevokedByTemplates())
		p.keepPass(p.passOf(now))
	}
}

// finish ends a pass that sends nothing although it may have a plan. The device is not due until something changes.
func (p *pass) finish(now planned) {
	p.history.done(now.digest, p.print, p.forgotten, now.letGo)
	p.history.putRevoked(now.result.RevokedByTemplates())
	p.keepPass(p.passOf(now))
}

// passOf returns the result of a pass that ends with this plan.
func (p *pass) passOf(now planned) fleet.Pass {
	return now.plan.Pass(now.admitted.registry.Generation, now.digest, p.o.DigestKey)
}

// keepPass stores the result of the pass in the history. It calls Options.Passed if the result differs from the last
// one.
func (p *pass) keepPass(result fleet.Pass) {
	if p.history.putPass(result) && p.o.Passed != nil {
		p.o.Passed(p.id)
	}
}

// endUnplanned ends the answers to changes that the plan no longer has. When such a change is planned again later, it
// needs a new answer.
func (p *pass) endUnplanned(now plan.Plan) {
	p.history.answers.End(func(given fleet.Consent) bool {
		planned := given.Key == "" || slices.ContainsFunc(now.Changes, func(c plan.Change) bool {
			return c.IsAnsweredBy(given, p.id, p.o.DigestKey)
		})
		return !planned || given.Over(time.Now())
	})
}

// findings returns the results of the pass, from which health derives the device's state. For failure see conclude.
func (p *pass) findings(now planned, failure error) plan.Findings {
	f := plan.Findings{
		Plan: now.plan, Templates: len(now.templates), Online: now.known.Online, Mode: now.mode,
		Restart: p.restartNeeded(now.input), Stopped: p.history.stops.Of(now.plan),
		Faults: p.history.stops.Unmended(now.plan), BroughtBack: p.history.stops.BroughtBack(),
	}
	if revoked, is := now.current.Revocations[p.id]; is {
		f.Revoked = &revoked
	}
	if failure != nil && !errors.Is(failure, context.Canceled) {
		f.Failure = fleet.Reason(failure)
	}
	f.Unsaved, f.CannotSave = p.history.stops.Unsaved()
	for _, d := range now.result.Mistakes {
		f.Mistakes = append(f.Mistakes, plan.Mistake{Template: d.Template.ID, Key: d.Key, Text: d.String()})
	}
	for _, c := range now.result.Conflicts {
		f.Conflicts = append(f.Conflicts, c.String())
	}
	return f
}

// answerRequest fills in the result of a person's apply: the changes that were made, and those that still wait. A
// change counts as made if it was sent and the plan from the read-back does not have it any more.
func (p *pass) answerRequest(now planned) {
	r := p.request
	if r == nil {
		return
	}
	r.waiting = slices.Clone(now.plan.Changes)
	for i := range r.waiting {
		switch c := &r.waiting[i]; {
		case c.Sendable():
			c.Reason = cmp.Or(c.Reason, p.findings(now, nil).WhenSent())
		case c.Class == plan.Held && p.isConsented(*c):
			c.Reason += "; it was consented to and follows by itself"
		}
	}
	for _, c := range p.sent {
		at := func(d plan.Change) bool { return d.Class != plan.Skipped && d.Key.Equal(c.Key) }
		if !slices.ContainsFunc(now.plan.Changes, at) && !slices.ContainsFunc(r.sent, at) {
			r.sent = append(r.sent, c)
		}
	}
	room := plan.MaxReported
	r.sent, r.waiting = plan.ForReport(r.sent, &room), plan.ForReport(r.waiting, &room)
}
