package api

// Folder is one folder of the fleet.
type Folder struct {
	Folder string `json:"folder" doc:"ID of the folder"`
	Label  string `json:"label" doc:"The label that most devices use"`
}

// FolderSummary is one device's numbers of one folder, as its daemon counts them: global is the newest state that it
// knows of from all devices, local what it has, need what it still lacks. Daemons before 2.0 count 128 bytes for every
// directory and symlink.
type FolderSummary struct {
	Device            string `json:"device" doc:"ID of the device whose numbers these are"`
	Folder            string `json:"folder" doc:"ID of the folder"`
	CreatedAt         Time   `json:"createdAt" format:"date-time" doc:"When the device was first seen with the folder"`
	UpdatedAt         Time   `json:"updatedAt" format:"date-time" doc:"When the daemon last said so"`
	GlobalBytes       int64  `json:"globalBytes" doc:"Bytes"`
	GlobalDeleted     int64  `json:"globalDeleted" doc:"Items that were there once"`
	GlobalDirectories int64  `json:"globalDirectories"`
	GlobalFiles       int64  `json:"globalFiles"`
	GlobalSymlinks    int64  `json:"globalSymlinks"`
	LocalBytes        int64  `json:"localBytes" doc:"Bytes"`
	LocalDeleted      int64  `json:"localDeleted"`
	LocalDirectories  int64  `json:"localDirectories"`
	LocalFiles        int64  `json:"localFiles"`
	LocalSymlinks     int64  `json:"localSymlinks"`
	InSyncBytes       int64  `json:"inSyncBytes" doc:"Bytes"`
	InSyncFiles       int64  `json:"inSyncFiles"`
	NeedBytes         int64  `json:"needBytes" doc:"Bytes"`
	NeedDeletes       int64  `json:"needDeletes" doc:"Items still to be deleted here"`
	NeedDirectories   int64  `json:"needDirectories"`
	NeedFiles         int64  `json:"needFiles"`
	NeedSymlinks      int64  `json:"needSymlinks"`
	IgnorePatterns    bool   `json:"ignorePatterns" doc:"The folder has ignore patterns there"`
	Sequence          int64  `json:"sequence" doc:"Grows with every change; each device counts for itself"`
	Version           int64  `json:"version" doc:"The same as sequence"`
}
