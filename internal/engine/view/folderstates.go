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
)

// StandingOn is how a folder stands on a registered device.
type StandingOn struct {
	fleet.FolderStanding
	Device *fleet.Registered
}

// DeviceStandings are how the folders of a device's configuration stand there, by folder. Reasons name devices of the
// caller's scope only.
func (v *View) DeviceStandings(ctx context.Context, id fleet.DeviceID) []fleet.FolderStanding {
	snapshot := v.Snapshot(id)
	if snapshot == nil {
		return nil
	}
	all := make([]fleet.FolderStanding, 0, len(snapshot.Folders))
	for _, f := range snapshot.Folders {
		all = append(all, v.FolderStanding(ctx, snapshot, f.Folder))
		v.Looked(id, f.Folder)
	}
	slices.SortStableFunc(all, func(a, b fleet.FolderStanding) int { return cmp.Compare(a.Folder, b.Folder) })
	return slices.CompactFunc(all, func(a, b fleet.FolderStanding) bool { return a.Folder == b.Folder })
}

// Standing is how a folder stands on a device; the zero value where the device is not watched.
func (v *View) Standing(ctx context.Context, id fleet.DeviceID, folder string) fleet.FolderStanding {
	if snapshot := v.Snapshot(id); snapshot != nil {
		return v.FolderStanding(ctx, snapshot, folder)
	}
	return fleet.FolderStanding{}
}

// Explained is a standing with what the database knows of it besides: by whom the folder is paused.
func (v *View) Explained(ctx context.Context, standing fleet.FolderStanding) fleet.FolderStanding {
	if standing.State != fleet.FolderPaused || v.PausedBy == nil {
		return standing
	}
	if snapshot := v.Snapshot(standing.Device); snapshot != nil {
		return v.PausedBy(ctx, snapshot, standing)
	}
	return standing
}

// Holders are devices connected to a device that have what it lacks of a folder.
func (v *View) Holders(ctx context.Context, id fleet.DeviceID, folder string) []fleet.DeviceID {
	if snapshot := v.Snapshot(id); snapshot != nil && v.FolderHolders != nil {
		return v.FolderHolders(ctx, snapshot, folder, maxHolders)
	}
	return nil
}

// Looked notes that somebody looks at a folder of a device.
func (v *View) Looked(id fleet.DeviceID, folder string) {
	if v.Look != nil {
		v.Look(id, folder)
	}
}

// FolderStandings are how a folder stands on each device of a registry that has it, by label, then ID. registry is the
// one of the caller's scope.
func (v *View) FolderStandings(ctx context.Context, registry *fleet.Registry, folder string) []StandingOn {
	devices := v.DevicesWith(registry, folder)
	all := make([]StandingOn, 0, len(devices))
	for _, device := range devices {
		if snapshot := v.Snapshot(device.ID); snapshot != nil {
			all = append(all, StandingOn{v.FolderStanding(ctx, snapshot, folder), device})
		}
	}
	return all
}

// FleetFolder is one folder on all its devices.
type FleetFolder struct {
	fleet.FolderLabel
	// Worst is the first of those in the worst state.
	Worst StandingOn
	// Disagree is why the devices disagree about the folder, where they do and no device is in a worse state.
	Disagree    *fleet.FolderFinding
	Devices     fleet.FolderCounts
	GlobalBytes int64
	NeedBytes   int64
	// Behind are devices that lack something, the most bytes first, and at most maxShownBehind.
	Behind      []StandingOn
	BehindCount int
}

// FleetFolder sums up how a folder stands on the devices of a registry; not_found where none of them has it.
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
	for _, one := range standings {
		if found := one.Finding(fleet.WaitDisagree); found != nil && out.Worst.State <= fleet.FolderDisagree &&
			(out.Disagree == nil || found.Since.Before(out.Disagree.Since)) {
			out.Disagree = found
		}
		out.Devices.Add(one.State, 1)
		out.GlobalBytes = max(out.GlobalBytes, one.Progress.GlobalBytes)
		out.NeedBytes = fleet.AddBytes(out.NeedBytes, one.Progress.NeedBytes)
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

// compareTrouble orders by state, the better first; of the same state the one that began last is first.
func compareTrouble(a, b StandingOn) int {
	return cmp.Or(cmp.Compare(a.State, b.State), cmp.Compare(unixOf(b), unixOf(a)))
}

// unixOf is when a state began. What is not known began last.
func unixOf(s StandingOn) int64 {
	if s.Since.IsZero() {
		return 1<<63 - 1
	}
	return s.Since.UnixMilli()
}
