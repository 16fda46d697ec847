package fleet

import "time"

// MaxFolderHistories is of how many folders figures over time are kept: of those that changed last.
const MaxFolderHistories = 1000

// FolderFigures are the numbers of a folder on all devices that have it.
type FolderFigures struct {
	Devices     int32
	UpToDate    int32 // devices on which the folder was up to date
	NeedBytes   int64 // bytes that the devices lacked together, as last reported
	GlobalBytes int64 // the largest size that a device reported
}

// Add adds the figures of one more device.
func (f *FolderFigures) Add(state FolderState, s FolderSummary) {
	f.Devices++
	if state == FolderUpToDate {
		f.UpToDate++
	}
	f.NeedBytes, f.GlobalBytes = AddBytes(f.NeedBytes, s.NeedBytes), max(f.GlobalBytes, s.GlobalBytes)
}

// Worst are the later of two figures, with the most bytes that were missing in either, and the fewest devices that were
// up to date.
func (f FolderFigures) Worst(later FolderFigures) FolderFigures {
	later.NeedBytes, later.UpToDate = max(f.NeedBytes, later.NeedBytes), min(f.UpToDate, later.UpToDate)
	return later
}

// FolderPoint are the figures of a folder from a minute or an hour on. They hold until the next point.
type FolderPoint struct {
	Folder string
	At     time.Time // when the minute or hour began
	FolderFigures
}

// FolderHistoryEnd is the last point of each step that is kept of a folder.
type FolderHistoryEnd struct {
	Folder       string
	Minute, Hour FolderPoint
}

// FolderHistoryEdit is what one minute adds to the figures of folders over time. Folders are forgotten first.
type FolderHistoryEdit struct {
	Forget         []string
	Minutes, Hours []FolderPoint
}

// IsEmpty reports whether an edit changes nothing.
func (e FolderHistoryEdit) IsEmpty() bool { return len(e.Forget)+len(e.Minutes)+len(e.Hours) == 0 }
