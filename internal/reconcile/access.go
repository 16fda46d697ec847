package reconcile

import (
	"context"
	"errors"
	"fmt"

	"muster/internal/fleet"
	"muster/internal/plan"
	"muster/internal/stconfig"
)

// orLost is the error of a daemon that does not answer after its access was changed.
func (a *attempt) orLost(ctx context.Context, err error) error {
	if a.record.Access == nil || ctx.Err() != nil {
		return err
	}
	a.j.lost = true
	return a.reportLost(a.j.m.id, a.record.Access, err)
}

// reportLost reports that a daemon answers no more since its access was changed.
func (e *Engine) reportLost(id fleet.DeviceID, move *plan.AccessMove, why error) error {
	lost := move.Lost(why)
	e.report(id, plan.Findings{Result: plan.AccessLost, Reason: lost.Message, Next: lost.Hint})
	return lost
}

// settleAccess finds out how the daemon is reached after it was told of another access, and keeps that: the new one
// is tried, then the old, for a minute, because the API restarts.
func (a *attempt) settleAccess(ctx context.Context) error {
	if !a.record.Moves() {
		return nil
	}
	next := a.record.Next(a.j.device.Access())
	err := retrying(ctx, restartTime, func() error { return a.tryAccess(ctx, a.j, next) })
	if errors.Is(err, errAboutToMove) {
		return nil // it stays where it was
	}
	return err
}

// errAboutToMove says that the daemon still answers where it was, although its configuration says otherwise: its API
// restarts after it has answered the write.
var errAboutToMove = &fleet.Error{Code: fleet.CodeUnavailable,
	Message: "the daemon still answers at its old port, and is to answer at a new one"}

// tryAccess keeps the access to which the daemon answers.
func (e *Engine) tryAccess(ctx context.Context, j *job, next fleet.Access) error {
	if e.o.Access == nil {
		return nil
	}
	now := j.device.Access()
	newErr := e.o.Access.TryAccess(ctx, j.m.id, next)
	if newErr == nil {
		if err := e.o.Access.AdoptAccess(ctx, j.m.id, now, next); err != nil {
			return during("adopt access", err)
		}
		return e.reload(ctx, j)
	}
	oldErr := e.o.Access.TryAccess(ctx, j.m.id, now)
	switch {
	case oldErr == nil && next.Port != now.Port:
		return e.checkStays(ctx, j, next.Port)
	case oldErr == nil:
		return nil
	case fleet.CodeOf(newErr) == fleet.CodeKeyRefused && fleet.CodeOf(oldErr) == fleet.CodeKeyRefused:
		return &fleet.Error{Code: fleet.CodeKeyRefused, During: "change API key", Err: newErr,
			Message: "access lost: the daemon takes neither the new API key nor the old one",
			Hint:    "Read the key at the daemon (Actions > Settings > GUI) and put it into the device's record."}
	}
	return fmt.Errorf("try access: new: %w; old: %w", newErr, oldErr)
}

// checkStays looks whether a daemon that answers at its old port was told of the new one.
func (e *Engine) checkStays(ctx context.Context, j *job, port int) error {
	observed, err := e.o.Daemon.Config(ctx, j.m.id)
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

// reload takes over what the device's record has become.
func (e *Engine) reload(ctx context.Context, j *job) (err error) {
	if j.current, err = e.o.Store.Registry(ctx); err != nil {
		return err
	}
	if !j.isOf(j.current) {
		return fleet.NotFoundf("device %s was deleted meanwhile", j.m.id)
	}
	j.device = j.current.Devices[j.m.id]
	j.view, err = e.viewOf(ctx, j.m.id, j.current)
	return err
}
