package api

// Overview is the fleet in numbers.
type Overview struct {
	Devices          int               `json:"devices" doc:"How many are registered"`
	Connections      map[string]int    `json:"connections" doc:"Devices by connection state; 0 for an empty state"`
	Configurations   map[string]int    `json:"configurations" doc:"Devices by configuration state; 0 for an empty state"`
	Folders          FolderCounts      `json:"folders" doc:"Each by the worst state on any of its devices"`
	DevicesByFolders FolderCounts      `json:"devicesByFolders" doc:"Devices that have folders, by the worst state of those"`
	Pending          OverviewOfPending `json:"pending" doc:"What asks to be let in"`
	Rollouts         []Rollout         `json:"rollouts" nullable:"false" doc:"Those that are not over, newest first"`
	Trouble          []Trouble         `json:"trouble" nullable:"false" doc:"What is wrong now with devices and folders, the worst kind first"`
	Troubled         int               `json:"troubled" doc:"Devices with any trouble"`
	Young            int               `json:"young" doc:"Devices with something that becomes trouble if it lasts longer than the settings troubleAfter and quietAfter allow, as GET inventory?waiting=young gives them; in no list of what waits"`
	Versions         map[string]int    `json:"versions" nullable:"false" doc:"Devices by version of Syncthing, the 20 with most devices"`
	NewestVersion    string            `json:"newestVersion" doc:"The newest release of Syncthing that any device runs which the caller may see; blank where none runs a release"`
	Outdated         int               `json:"outdated" doc:"Devices with an older version than the newest, as GET inventory?outdated=true gives them"`
	Problems         int               `json:"problems" doc:"That people were told of and that are not over"`
	Receivers        []Receiver        `json:"receivers" nullable:"false" doc:"Who is told of problems"`

	Stops     []ModeStop `json:"stops" nullable:"false" doc:"Why Muster does not write; the strictest wins. At most 100"`
	StopCount int        `json:"stopCount" doc:"How many stops there are; GET stops lists all"`
	Mode      string     `json:"mode" enum:"on,observe,paused" doc:"The stricter of the fleet's mode and the server's"`

	Impairments []Impairment           `json:"impairments" nullable:"false" doc:"Parts of the service that do not work"`
	Visited     int                    `json:"visited" doc:"Visited once a minute: too few files may be open"`
	Backup      *OverviewOfBackup      `json:"backup,omitempty" doc:"Absent without --backup-every"`
	Certificate *OverviewOfCertificate `json:"certificate,omitempty" doc:"Of this API; only there with TLS"`
	Restored    *OverviewOfRestore     `json:"restored,omitempty" doc:"After a restore: no writes until an admin resumes"`
	Generation  int64                  `json:"generation" doc:"Number of the last change"`
	Templates   int                    `json:"templates" doc:"How many there are"`
	Tags        int                    `json:"tags" doc:"How many there are"`
}

// Trouble is one kind of trouble, on all devices that have it. It stands for longer than --trouble-after, or than a
// device may be away.
type Trouble struct {
	Cause    string         `json:"cause" enum:"unreachable,folderStopped,driveMissing,diskNearlyFull,atRisk,failedItems,stalled,alone,disagree,outOfSync,localChanges,conflicts" doc:"What kind of trouble it is"`
	Severity string         `json:"severity" enum:"critical,warning,info" doc:"How bad it is"`
	Devices  int            `json:"devices" doc:"Devices that have it"`
	Folders  int            `json:"folders" doc:"Folders on these devices, each counted on each; 0 where it is about devices as a whole"`
	Since    *Time          `json:"since" format:"date-time" nullable:"true" doc:"Of the one that stands longest"`
	Tags     map[string]int `json:"tags" doc:"Devices by tag, of the 10 tags that most of them carry"`
	DeviceID string         `json:"deviceID" doc:"Where it stands longest"`
	Label    string         `json:"label" doc:"Of that device"`
	Folder   string         `json:"folder" doc:"Likewise; blank where it is about devices as a whole"`
	Reason   string         `json:"reason" doc:"Why, there; as the daemon says it where the daemon names a reason"`
	Next     string         `json:"next" doc:"What a person can do there"`
	Query    string         `json:"query" doc:"Picks these devices in GET inventory: waiting=folderStopped"`
}

// OverviewOfBackup describes the scheduled backups: the newest one, and why the last attempt failed.
type OverviewOfBackup struct {
	LastAt  *Time  `json:"lastAt" format:"date-time" nullable:"true" doc:"When the newest was read back; null: none yet"`
	File    string `json:"file" doc:"Its name, in the folder that the server was told"`
	Bytes   int64  `json:"bytes" doc:"Size of the last backup"`
	Trouble string `json:"trouble" doc:"Why the last attempt failed; blank when it did not"`
}

// OverviewOfCertificate is the certificate that new connections to the API are shown.
type OverviewOfCertificate struct {
	Fingerprint string `json:"fingerprint" doc:"SHA-256, as sha256:<hex>"`
	ExpiresAt   Time   `json:"expiresAt" format:"date-time" doc:"When the certificate ends"`
	Days        int    `json:"days" doc:"Whole days until then; negative when it has ended"`
	Stale       bool   `json:"stale" doc:"Its files hold something else that cannot be used"`
}

// OverviewOfRestore is what an admin has to know before a restored server writes to daemons.
type OverviewOfRestore struct {
	BackupAt  Time `json:"backupAt" format:"date-time" doc:"The moment that the backup is of"`
	At        Time `json:"at" format:"date-time" doc:"When it was restored"`
	Differing int  `json:"differing" doc:"Devices whose plans would change something"`
	Unknown   int  `json:"unknown" doc:"Devices whose configuration was not read since"`
}

// FolderCounts counts folders by the words for their states (upToDate, scanning, syncing, unshared, paused, unknown,
// behind, conflicts, localChanges, outOfSync, alone, disagree, stalled, failedItems, diskNearlyFull, driveMissing,
// stopped); "all" is their sum. A state that no folder is in is missing.
type FolderCounts map[string]int

// OverviewOfPending counts the devices and folders that ask to be let in.
type OverviewOfPending struct {
	Devices int `json:"devices" doc:"Devices that knock"`
	Folders int `json:"folders" doc:"Folders that are offered"`
}

// Receiver is the state of the messages to one receiver of problems.
type Receiver struct {
	Name    string `json:"name" doc:"Host of a webhook, or address of a mail"`
	Waiting int    `json:"waiting" doc:"Messages that were not delivered yet"`
	Trouble string `json:"trouble" doc:"Why the last attempt failed; blank when it did not"`
	Since   *Time  `json:"since" format:"date-time" doc:"Of the trouble; null when there is none"`
}

// Impairment is a part of the service that does not work as it should.
type Impairment struct {
	Part     string `json:"part" doc:"Part of the server that does not do its work"`
	Blocking bool   `json:"blocking" doc:"The service cannot do its work while it lasts, and /readyz answers 503"`
	Reason   string `json:"reason" doc:"Why, for a person"`
	Next     string `json:"next" doc:"What can be done"`
}

// FolderOverview is one folder with the numbers of the devices that have it in their current configuration.
type FolderOverview struct {
	Folder      string       `json:"folder" doc:"ID of the folder"`
	Label       string       `json:"label" doc:"The label that most devices use"`
	State       string       `json:"state" enum:"unknown,stopped,failedItems,paused,unshared,alone,outOfSync,localChanges,stalled,behind,syncing,driveMissing,diskNearlyFull,disagree,conflicts,scanning,upToDate" doc:"As in the folder's state"`
	Devices     FolderCounts `json:"devices" doc:"By the state that the folder is in on each"`
	GlobalBytes int64        `json:"globalBytes" doc:"The most that one device knows of"`
	NeedBytes   int64        `json:"needBytes" doc:"Missing bytes of all devices together whose figures are of now: at least these are missing"`
	NeedUnknown int          `json:"needUnknown" doc:"Devices whose figures are not of now: it is not known what they lack"`
}

// TagOverview is one tag with what carries it.
type TagOverview struct {
	Tag       string  `json:"tag" doc:"Name of the tag"`
	Devices   int     `json:"devices" doc:"How many devices carry it"`
	Templates []int64 `json:"templates" nullable:"false" doc:"IDs, in the order in which they apply"`
}
