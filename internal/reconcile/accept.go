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
	registry, err := e.o.Store.Registry(ctx)
	if err != nil {
		return err
	}
	if registry.Devices[asks.Device] == nil {
		return fleet.NotFoundf("there is no device %s", asks.Device)
	}
	if mode := registry.ModeOf(asks.Device); mode != fleet.ModeOn {
		return conflict("Muster does not write to this device: its mode is "+string(mode),
			plan.HowToResume+" Or do it at the daemon.")
	}
	session, err := e.o.Daemon.Session(ctx, asks.Device)
	if err != nil {
		return err
	}
	defer session.Close()
	return session.DismissPending(ctx, asks)
}
