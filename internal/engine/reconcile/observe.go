package reconcile

import (
	"context"
	"errors"

	"muster/internal/core/plan"
	"muster/internal/fleet"
)

// observe is the first stage of a pass: it makes the input. Before that it verifies intents that a crash left open.
// ended is true if the pass is over, because there is nothing to plan from or nothing to do.
func (p *pass) observe(ctx context.Context) (in input, ended bool, err error) {
	p.forgotten = p.history.timesForgotten()
	if in, err = p.inputNow(ctx, p.id); err != nil {
		return in, false, err
	}
	if in.device == nil || !p.queue.isOf(p.item, in.device.CreatedAt) {
		return in, true, p.forget(in)
	}
	p.print = p.fingerprint(in.admitted, p.id, in.mode, in.known, reachOf(in.current, p.id))
	p.print.revoked = p.sumOfRevoked(in.current, p.id)
	p.print.folders = p.history.stops.FolderErrors(in.known.FolderErrors)
	if err := p.readConsents(ctx); err != nil {
		return in, false, during("read consents", err)
	}
	p.timeConsents(ctx, in.blocked() == "")
	if in.mode == fleet.ModePaused {
		p.report(p.id, plan.Findings{Result: plan.Paused})
		return in, true, refuse(p.request, "the device is not watched (mode paused)")
	}
	in, waiting, err := p.verifyUnfinished(ctx, in)
	if waiting || err != nil {
		return in, true, err
	}
	return p.observeDocument(ctx, in)
}

// observeDocument adds to the input the device's ownership entries and its document. It first checks what the mirror
// knows, without the store: daemons report their status every minute, and for most of them nothing has changed.
func (p *pass) observeDocument(ctx context.Context, in input) (_ input, ended bool, err error) {
	if p.request == nil &&
		(in.known.Digest != "" && p.endWhereDone(ctx, in, in.known.Digest) || p.endWhereNotRead(in)) {
		return in, true, nil
	}
	if in.base, err = p.o.Store.BaseEntries(ctx, p.id); err != nil {
		return in, false, err
	}
	if p.request != nil && p.request.change != nil {
		in.change = p.request.change
		return in, false, nil // planChange reads the daemon at that moment
	}
	if p.request == nil && p.endWhereNoTemplates(in) {
		return in, true, nil
	}
	in, ended, err = p.observeNewest(ctx, in)
	if ended || err != nil {
		return in, true, errors.Join(
			err,
			refuse(p.request, "the daemon was never read, or its configuration cannot be believed"),
		)
	}
	return in, p.request == nil && p.endWhereDone(ctx, in, in.digest), nil
}

// observeNewest returns the input with the newest document. ended is true if there is no document to plan from;
// observeNewest has reported that already.
func (p *pass) observeNewest(ctx context.Context, in input) (_ input, ended bool, err error) {
	in, err = p.newest(ctx, in, p.handed)
	switch {
	case errors.Is(err, errNeverRead):
		p.report(p.id, plan.Findings{Result: plan.NeverRead})
		return in, true, nil
	case fleet.CodeOf(err) == fleet.CodeUnbelievable, fleet.CodeOf(err) == fleet.CodeMalformed:
		p.report(p.id, plan.Findings{Result: plan.Unbelievable, Reason: fleet.Reason(err)})
		return in, true, nil
	}
	return in, false, err
}

// endWhereDone ends the pass if the last pass left nothing to do for the document with this digest and for the present
// inputs. The result of the last pass then also counts for the present generation.
func (p *pass) endWhereDone(ctx context.Context, in input, digest string) (ended bool) {
	p.compareIgnores(ctx, in, digest)
	if !p.history.isDone(digest, p.print, in.admitted.registry.Generation) {
		return false
	}
	if last := p.history.lastPass(); last.Observed != "" {
		last.Generation = in.admitted.registry.Generation
		p.keepPass(last)
	}
	return true
}

// endWhereNotRead ends the pass if there is no document to plan from yet. It does not read the store: while a fleet is
// contacted for the first time, most devices are queued more than once.
func (p *pass) endWhereNotRead(in input) (ended bool) {
	if in.known.NeverRead {
		result := plan.NeverRead
		if len(in.templates) == 0 {
			result = plan.NoTemplates
		}
		p.report(p.id, plan.Findings{Result: result})
		return true
	}
	return in.known.Unstored && p.history.neverPlanned()
}

// endWhereNoTemplates ends the pass with the result NoTemplates if there is nothing that Muster may have to write: no
// template applies, nothing that Muster wrote is left on the device, no device is revoked, nothing waits to be saved,
// and no restart is due.
func (p *pass) endWhereNoTemplates(in input) (ended bool) {
	if len(in.templates)+len(in.base)+len(in.current.Revocations) > 0 || in.known.Digest == "" ||
		p.history.isUnsaved() || p.history.restart.required {
		return false
	}
	p.endUnplanned(plan.Plan{})
	p.held.Put(p.id, nil)
	p.report(p.id, plan.Findings{Result: plan.NoTemplates})
	in.digest = in.known.Digest
	p.finish(planned{input: in})
	return true
}

// forget drops the queue's item of a device that was deleted. If the device was registered again, it gets a new item,
// which is due. forget returns an error for the person who waits for the pass, or nil if nobody waits.
func (p *pass) forget(in input) error {
	var gone error = fleet.NotFoundf("there is no device %s", p.id)
	if in.device != nil {
		gone = conflict("the device was registered anew meanwhile", "Look at its plan, then apply that one.")
	}
	p.held.Put(p.id, nil)
	p.forgetShort(p.id)
	p.report(p.id, plan.Findings{Result: plan.Gone})
	p.queue.forget(p.item, gone, in.device != nil)
	if p.request == nil {
		return nil
	}
	return gone
}
