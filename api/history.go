package api

// History is the fleet in numbers over time. It has no points for the times at which the server did not run.
type History struct {
	Step   int            `json:"step" doc:"Seconds from one point to the next, where none is missing"`
	Points []HistoryPoint `json:"points" nullable:"false" doc:"Oldest first"`
}

// FolderHistory is a folder in numbers over time. Figures hold until the next point.
type FolderHistory struct {
	Step   int                  `json:"step" doc:"Seconds that a point is of: a minute or an hour"`
	Points []FolderHistoryPoint `json:"points" nullable:"false" doc:"Where the figures changed, oldest first. The first point has those that held when the day or the month began, where they are known"`
}

// FolderHistoryPoint is a folder in numbers from one moment on. For an hour they are the worst of it.
type FolderHistoryPoint struct {
	At          Time  `json:"at" format:"date-time" doc:"When the minute or hour began"`
	Devices     int   `json:"devices" doc:"That had the folder"`
	UpToDate    int   `json:"upToDate" doc:"Devices on which the folder was up to date; in an hour the fewest"`
	NeedBytes   int64 `json:"needBytes" doc:"Bytes that all devices lacked together, as last told; in an hour the most"`
	GlobalBytes int64 `json:"globalBytes" doc:"The size of the folder: the largest that a device told"`
}

// HistoryPoint is the fleet in numbers at one moment. For an hour these are the means of its minutes, and the largest
// numbers of waiting, problems and troubled.
type HistoryPoint struct {
	At        Time  `json:"at" format:"date-time" doc:"When the minute or hour began"`
	Devices   int   `json:"devices" doc:"That were registered"`
	Online    int   `json:"online" doc:"Devices that were online"`
	InSync    int   `json:"inSync" doc:"Whose configuration was in sync"`
	Waiting   int   `json:"waiting" doc:"That waited for a person"`
	NeedBytes int64 `json:"needBytes" doc:"Bytes that the folders of all devices lacked, as last told"`
	Problems  int   `json:"problems" doc:"That people were told of and that were not over"`
	Folders   int   `json:"folders" doc:"Folders on devices"`
	UpToDate  int   `json:"upToDate" doc:"Folders that were up to date on all devices"`
	Troubled  int   `json:"troubled" doc:"Devices with any trouble"`
}
