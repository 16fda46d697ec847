package reconcile

import (
	"cmp"
	"context"
	"errors"
	"time"

	"muster/internal/core/plan"
	"muster/internal/fleet"
)

// takeAway takes the revoked devices off a daemon for which the templates make no plan: a template that fails must not
// keep them there. why is that failure. It stays the result of the pass, and is what the pass reports.
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
	p.report(p.id, unplannable(why)) // sendAll reported that it writes.
	p.history.forgetInputs()         // The templates may make a plan of the document without these devices.
	p.queue.again(p.item)
	return cmp.Or(err, why)
}

// unplannable returns the findings of a pass whose templates make no plan.
func unplannable(why error) plan.Findings {
	f := plan.Findings{Result: plan.Unplannable, Reason: fleet.Reason(why)}
	var known *fleet.Error
	if errors.As(why, &known) {
		f.Next = known.Hint
	}
	return f
}

// revokedMeanwhile reports whether a device was revoked, or a revocation ended, since the input was made. The plan of
// the input may give the daemon what it must not have, so nothing more of it is sent.
func (e *Engine) revokedMeanwhile(ctx context.Context, in input) bool {
	registry, err := e.o.Store.Registry(ctx)
	return err != nil || e.sumOfRevoked(registry, in.id) != e.sumOfRevoked(in.current, in.id)
}
