package app

import (
	"context"

	"muster/internal/engine/metrics"
	"muster/internal/engine/prover"
	"muster/internal/fleet"
	"muster/internal/logkey"
)

// newProver makes the prover of copies.
func (a *App) newProver() *prover.Prover {
	return prover.New(prover.Options{Daemons: asked{a}, Snapshot: a.mirror.Snapshot, Devices: a.devicesWith,
		Kept: a.store, Log: a.log.With(logkey.Component, "copies")})
}

// devicesWith returns the devices of the whole fleet that have a folder, in the order in which they are shown.
func (a *App) devicesWith(ctx context.Context, folder string) ([]fleet.DeviceID, error) {
	registry, err := a.store.Registry(ctx)
	if err != nil {
		return nil, err
	}
	var ids []fleet.DeviceID
	for _, device := range a.view.DevicesWith(registry, folder) {
		ids = append(ids, device.ID)
	}
	return ids, nil
}

func (a *App) copiesInNumbers() []metrics.FolderCopies {
	var all []metrics.FolderCopies
	for _, figure := range a.prover.Figures() {
		all = append(all, metrics.FolderCopies{Folder: figure.Folder, Copies: figure.Copies, Unproven: figure.Open})
	}
	return all
}
