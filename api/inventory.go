package api

// Inventory is every device with what a table of the fleet shows, in one answer.
type Inventory struct {
	Total    int               `json:"total" doc:"Devices that the caller may see"`
	Matched  int               `json:"matched" doc:"Devices that the filters pick, on all pages"`
	Counts   InventoryCounts   `json:"counts" doc:"How many devices are in each state"`
	Outdated OutdatedVersions  `json:"outdated" doc:"Versions of which a newer one runs in the fleet or is known"`
	Devices  []InventoryDevice `json:"devices" nullable:"false" doc:"Of this page, sorted by label unless sort says otherwise"`
}

// OutdatedVersions says which versions of Syncthing are older than the newest that the caller's devices run, whatever
// the filters are.
type OutdatedVersions struct {
	Newest          string   `json:"newest" doc:"The newest release; blank where no device runs a release"`
	NewestCandidate string   `json:"newestCandidate" doc:"The newest release candidate that is newer than the newest release; blank without one. Only candidates are compared with it"`
	Versions        []string `json:"versions" nullable:"false" doc:"Versions that are outdated, the oldest first"`
}

// InventoryCounts is how many devices have each value that a filter takes. Each map counts the devices that all other
// filters pick, so that it says what another choice in this filter would give. A value that no device has is missing.
type InventoryCounts struct {
	Connections    map[string]int `json:"connections" doc:"By connection; filter: state"`
	Configurations map[string]int `json:"configurations" doc:"By configuration; filter: state"`
	FolderStates   map[string]int `json:"folderStates" doc:"Devices with a folder in this state; filter: folderState"`
	Versions       map[string]int `json:"versions" doc:"By version of Syncthing, blank before first contact; filter: version"`
	OS             map[string]int `json:"os" doc:"By operating system, blank before first contact; filter: os"`
	Tags           map[string]int `json:"tags" doc:"By tag; of the devices that carry every tag of the filter; filter: tag"`
	Waiting        map[string]int `json:"waiting" doc:"By cause; any: at least one cause, none: no cause; filter: waiting"`

	Outdated int `json:"outdated" doc:"Devices with an outdated version; filter: outdated"`
}

// InventoryDevice is one row of the inventory.
type InventoryDevice struct {
	DeviceID      string       `json:"deviceID" doc:"Of the device"`
	Label         string       `json:"label" doc:"Of the device; blank: it has none"`
	Tags          []string     `json:"tags" nullable:"false" doc:"Sorted"`
	Connection    string       `json:"connection" enum:"neverSeen,online,unreachable,keyRefused,identityMismatch,pinMismatch,notFound,unconfirmed,cloned" doc:"State of the connection"`
	Configuration string       `json:"configuration" enum:"unknown,unmanaged,inSync,pending,applying,held,failed,contended,unstable" doc:"State of the configuration"`
	Mode          string       `json:"mode" enum:"on,observe,paused" doc:"The strictest of the server's, the fleet's, its tags' and its own"`
	Reason        string       `json:"reason" doc:"Why the state is what it is"`
	Next          string       `json:"next" doc:"What happens next, or what a person can do"`
	Since         *Time        `json:"since" format:"date-time" nullable:"true" doc:"When the state began"`
	LastSeen      *Time        `json:"lastSeen" format:"date-time" nullable:"true" doc:"null: never. Of a device that is online: as of the last change of its row"`
	Version       string       `json:"version" doc:"Of Syncthing, as in v2.1.3; blank before first contact"`
	OS            string       `json:"os" doc:"linux, windows, darwin, ...; blank before first contact"`
	Arch          string       `json:"arch" doc:"amd64, arm64, ...; blank before first contact"`
	Address       string       `json:"address" doc:"host:port last used; blank when none is known"`
	FoundBy       string       `json:"foundBy" doc:"The way of reaching: where the address came from, as in the state"`
	Folders       FolderCounts `json:"folders" doc:"By state"`
	DiskFree      *int         `json:"diskFree" nullable:"true" doc:"Percent that is free of its fullest disk, as its agent tells it; null: not known"`
	NeedBytes     int64        `json:"needBytes" doc:"Bytes that its folders still lack, as last told"`
	NeedUnknown   int          `json:"needUnknown" doc:"Folders whose figures are not of now: it is not known what they lack"`
	Waits         []string     `json:"waits" nullable:"false" enum:"held,failed,contended,unstable,pinMismatch,identityMismatch,keyRefused,unconfirmed,cloned,broughtBack,pendingDevice,pendingFolder,unreachable,stale,folderStopped,driveMissing,diskNearlyFull,atRisk,failedItems,stalled,alone,disagree,outOfSync,localChanges,conflicts" doc:"Why the device waits for a person"`
}
