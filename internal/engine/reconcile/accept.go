package reconcile

import (
	"context"

	"muster/internal/core/plan"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// Accept lets a pending device or folder in (see plan.Accept). It returns once the daemon's configuration was read
// back. It is conflict where templates would undo what Accept writes.
func (e *Engine) Accept(ctx context.Context, asks fleet.Pending, name, path string) error {
	what := "accept of device " + string(asks.From)
	if asks.Folder != "" {
		what = "accept of folder " + asks.Folder + " from " + string(asks.From)
	}
	return e.Amend(ctx, asks.Device, what, func(doc stconfig.Value) (stconfig.Value, error) {
		return plan.Accept(doc, asks, name, path)
	})
}

// Dismiss has the daemon forget a pending device or folder, without a change of the configuration. The other device
// may ask again.
func (e *Engine) Dismiss(ctx context.Context, asks fleet.Pending) error {
	conn, in, err := e.connectionForOrder(ctx, asks.Device)
	if err != nil {
		return err
	}
	defer conn.close()
	return conn.tell(ctx, in, func() error { return conn.session.DismissPending(ctx, asks) })
}
