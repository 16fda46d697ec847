package reconcile

import (
	"context"
	"fmt"

	"muster/internal/core/plan"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// Accept accepts a device or folder that is pending at a daemon (see plan.Accept). It returns after the daemon's
// configuration was read back. It returns conflict if templates would undo what Accept writes, or if the pending
// device is revoked.
func (e *Engine) Accept(ctx context.Context, asks fleet.Pending, name, path string) error {
	if why := e.WhyRevoked(ctx, asks.Device, asks.From); why != "" {
		return conflict(asks.From.Short()+" is not let in: "+why, "Dismiss it: the daemon forgets that it asked.")
	}
	what := "accept of device " + string(asks.From)
	if asks.Folder != "" {
		what = "accept of folder " + asks.Folder + " from " + string(asks.From)
	}
	return e.Amend(ctx, asks.Device, what, func(doc stconfig.Value) (stconfig.Value, error) {
		return plan.Accept(doc, asks, name, path)
	})
}

// WhyRevoked returns why device must not come back to the daemon of the device `on`, and how to end that. It returns
// "" if device may come back, and also if the registry cannot be read.
func (e *Engine) WhyRevoked(ctx context.Context, on, device fleet.DeviceID) string {
	registry, err := e.o.Store.Registry(ctx)
	if err != nil {
		return ""
	}
	if revoked, is := registry.Revocations[device]; is {
		return fmt.Sprintf("it is %s. `%s` ends that.", revoked.Since(), revoked.Ended())
	}
	m := e.queue.find(on)
	if m == nil {
		return ""
	}
	by := m.history.revokedBy(device)
	if len(by) == 0 {
		return ""
	}
	return fmt.Sprintf("template %d removes it there, and a person consented. Take it out of that template first.", by[0])
}

// Dismiss makes the daemon forget a pending device or folder. The configuration stays as it is, so the other device
// may ask again.
func (e *Engine) Dismiss(ctx context.Context, asks fleet.Pending) error {
	conn, in, err := e.connectionForOrder(ctx, asks.Device)
	if err != nil {
		return err
	}
	defer conn.close()
	return conn.tell(ctx, in, func() error { return conn.session.DismissPending(ctx, asks) })
}
