package view

import (
	"context"
	"slices"
	"strings"

	"muster/internal/fleet"
)

const (
	// MaxMatrixDevices and MaxMatrixFolders are the columns and rows of the largest matrix.
	MaxMatrixDevices = 60
	MaxMatrixFolders = 500
)

// MatrixQuery says which part of the matrix a reader asks for.
type MatrixQuery struct {
	Devices     Query  // selects and orders the columns; devices without folders have none
	Folder      string // text in the ID or label of the folders, lower case; "": all folders
	FolderLimit int    // 0: MaxMatrixFolders
	FolderStart int    // number of folders to leave out
}

// Matrix shows folders by device.
type Matrix struct {
	Devices        []MatrixDevice
	Folders        []MatrixFolder // sorted by ID
	MatchedDevices int            // devices that the query selects, also those that are left out
	MatchedFolders int            // folders of the devices in Devices that the query selects, likewise
	Next           int            // offset of the devices that come next; 0: there are no more
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

// Matrix returns the part of the matrix that a query asks for. registry is the one of the caller's scope.
func (v *View) Matrix(ctx context.Context, registry *fleet.Registry, q MatrixQuery) (Matrix, error) {
	all, err := v.Rows(ctx, registry)
	if err != nil {
		return Matrix{}, err
	}
	rows := make([]*Row, 0, len(all))
	q.Devices, _ = q.Devices.among(all)
	for _, row := range all {
		if row.Folders.All() > 0 && q.Devices.Picks(row) {
			rows = append(rows, row)
		}
	}
	q.Devices.order(rows)
	m := Matrix{MatchedDevices: len(rows)}
	first := min(q.Devices.Offset, len(rows))
	end := min(first+matrixLimit(q.Devices.Limit, MaxMatrixDevices), len(rows))
	if end < len(rows) {
		m.Next = end
	}
	m.Folders = v.matrixFolders(&m, rows[first:end], q.Folder)
	m.MatchedFolders = len(m.Folders)
	m.Folders = m.Folders[min(q.FolderStart, len(m.Folders)):]
	m.Folders = m.Folders[:min(len(m.Folders), matrixLimit(q.FolderLimit, MaxMatrixFolders))]
	return m, nil
}

func matrixLimit(asked, most int) int {
	if asked == 0 {
		return most
	}
	return min(asked, most)
}

// matrixFolders adds the columns of some rows to a matrix and returns their folders, sorted by ID.
func (v *View) matrixFolders(m *Matrix, devices []*Row, search string) []MatrixFolder {
	rows := map[string]*MatrixFolder{}
	for _, device := range devices {
		snapshot := v.Snapshot(device.Device.ID)
		if snapshot == nil {
			continue // deleted since
		}
		column := len(m.Devices)
		m.Devices = append(m.Devices, MatrixDevice{device.Device, snapshot.Connection})
		for _, f := range snapshot.Folders {
			if !strings.Contains(strings.ToLower(f.Folder+"\n"+f.Label), search) {
				continue
			}
			row := rows[f.Folder]
			if row == nil {
				row = &MatrixFolder{FolderLabel: f}
				rows[f.Folder] = row
			}
			row.Cells = append(row.Cells, v.matrixCell(column, snapshot, f.Folder))
		}
	}
	folders := make([]MatrixFolder, 0, len(rows))
	for _, row := range rows {
		folders = append(folders, *row)
	}
	slices.SortFunc(folders, func(a, b MatrixFolder) int { return strings.Compare(a.Folder, b.Folder) })
	return folders
}

func (v *View) matrixCell(column int, s *fleet.Snapshot, folder string) MatrixCell {
	cell := MatrixCell{Device: column, Summary: s.Summaries[folder]}
	cell.State, _ = v.FolderState(s, folder)
	cell.Current = cell.State.IsCurrent() && s.IsCurrent(folder) && !s.IsPaused(folder)
	return cell
}
