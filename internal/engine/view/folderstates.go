package view

import (
	"cmp"
	"context"
	"slices"

	"muster/internal/fleet"
)

const (
	maxShownBehind = 20 // devices that lack something
	maxHolders     = 10 // devices that have what a device lacks
	maxConflicting = 20 // devices that report conflicts
)

// StandingOn is the state of a folder on a registered device.
type StandingOn struct {
	fleet.FolderStanding
	Device     *fleet.Registered
	Connection fleet.Connection
}

// DeviceStandings returns the state of each folder of a device's configuration, ordered by folder ID. Reasons name
// only devices of the caller's scope.
func (v *View) DeviceStandings(ctx context.Context, id fleet.DeviceID) []fleet.FolderStanding {
	snapshot := v.Snapshot(id)
	if snapshot == nil {
		return nil
	}
	all := make([]fleet.FolderStanding, 0, len(snapshot.Folders))
	for _, f := range snapshot.Folders {
		all = append(all, v.FolderStanding(ctx, snapshot, f.Folder))
		v.ViewFolder(id, f.Folder)
	}
	slices.SortStableFunc(all, func(a, b fleet.FolderStanding) int { return cmp.Compare(a.Folder, b.Folder) })
	return slices.CompactFunc(all, func(a, b fleet.FolderStanding) bool { return a.Folder == b.Folder })
}

// Standing returns the state of a folder on a device, or the zero value when the device is not registered.
func (v *View) Standing(ctx context.Context, id fleet.DeviceID, folder string) fleet.FolderStanding {
	if snapshot := v.Snapshot(id); snapshot != nil {
		return v.FolderStanding(ctx, snapshot, folder)
	}
	return fleet.FolderStanding{}
}

// Explain adds to paused folders who paused them, which it reads from the database, once for all.
func (v *View) Explain(ctx context.Context, standings ...*fleet.FolderStanding) {
	paused := slices.DeleteFunc(slices.Clone(standings),
		func(one *fleet.FolderStanding) bool { return one.State != fleet.FolderPaused })
	if len(paused) > 0 && v.PausedBy != nil {
		v.PausedBy(ctx, paused)
	}
}

// Holders returns the devices that are connected to a device and have what it lacks of a folder.
func (v *View) Holders(ctx context.Context, id fleet.DeviceID, folder string) []fleet.DeviceID {
	if snapshot := v.Snapshot(id); snapshot != nil && v.FolderHolders != nil {
		return v.FolderHolders(ctx, snapshot, folder, maxHolders)
	}
	return nil
}

// ViewFolder records that somebody views a folder of a device.
func (v *View) ViewFolder(id fleet.DeviceID, folder string) {
	if v.ViewFolders != nil {
		v.ViewFolders(id, folder)
	}
}

// FolderStandings returns the state of a folder on each device of a registry that has it, ordered by label, then ID.
// registry is the one of the caller's scope.
func (v *View) FolderStandings(ctx context.Context, registry *fleet.Registry, folder string) []StandingOn {
	devices := v.DevicesWith(registry, folder)
	all := make([]StandingOn, 0, len(devices))
	for _, device := range devices {
		if snapshot := v.Snapshot(device.ID); snapshot != nil {
			all = append(all, StandingOn{v.FolderStanding(ctx, snapshot, folder), device, snapshot.Connection})
		}
	}
	return all
}

// FleetFolder is one folder on all its devices.
type FleetFolder struct {
	fleet.FolderLabel
	// Worst is the first device whose state is the worst.
	Worst StandingOn
	// Disagree says why the devices disagree about the folder. It is nil when they agree, or when a device is in a worse
	// state.
	Disagree    *fleet.FolderFinding
	Devices     fleet.FolderCounts
	GlobalBytes int64
	Lack
	// Behind are at most maxShownBehind devices that lack something, those that lack the most bytes first.
	Behind      []StandingOn
	BehindCount int
	Failed      int64 // items that the devices could not sync
	// Conflicting are at most maxConflicting devices that report conflicts, those with the most files first.
	Conflicting      []StandingOn
	ConflictingCount int
}

// FleetFolder sums up the states of a folder on the devices of a registry. It returns not_found when none of them has
// the folder.
func (v *View) FleetFolder(ctx context.Context, registry *fleet.Registry, folder string) (FleetFolder, error) {
	out := FleetFolder{FolderLabel: fleet.FolderLabel{Folder: folder}}
	standings := v.FolderStandings(ctx, registry, folder)
	if len(standings) == 0 {
		return out, fleet.NotFoundf("no device has the folder")
	}
	folders, _, err := v.Folders(ctx, registry)
	if err != nil {
		return out, err
	}
	if at, found := slices.BinarySearchFunc(folders, folder, func(f fleet.FolderLabel, id string) int {
		return cmp.Compare(f.Folder, id)
	}); found {
		out.Label = folders[at].Label
	}
	out.Worst = slices.MaxFunc(standings, compareTrouble)
	out.addTroubles(standings)
	for _, one := range standings {
		if found := one.Finding(fleet.WaitDisagree); found != nil && out.Worst.State <= fleet.FolderDisagree &&
			(out.Disagree == nil || found.Since.Before(out.Disagree.Since)) {
			out.Disagree = found
		}
		out.Devices.Add(one.State, 1)
		out.GlobalBytes = max(out.GlobalBytes, one.Progress.GlobalBytes)
		out.add(one.Progress.NeedBytes, one.State.IsCurrent() && !one.Paused)
		if one.Progress.Lacks() {
			out.Behind = append(out.Behind, one)
		}
	}
	slices.SortStableFunc(out.Behind, func(a, b StandingOn) int {
		return cmp.Compare(b.Progress.NeedBytes, a.Progress.NeedBytes)
	})
	out.BehindCount = len(out.Behind)
	out.Behind = out.Behind[:min(len(out.Behind), maxShownBehind)]
	return out, nil
}

// addTroubles adds the items that the devices could not sync, and their conflicts.
func (f *FleetFolder) addTroubles(standings []StandingOn) {
	for _, one := range standings {
		f.Failed = fleet.AddBytes(f.Failed, max(one.Failed, 0))
		if one.Conflicts.Files > 0 || one.Conflicts.Counted > 0 {
			f.Conflicting = append(f.Conflicting, one)
		}
	}
	slices.SortStableFunc(f.Conflicting, func(a, b StandingOn) int {
		return cmp.Compare(b.Conflicts.Files, a.Conflicts.Files)
	})
	f.ConflictingCount = len(f.Conflicting)
	f.Conflicting = f.Conflicting[:min(len(f.Conflicting), maxConflicting)]
}

// compareTrouble orders by state, the better first. Among equal states the one that began last comes first.
func compareTrouble(a, b StandingOn) int {
	return cmp.Or(cmp.Compare(a.State, b.State), cmp.Compare(unixOf(b), unixOf(a)))
}

// unixOf returns when a state began. An unknown time counts as the latest.
func unixOf(s StandingOn) int64 {
	if s.Since.IsZero() {
		return 1<<63 - 1
	}
	return s.Since.UnixMilli()
}
