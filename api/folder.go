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
	GlobalDirectories int64  `json:"globalDirectories" doc:"Directories of the folder on all devices together"`
	GlobalFiles       int64  `json:"globalFiles" doc:"Files of the folder on all devices together"`
	GlobalSymlinks    int64  `json:"globalSymlinks" doc:"Symbolic links of the folder on all devices together"`
	LocalBytes        int64  `json:"localBytes" doc:"Bytes"`
	LocalDeleted      int64  `json:"localDeleted" doc:"Deleted items that the device remembers"`
	LocalDirectories  int64  `json:"localDirectories" doc:"Directories that the device has"`
	LocalFiles        int64  `json:"localFiles" doc:"Files that the device has"`
	LocalSymlinks     int64  `json:"localSymlinks" doc:"Symbolic links that the device has"`
	InSyncBytes       int64  `json:"inSyncBytes" doc:"Bytes"`
	InSyncFiles       int64  `json:"inSyncFiles" doc:"Files that the device has as all devices together have them"`
	NeedBytes         int64  `json:"needBytes" doc:"Bytes"`
	NeedDeletes       int64  `json:"needDeletes" doc:"Items still to be deleted here"`
	NeedDirectories   int64  `json:"needDirectories" doc:"Directories that the device still has to get"`
	NeedFiles         int64  `json:"needFiles" doc:"Files that the device still has to get"`
	NeedSymlinks      int64  `json:"needSymlinks" doc:"Symbolic links that the device still has to get"`
	IgnorePatterns    bool   `json:"ignorePatterns" doc:"The folder has ignore patterns there"`
	Sequence          int64  `json:"sequence" doc:"Grows with every change; each device counts for itself"`
	Version           int64  `json:"version" doc:"The same as sequence"`
}

// FolderShare is how one device shares a folder, by the configuration that it was last seen with.
type FolderShare struct {
	DeviceID string      `json:"deviceID" doc:"Of the device"`
	Label    string      `json:"label" doc:"Of the device; blank: it has none"`
	Known    bool        `json:"known" doc:"Its configuration was read and has the folder; else the rest is blank"`
	Type     string      `json:"type" doc:"sendreceive, sendonly, receiveonly, receiveencrypted"`
	Path     string      `json:"path" doc:"Of the folder on the device"`
	Paused   bool        `json:"paused" doc:"Whether it is paused there"`
	Peers    []SharePeer `json:"peers" nullable:"false" doc:"Other devices that it shares the folder with, or the first of them where a limit was asked for"`

	PeerCount      int `json:"peerCount" doc:"All devices that it shares the folder with, and that the parameter side picks"`
	ConnectedCount int `json:"connectedCount" doc:"Of those, devices that are connected to it"`
}

// SharePeer is a device that a folder is shared with.
type SharePeer struct {
	DeviceID  string `json:"deviceID" doc:"Of the device"`
	Label     string `json:"label" doc:"Blank where it is not registered"`
	Encrypted bool   `json:"encrypted" doc:"It gets the folder encrypted"`
	Connected string `json:"connected" enum:"yes,no,unknown" doc:"Whether the two daemons are connected; unknown: the device is not online"`
	Side      string `json:"side" enum:"both,onlyHere,unmanaged,unknown" doc:"both: the peer shares it, too. onlyHere: the peer does not. unmanaged: the peer is not registered. unknown: its configuration was never read, or too many were read for this answer"`
}

// OneSidedShare is a share that one side has and the other one does not: nothing is exchanged by it. Both sides are
// registered devices; their configurations are those that they were last seen with.
type OneSidedShare struct {
	Folder      string `json:"folder" doc:"ID of the folder"`
	FolderLabel string `json:"folderLabel" doc:"The label that most devices use"`
	DeviceID    string `json:"deviceID" doc:"Shares the folder with the peer"`
	Label       string `json:"label" doc:"Of the device that has the share"`
	PeerID      string `json:"peerID" doc:"Does not share it back, or does not have the folder"`
	PeerLabel   string `json:"peerLabel" doc:"Of the device that does not have it"`
}

// FolderMatrix is how folders are on some devices.
type FolderMatrix struct {
	Devices        []MatrixDevice `json:"devices" nullable:"false" doc:"The columns, in the order that was asked for"`
	MatchedDevices int            `json:"matchedDevices" doc:"Devices with a folder that the filters pick"`
	MoreDevices    int            `json:"moreDevices" doc:"Of those, devices that are not in this answer"`
	Folders        []MatrixFolder `json:"folders" nullable:"false" doc:"The rows: those that one of the devices has, sorted"`
	MatchedFolders int            `json:"matchedFolders" doc:"Folders of the devices in this answer that the search picks"`
	MoreFolders    int            `json:"moreFolders" doc:"Of those, folders that are not in this answer"`
}

// MatrixDevice is a column of a FolderMatrix.
type MatrixDevice struct {
	DeviceID   string `json:"deviceID" doc:"Of the device"`
	Label      string `json:"label" doc:"Of the device; blank: it has none"`
	Connection string `json:"connection" doc:"State of the connection"`
}

// MatrixFolder is a row of a FolderMatrix.
type MatrixFolder struct {
	Folder string       `json:"folder" doc:"ID of the folder"`
	Label  string       `json:"label" doc:"That the first of the devices uses"`
	Cells  []MatrixCell `json:"cells" nullable:"false" doc:"Of the devices that have the folder"`
}

// MatrixCell is one folder on one device.
type MatrixCell struct {
	Device     int    `json:"device" doc:"Index of the column"`
	State      string `json:"state" enum:"unknown,stopped,failedItems,paused,unshared,alone,outOfSync,localChanges,stalled,behind,syncing,driveMissing,diskNearlyFull,disagree,conflicts,scanning,upToDate" doc:"State of the folder there"`
	Completion *int   `json:"completion" nullable:"true" minimum:"0" maximum:"100" doc:"Percent, 100 only where nothing is missing; null where the numbers are not about now: the folder is unknown, stopped, paused, unshared or alone"`
	NeedBytes  int64  `json:"needBytes" doc:"As last told"`
}
