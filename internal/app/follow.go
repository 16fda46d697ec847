package app

import (
	"context"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

// committed has the mirror follow what people changed: they read it right after. The store calls it after each commit
// and waits for it. The other engines are told by forward.
func (a *App) committed(changed fleet.Committed) {
	if a.mirror == nil { // still starting: start reads the registry itself
		return
	}
	registry, err := a.store.Registry(context.Background())
	if err != nil {
		a.log.Error("the registry is not readable after a commit", logkey.Err(err))
		return
	}
	for id := range changed.Devices {
		a.discovery.Forget(id)
		if device := registry.Devices[id]; device != nil {
			a.mirror.Put(*device, registry.ModeOf(id) == fleet.ModePaused)
			a.mirror.Retry(id)
		} else {
			a.mirror.Remove(id)
		}
		a.inventory.DeviceChanged(id)
		a.count(id)
	}
	if changed.Generation || changed.Modes {
		a.mirror.ModesChanged(registry)
	}
	a.changes.commit(changed)
}

// configKept is told of every configuration that the store has now: one that reconcile read back counts too.
func (a *App) configKept(id fleet.DeviceID, config fleet.ObservedConfig) {
	a.rollup.SetFolders(id, config.Folders)
	a.rollup.Summarise(id, a.mirror.Snapshot)
}
