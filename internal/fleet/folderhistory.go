package fleet

import "time"

// MaxFolderHistories is the number of folders whose figures over time are stored: those that changed last.
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

// Worst returns the later figures, but with the larger number of missing bytes and the smaller number of devices that
// are up to date. It combines points that fall into the same minute or hour.
func (f FolderFigures) Worst(later FolderFigures) FolderFigures {
	later.NeedBytes, later.UpToDate = max(f.NeedBytes, later.NeedBytes), min(f.UpToDate, later.UpToDate)
	return later
}

// FolderPoint has the figures of a folder from a minute or an hour on. They are valid until the next point.
type FolderPoint struct {
	Folder string
	At     time.Time // beginning of the minute or hour
	FolderFigures
}

// FolderHistoryEnd has the newest stored point of a folder in minutes and in hours.
type FolderHistoryEnd struct {
	Folder       string
	Minute, Hour FolderPoint
}

// FolderHistoryEdit is what one minute adds to the stored figures of folders. The store deletes the folders in Forget
// before it adds points.
type FolderHistoryEdit struct {
	Forget         []string
	Minutes, Hours []FolderPoint
}

// IsEmpty reports whether an edit changes nothing.
func (e FolderHistoryEdit) IsEmpty() bool { return len(e.Forget)+len(e.Minutes)+len(e.Hours) == 0 }
