package view

import (
	"context"

	"muster/internal/fleet"
)

// FolderOverview has the numbers of one folder on all its devices.
type FolderOverview struct {
	fleet.FolderLabel
	State       fleet.FolderState // The folder's state in the fleet.
	Devices     fleet.FolderCounts
	GlobalBytes int64 // largest size that a device reports
	Lack
}

// Lack is what several devices lack of a folder together.
type Lack struct {
	NeedBytes int64 // missing bytes on the devices whose figures describe the present
	Unknown   int   // devices whose figures do not: what they lack is not known
}

// add adds what one device lacks. isCurrent says that its figures describe the present.
func (l *Lack) add(needBytes int64, isCurrent bool) {
	if isCurrent {
		l.NeedBytes = fleet.AddBytes(l.NeedBytes, needBytes)
	} else {
		l.Unknown++
	}
}

// stateInFleet returns the state of a folder from its states on the devices: the worst of them, and at least
// FolderDisagree when some devices disagree about the folder.
func stateInFleet(devices fleet.FolderCounts, disagree bool) fleet.FolderState {
	if worst := devices.Worst(); !disagree || worst > fleet.FolderDisagree {
		return worst
	}
	return fleet.FolderDisagree
}

// FolderOverviews returns an entry for each folder of the caller's scope, sorted by ID.
func (v *View) FolderOverviews(ctx context.Context, registry *fleet.Registry) ([]FolderOverview, error) {
	folders, _, err := v.Folders(ctx, registry)
	if err != nil {
		return nil, err
	}
	all := make([]FolderOverview, len(folders))
	byID, disagree := make(map[string]*FolderOverview, len(folders)), map[string]bool{}
	for i, f := range folders {
		all[i].FolderLabel = f
		byID[f.Folder] = &all[i]
	}
	for id := range registry.Devices {
		snapshot := v.Snapshot(id)
		if snapshot == nil {
			continue
		}
		for _, f := range snapshot.Folders {
			if o := byID[f.Folder]; o != nil {
				summary := snapshot.Summaries[f.Folder]
				state, disagrees := v.FolderState(snapshot, f.Folder)
				o.Devices.Add(state, 1)
				if disagrees {
					disagree[f.Folder] = true
				}
				o.GlobalBytes = max(o.GlobalBytes, summary.GlobalBytes)
				o.add(summary.NeedBytes, state.IsCurrent() && !snapshot.IsPaused(f.Folder))
			}
		}
	}
	for i := range all {
		all[i].State = stateInFleet(all[i].Devices, disagree[all[i].Folder])
	}
	return all, nil
}
