package api

// FolderStanding is how one folder stands on one device: one state, why, and the figures beside it. Figures are of the
// present only where state is not unknown; asOf says how old they are.
type FolderStanding struct {
	DeviceID    string       `json:"deviceID" doc:"Of the device"`
	Label       string       `json:"label" doc:"Label of the device; blank in the list of one device"`
	Connection  string       `json:"connection" enum:",neverSeen,online,unreachable,keyRefused,identityMismatch,pinMismatch,notFound,unconfirmed,cloned" doc:"Connection of the device; blank in the list of one device"`
	Folder      string       `json:"folder" doc:"ID of the folder"`
	State       string       `json:"state" enum:"unknown,stopped,failedItems,paused,unshared,alone,outOfSync,localChanges,stalled,behind,syncing,driveMissing,diskNearlyFull,disagree,conflicts,scanning,upToDate" doc:"The first of this order that holds"`
	Last        string       `json:"last" enum:",stopped,failedItems,paused,unshared,alone,outOfSync,localChanges,stalled,behind,syncing,driveMissing,diskNearlyFull,disagree,conflicts,scanning,upToDate" doc:"The state that was known last, while state is unknown; blank otherwise"`
	Trouble     bool         `json:"trouble" doc:"A person should look at it"`
	Reason      string       `json:"reason" doc:"Why the state is what it is"`
	Next        string       `json:"next" doc:"What a person can do; may be blank"`
	Since       *Time        `json:"since" format:"date-time" nullable:"true" doc:"When the state began; null: not known"`
	AsOf        *Time        `json:"asOf" format:"date-time" nullable:"true" doc:"When the daemon gave the figures; null: never"`
	Type        string       `json:"type" enum:",sendreceive,sendonly,receiveonly,receiveencrypted" doc:"Blank while it is not known"`
	Paused      bool         `json:"paused" doc:"The folder is paused, by the configuration of the device"`
	GlobalBytes int64        `json:"globalBytes" doc:"Bytes of the folder's newest state, as the device knows it"`
	NeedBytes   int64        `json:"needBytes" doc:"Bytes that are missing"`
	NeedItems   int64        `json:"needItems" doc:"Files, directories and symlinks that are missing"`
	NeedDeletes int64        `json:"needDeletes" doc:"Items still to be deleted"`
	Rate        float64      `json:"rate" doc:"Bytes a second over the last 30 seconds; 0: nothing comes, or not known"`
	DoneBetween []Time       `json:"doneBetween" nullable:"false" doc:"Earliest and latest time (RFC 3339) at which nothing is missing any more; empty where that cannot be said"`
	HeldBy      []string     `json:"heldBy" nullable:"false" doc:"IDs of devices that are connected to it and known to have what it lacks; at most 10. Of devices that are not registered it is not known"`
	Peers       FolderPeers  `json:"peers" doc:"The devices with which it shares the folder"`
	Error       *FolderError `json:"error" doc:"Why the daemon cannot go on with the folder; null: it can"`
	Failed      int64        `json:"failed" doc:"Items that the daemon could not sync"`
	LocalItems  int64        `json:"localItems" doc:"Items that were changed or added on the device in a receive-only folder"`
	PausedBy    *PausedBy    `json:"pausedBy" doc:"By whom it is paused; null: it is in another state, or that is not known"`

	Conflicts FolderConflicts `json:"conflicts" doc:"Conflict copies that its daemons told of"`

	Besides []FolderFinding `json:"besides" nullable:"false" doc:"What is wrong besides the state, the worst first. Where nothing is missing, the worst of it is the state"`
}

// FolderFinding is something that is wrong with a folder on a device besides its state.
type FolderFinding struct {
	Cause   string `json:"cause" enum:"driveMissing,diskNearlyFull,atRisk,disagree,conflicts" doc:"What kind of trouble it is"`
	Trouble bool   `json:"trouble" doc:"It lasts for so long that a person should look at it"`
	Reason  string `json:"reason" doc:"Why it is so"`
	Next    string `json:"next" doc:"What a person can do; may be blank"`
	Since   *Time  `json:"since" format:"date-time" nullable:"true" doc:"When Muster saw it first; null: not known"`
}

// FolderConflicts are the conflicts of a folder as one device tells of them.
type FolderConflicts struct {
	Files    int    `json:"files" doc:"Conflict files whose paths are known, 100 at most; GET folders/{id}/conflicts lists them"`
	More     bool   `json:"more" doc:"There are more files than those"`
	Newest   string `json:"newest" doc:"Path of the newest; blank where no file is known"`
	NewestAt *Time  `json:"newestAt" format:"date-time" nullable:"true" doc:"When the daemon found it"`
	Counted  int64  `json:"counted" doc:"Conflicts that the daemon resolved since its start, as it counts them (Syncthing 2.0 and later); the files may be gone since"`
}

// PausedBy is by whom a folder, or the connections of its device, are paused.
type PausedBy struct {
	Cause     string  `json:"cause" enum:"template,order,person" doc:"person: somebody at the daemon"`
	Templates []int64 `json:"templates" nullable:"false" doc:"IDs of the templates that ask for it"`
	Order     int64   `json:"order" doc:"The order of Muster; 0: it was none, or it is not for the caller"`
	By        string  `json:"by" doc:"Who gave the order"`
	At        *Time   `json:"at" format:"date-time" nullable:"true" doc:"When the order was given"`
}

// FolderPeers are the other devices that share a folder, in numbers.
type FolderPeers struct {
	Connected int `json:"connected" doc:"Of those that share it, connected to the device"`
	Shared    int `json:"shared" doc:"How many devices it shares the folder with"`
}

// FolderError is why a daemon cannot go on with a folder.
type FolderError struct {
	Kind string `json:"kind" enum:"pathMissing,markerMissing,noSpace,permission,other" doc:"What is wrong"`
	Text string `json:"text" doc:"As the daemon says it"`
}

// FleetFolder is one folder on all devices that have it.
type FleetFolder struct {
	Folder      string         `json:"folder" doc:"ID of the folder"`
	Label       string         `json:"label" doc:"The label that most devices use"`
	State       string         `json:"state" enum:"unknown,stopped,failedItems,paused,unshared,alone,outOfSync,localChanges,stalled,behind,syncing,driveMissing,diskNearlyFull,disagree,conflicts,scanning,upToDate" doc:"The worst of its devices; disagree: they count different files and nothing is missing"`
	Reason      string         `json:"reason" doc:"Why the state is what it is"`
	Next        string         `json:"next" doc:"What a person can do; may be blank"`
	Since       *Time          `json:"since" format:"date-time" nullable:"true" doc:"When the first of the devices came into the state; null: not known"`
	Devices     FolderCounts   `json:"devices" doc:"By the state of the folder on them"`
	GlobalBytes int64          `json:"globalBytes" doc:"The most that one device knows of"`
	NeedBytes   int64          `json:"needBytes" doc:"Missing bytes of all devices together whose figures are of now: at least these are missing"`
	NeedUnknown int            `json:"needUnknown" doc:"Devices whose figures are not of now: it is not known what they lack"`
	Behind      []FolderBehind `json:"behind" nullable:"false" doc:"Devices on which something is missing, the most bytes first; at most 20"`
	BehindCount int            `json:"behindCount" doc:"How many such devices there are"`
	Failed      int64          `json:"failed" doc:"Items that the devices could not sync, of all together"`

	Conflicting      []FolderConflictsOn `json:"conflicting" nullable:"false" doc:"Devices that tell of conflicts, the most files first; at most 20"`
	ConflictingCount int                 `json:"conflictingCount" doc:"How many such devices there are"`
}

// FolderConflictsOn is a device that tells of conflicts.
type FolderConflictsOn struct {
	DeviceID  string          `json:"deviceID" doc:"Of the device"`
	Label     string          `json:"label" doc:"Of the device; blank: it has none"`
	Conflicts FolderConflicts `json:"conflicts" doc:"Conflict copies that its daemons told of"`
}

// FolderBehind is a device on which something of a folder is missing.
type FolderBehind struct {
	DeviceID    string   `json:"deviceID" doc:"Of the device"`
	Label       string   `json:"label" doc:"Of the device; blank: it has none"`
	State       string   `json:"state" enum:"unknown,stopped,failedItems,paused,unshared,alone,outOfSync,localChanges,stalled,behind,syncing,driveMissing,diskNearlyFull,disagree,conflicts,scanning,upToDate" doc:"State of the folder there"`
	Paused      bool     `json:"paused" doc:"The folder is paused there"`
	Since       *Time    `json:"since" format:"date-time" nullable:"true" doc:"When the state began; null: not known"`
	AsOf        *Time    `json:"asOf" format:"date-time" nullable:"true" doc:"When the daemon gave the figures; null: never"`
	NeedBytes   int64    `json:"needBytes" doc:"Bytes that it still has to get"`
	NeedItems   int64    `json:"needItems" doc:"Files and directories that it still has to get"`
	NeedDeletes int64    `json:"needDeletes" doc:"Items that it still has to delete"`
	DoneBetween []Time   `json:"doneBetween" nullable:"false" doc:"As in the folder's state on the device"`
	HeldBy      []string `json:"heldBy" nullable:"false" doc:"Likewise"`
}
