package view

import (
	"context"
	"slices"
	"strings"

	"muster/internal/fleet"
)

const (
	maxMatrixDevices = 60
	maxMatrixFolders = 500
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

// Matrix shows folders by device. Devices and folders that exceed the largest matrix are only counted.
type Matrix struct {
	Devices                  []MatrixDevice
	Folders                  []MatrixFolder // sorted by ID
	MoreDevices, MoreFolders int
}

// MatrixDevice is a column.
type MatrixDevice struct {
	Device     *fleet.Registered
	Connection fleet.Connection
}

// MatrixFolder is a row.
type MatrixFolder struct {
	fleet.FolderLabel
	Cells []MatrixCell
}

// MatrixCell is the state of a folder on one device. A device without the folder has no cell.
type MatrixCell struct {
	Device  int // index in Matrix.Devices
	State   fleet.FolderState
	Current bool // the numbers of Summary describe the present
	Summary fleet.FolderSummary
}

// Matrix returns the matrix of the first devices that picks accepts and that have folders.
func (v *View) Matrix(registry *fleet.Registry, picks func(*fleet.Registered) bool) Matrix {
	var m Matrix
	rows := map[string]*MatrixFolder{}
	for _, device := range SortedDevices(registry) {
		if !picks(device) {
			continue
		}
		snapshot := v.Snapshot(device.ID)
		if snapshot == nil || len(snapshot.Folders) == 0 {
			continue
		}
		if len(m.Devices) == maxMatrixDevices {
			m.MoreDevices++
			continue
		}
		column := len(m.Devices)
		m.Devices = append(m.Devices, MatrixDevice{device, snapshot.Connection})
		for _, f := range snapshot.Folders {
			row := rows[f.Folder]
			if row == nil {
				row = &MatrixFolder{FolderLabel: f}
				rows[f.Folder] = row
			}
			row.Cells = append(row.Cells, v.matrixCell(column, snapshot, f.Folder))
		}
	}
	for _, row := range rows {
		m.Folders = append(m.Folders, *row)
	}
	slices.SortFunc(m.Folders, func(a, b MatrixFolder) int { return strings.Compare(a.Folder, b.Folder) })
	if m.MoreFolders = max(0, len(m.Folders)-maxMatrixFolders); m.MoreFolders > 0 {
		m.Folders = m.Folders[:maxMatrixFolders]
	}
	return m
}

func (v *View) matrixCell(column int, s *fleet.Snapshot, folder string) MatrixCell {
	cell := MatrixCell{Device: column, Summary: s.Summaries[folder]}
	cell.State, _ = v.FolderState(s, folder)
	cell.Current = cell.State.IsCurrent() && s.IsCurrent(folder) && !s.IsPaused(folder)
	return cell
}
