package app

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"

	"muster/internal/fleet"
	"muster/internal/httpapi"
	"muster/internal/logkey"
	"muster/internal/mirror"
	"muster/internal/stconfig"
	"muster/internal/store"
)

// committed tells the engines what people changed. The store calls it after each commit and waits for it.
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
			a.inbox.Forget(id)
		}
		a.rollup.stands(id)
	}
	if changed.Generation || changed.Modes {
		a.pauseOrResume(registry)
	}
	if changed.Registry || len(changed.Devices) > 0 {
		a.news.committed()
	}
	a.engine.AdmissionChanged(changed.Admitted)
	for id := range changed.Devices {
		a.runner.DeviceChanged(id)
	}
	if changed.Modes {
		a.runner.AllChanged()
	}
	if changed.Generation || len(changed.Devices) > 0 {
		a.runner.Wake() // it decides which devices are admitted, and the commit of that comes here
	}
	if len(changed.Devices) > 0 || changed.Modes || changed.Roots {
		a.engine.RegistryChanged()
	}
}

// pauseOrResume puts anew whom a mode of the fleet or of a tag stops or no longer stops from being watched. As long as
// no such mode pauses anything that is nobody; a device's own mode comes with the device.
func (a *App) pauseOrResume(registry *fleet.Registry) {
	pausing := registry.Mode == fleet.ModePaused || slices.Contains(slices.Collect(maps.Values(registry.TagModes)),
		fleet.ModePaused)
	if !pausing && a.nonePaused {
		return
	}
	a.nonePaused = !pausing
	for id, device := range registry.Devices {
		if paused := registry.ModeOf(id) == fleet.ModePaused; paused != a.mirror.Paused(id) {
			a.mirror.Put(*device, paused)
		}
	}
}

// mirrored tells the reconciler, and whoever follows the events, what watchers learnt.
func (a *App) mirrored(id fleet.DeviceID, aspect mirror.Aspect) {
	s := a.mirror.Snapshot(id)
	if s == nil {
		return
	}
	a.news.mirrored(id, aspect)
	if aspect&mirror.ConnectionChanged != 0 {
		a.rollup.stands(id)
		a.withLatest(id, func(s *mirror.Snapshot) {
			switch {
			case s.Answers():
				a.inbox.Online(id)
			case !s.Restarting:
				a.inbox.Offline(id)
				a.engine.Offline(id)
			}
		})
	}
	if aspect&mirror.FoldersChanged != 0 {
		a.withLatest(id, func(s *mirror.Snapshot) { a.rollup.SetSummaries(id, s.Summaries) })
		a.engine.FoldersSeen(id)
	}
	a.runner.DeviceChanged(id)
	if aspect&(mirror.ConnectionChanged|mirror.StatusChanged) != 0 && s.Answers() {
		a.proven(s)
		a.engine.Online(id)
	}
}

// configKept is told of every configuration that the store has now: one that the reconciler read back counts too.
func (a *App) configKept(id fleet.DeviceID, config fleet.ObservedConfig) {
	a.rollup.SetFolders(id, config.Folders)
	a.withLatest(id, func(s *mirror.Snapshot) { a.rollup.SetSummaries(id, s.Summaries) })
}

// withLatest tells somebody what is known of a device. Watcher, reconciler and outbox each call it after a change:
// whoever comes last has the latest, so that nothing older is laid over it.
func (a *App) withLatest(id fleet.DeviceID, tell func(*mirror.Snapshot)) {
	a.latest.Lock()
	defer a.latest.Unlock()
	if s := a.mirror.Snapshot(id); s != nil {
		tell(s)
	}
}

// sink keeps what watchers observed.
type sink struct{ store *store.Store }

func (s sink) Observe(ctx context.Context, observations []fleet.Observation) error {
	return s.store.SaveObservations(ctx, observations)
}

// lastKnown are the snapshots to start with: what was known when the server stopped.
func lastKnown(ctx context.Context, s *store.Store) (map[fleet.DeviceID]mirror.Snapshot, error) {
	known, err := s.Known(ctx)
	if err != nil {
		return nil, fmt.Errorf("read what is last known of the devices: %w", err)
	}
	seed := make(map[fleet.DeviceID]mirror.Snapshot, len(known))
	for id, k := range known {
		snapshot := mirror.Snapshot{Device: id, Status: k.Status, Version: k.Version, Folders: k.Folders, Digest: k.Digest,
			LastSeen: k.LastSeen, Proven: k.Proven,
			Summaries: make(map[string]fleet.FolderSummary, len(k.Summaries))}
		for _, summary := range k.Summaries {
			snapshot.Summaries[summary.Folder] = summary
		}
		seed[id] = snapshot
	}
	return seed, nil
}

// observed is what is kept of the daemons' answers, for the API.
type observed struct{ *store.Store }

// MaskedConfig is the configuration last seen, with every secret masked.
func (o observed) MaskedConfig(ctx context.Context, id fleet.DeviceID) (httpapi.Document, error) {
	_, document, err := o.NewestDocument(ctx, id)
	return masked(document), err
}

// masked writes a configuration with every secret masked. It holds one text of it at a time.
func masked(document store.Document) httpapi.Document {
	return func(w io.Writer) error { return stconfig.MaskTo(w, document.Open()) }
}
