package api

// Folder is one folder of the fleet.
type Folder struct {
	Folder string `json:"folder"`
	Label  string `json:"label" doc:"The label that most devices use"`
}

// FolderSummary is one device's numbers of one folder.
type FolderSummary struct {
	Device            string `json:"device"`
	Folder            string `json:"folder"`
	CreatedAt         Time   `json:"createdAt" format:"date-time"`
	UpdatedAt         Time   `json:"updatedAt" format:"date-time"`
	GlobalBytes       int64  `json:"globalBytes"`
	GlobalDeleted     int64  `json:"globalDeleted"`
	GlobalDirectories int64  `json:"globalDirectories"`
	GlobalFiles       int64  `json:"globalFiles"`
	GlobalSymlinks    int64  `json:"globalSymlinks"`
	LocalBytes        int64  `json:"localBytes"`
	LocalDeleted      int64  `json:"localDeleted"`
	LocalDirectories  int64  `json:"localDirectories"`
	LocalFiles        int64  `json:"localFiles"`
	LocalSymlinks     int64  `json:"localSymlinks"`
	InSyncBytes       int64  `json:"inSyncBytes"`
	InSyncFiles       int64  `json:"inSyncFiles"`
	NeedBytes         int64  `json:"needBytes"`
	NeedDeletes       int64  `json:"needDeletes"`
	NeedDirectories   int64  `json:"needDirectories"`
	NeedFiles         int64  `json:"needFiles"`
	NeedSymlinks      int64  `json:"needSymlinks"`
	IgnorePatterns    bool   `json:"ignorePatterns"`
	Sequence          int64  `json:"sequence"`
	Version           int64  `json:"version"`
}
