package reconcile

import (
	"context"

	"muster/internal/fleet"
	"muster/internal/plan"
	"muster/internal/stconfig"
)

// Accept lets a pending device or folder in, see plan.Accept, and answers when that was read back. What templates would
// take back is a conflict.
func (e *Engine) Accept(ctx context.Context, asks fleet.Pending, name, path string) error {
	what := "accept of device " + string(asks.From)
	if asks.Folder != "" {
		what = "accept of folder " + asks.Folder + " from " + string(asks.From)
	}
	return e.Amend(ctx, asks.Device, what, func(doc stconfig.Value) (stconfig.Value, error) {
		return plan.Accept(doc, asks, name, path)
	})
}

// Dismiss has the daemon forget a pending device or folder, which may ask again. That changes no configuration.
func (e *Engine) Dismiss(ctx context.Context, asks fleet.Pending) error {
	j, err := e.actingJob(ctx, asks.Device)
	if err != nil {
		return err
	}
	defer j.closeSession()
	return j.session.DismissPending(ctx, asks)
}
