package reconcile

import (
	"cmp"
	"context"
	"errors"
	"time"

	"muster/internal/core/plan"
	"muster/internal/fleet"
)

// takeAway removes the revoked devices from a daemon for which the templates make no plan: a template that fails must
// not keep them there. why is the error of the templates. It stays the result of the pass: takeAway reports and
// returns it, unless another error comes first.
func (p *pass) takeAway(ctx context.Context, in input, why error) error {
	if in.failed = true; in.blocked() != "" || len(awayOf(in.current, in.id)) == 0 {
		return why
	}
	now, err := p.plan(ctx, in, false)
	if err != nil || len(now.plan.Sendable()) == 0 {
		return cmp.Or(err, why)
	}
	p.history.stops.CountDrift(now.plan.Sendable(), now.digest, time.Now())
	_, err = p.sendAll(ctx, now)
	p.report(p.id, p.unplannable(why)) // sendAll reported that it writes.
	p.history.forgetInputs()           // Without these devices the templates may make a plan.
	p.queue.again(p.item)
	return cmp.Or(err, why)
}

// endBroughtBackLater has the device due when a stop about a revoked device that came back ends.
func (p *pass) endBroughtBackLater() {
	if until := p.history.stops.BroughtBackUntil(); !until.IsZero() {
		p.queue.later(p.item, time.Until(until))
	}
}

// unplannable returns the findings of a pass whose templates make no plan.
func (p *pass) unplannable(why error) plan.Findings {
	f := plan.Findings{Result: plan.Unplannable, Reason: fleet.Reason(why),
		BroughtBack: p.history.stops.BroughtBack()}
	var known *fleet.Error
	if errors.As(why, &known) {
		f.Next = known.Hint
	}
	return f
}

// revokedMeanwhile reports whether a device was revoked, or a revocation ended, since the input was made. Then nothing
// more of the plan is sent, because it may give the daemon a revoked device. If the registry cannot be read, the
// answer is true.
func (e *Engine) revokedMeanwhile(ctx context.Context, in input) bool {
	registry, err := e.o.Store.Registry(ctx)
	return err != nil || e.sumOfRevoked(registry, in.id) != e.sumOfRevoked(in.current, in.id)
}
