package app

import (
	"context"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

// committed informs the mirror of what people changed. The store calls it after each commit and waits for it, so that
// a caller who reads directly afterwards sees the change. forward informs the other engines.
func (a *App) committed(changed fleet.Committed) {
	if a.mirror == nil { // The server is starting; start reads the registry itself.
		return
	}
	registry, err := a.store.Registry(context.Background())
	if err != nil {
		a.log.Error("the registry is not readable after a commit", logkey.Err(err))
		return
	}
	a.changes.lookFor(registry.Revocations)
	for id := range changed.Devices {
		a.discovery.Forget(id)
		if device := registry.Devices[id]; device != nil {
			a.mirror.Put(*device, registry.ModeOf(id) == fleet.ModePaused)
			a.mirror.Retry(id)
		} else {
			a.mirror.Remove(id)
		}
		a.changes.view(id)
	}
	if changed.Generation || changed.Modes {
		a.mirror.ModesChanged(registry)
	}
	a.changes.commit(changed)
}

// configStored is called for every configuration that was stored. The view lists its folders from then on.
func (a *App) configStored(id fleet.DeviceID, _ fleet.ObservedConfig) { a.changes.view(id) }
