package app

import (
	"context"
	"maps"
	"time"

	"muster/internal/engine/health"
	"muster/internal/fleet"
)

// judgeFolders gives health the newest snapshots of the devices that changed. A mutex prevents two calls at once,
// because the later call could then pass on the older snapshot.
func (a *App) judgeFolders() {
	a.judging.Lock()
	defer a.judging.Unlock()
	seen := map[fleet.DeviceID]*fleet.Snapshot{}
	if !a.judged { // At first all devices are judged: nothing reports what was read from the database.
		a.judged = true
		for _, s := range a.mirror.Snapshots() {
			seen[s.Device] = s
		}
	}
	for id := range a.changes.takeJudged() {
		seen[id] = a.mirror.Snapshot(id)
	}
	a.folders.Update(seen, a.registry(), time.Now())
}

// viewed returns the devices whose row the view must compute again. It takes their marks before it judges their
// folders, so a device that is marked meanwhile is judged in the next call at the latest.
func (a *App) viewed() map[fleet.DeviceID]bool {
	marked := a.changes.takeViewed()
	a.judgeFolders()
	changed := a.folders.Changed()
	for id := range changed {
		a.feed.RowChanged(id)
	}
	if marked == nil {
		return changed
	}
	maps.Copy(marked, changed)
	return marked
}

func (a *App) folderState(s *fleet.Snapshot, folder string) (state fleet.FolderState, disagrees bool) {
	return a.folders.State(s.Device, folder)
}

// findingUnclear reports whether a finding of a folder may hold although nothing waits because of it now.
func (a *App) findingUnclear(id fleet.DeviceID, folder string, cause fleet.WaitCause) bool {
	return a.folders.IsUnclear(id, folder, cause, time.Now())
}

// isYoung reports whether something of a device becomes trouble if it lasts.
func (a *App) isYoung(s *fleet.Snapshot) bool {
	return a.folders.IsYoung(s, time.Now())
}

// folderStanding returns the state of a folder on a device. Its texts name only devices that the caller may see.
func (a *App) folderStanding(ctx context.Context, s *fleet.Snapshot, folder string) fleet.FolderStanding {
	a.judgeFolders()
	standing := a.folders.Standing(s, folder, time.Now())
	registry := a.views.Of(ctx, a.registry())
	label := func(id fleet.DeviceID) string {
		if registry == nil {
			return ""
		}
		return registry.Label(id)
	}
	standing.Reason, standing.Next = fleet.WithNames(standing.Reason, label), fleet.WithNames(standing.Next, label)
	for i := range standing.Besides {
		found := &standing.Besides[i]
		found.Reason, found.Next = fleet.WithNames(found.Reason, label), fleet.WithNames(found.Next, label)
	}
	return standing
}

// folderHolders are connected devices that have what a device lacks of a folder, of those that the caller may know of.
func (a *App) folderHolders(ctx context.Context, s *fleet.Snapshot, folder string, most int) []fleet.DeviceID {
	registry := a.views.Of(ctx, a.registry())
	if registry == nil {
		return nil
	}
	return a.folders.Holders(s, folder, time.Now(), most,
		func(id fleet.DeviceID) bool { return registry.Devices[id] != nil })
}

// causes returns the causes for which a device waits for a person.
func (a *App) causes(state fleet.State, s *fleet.Snapshot) []fleet.WaitCause {
	if s == nil {
		return health.CausesOf(state, nil, false, false, nil)
	}
	now := time.Now()
	return health.CausesOf(state, s, a.folders.IsAwayTooLong(s, now), a.folders.IsStale(s, now),
		a.folders.Troubles(s.Device))
}
