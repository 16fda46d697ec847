package fleet

import (
	"cmp"
	"errors"
	"fmt"
	"time"
)

// Status, Version and FolderSummary are stored as JSON. Fields that have a column of their own in the database are
// left out of that JSON.

// Status is the daemon's last answer to /rest/system/status.
type Status struct {
	MyID             DeviceID `json:"myID"`
	Alloc            int64    `json:"alloc"`            // bytes
	CPUPercent       float64  `json:"cpuPercent"`       // always 0 in current daemons
	DiscoveryEnabled bool     `json:"discoveryEnabled"` // false when the daemon no longer reports it
	DiscoveryMethods int64    `json:"discoveryMethods"`
	GoRoutines       int64    `json:"goRoutines"`
	PathSeparator    string   `json:"pathSeparator"`
	Sys              int64    `json:"sys"` // bytes
	Tilde            string   `json:"tilde"`
	Uptime           int64    `json:"uptime"` // seconds
	// StartTime is the time of the daemon's start, as the daemon writes it. It is not part of the contract.
	StartTime string `json:"startTime"`
	// AddressFixed is guiAddressOverridden: the API's address comes from the daemon's command line.
	AddressFixed bool      `json:"addressFixed"`
	CreatedAt    time.Time `json:"-"`
	UpdatedAt    time.Time `json:"-"`
}

// Version is the daemon's last answer to /rest/system/version.
type Version struct {
	Device      DeviceID `json:"-"`
	Arch        string   `json:"arch"`
	Codename    string   `json:"codename"`
	LongVersion string   `json:"longVersion"`
	OS          string   `json:"os"`
	Version     string   `json:"version"` // "v2.1.3"
	// Directories are those of the daemon's configuration, keys and database, sorted. Nil when the daemon does not
	// report them. They are not part of the contract.
	Directories []string  `json:"directories,omitempty"`
	CreatedAt   time.Time `json:"-"`
	UpdatedAt   time.Time `json:"-"`
}

// System is what is known of the machine of a daemon. An unknown field is "".
type System struct {
	OS            string // Go's name of the system: "linux", "windows", "darwin", ...
	PathSeparator string
	Tilde         string   // the home directory of the daemon's user
	Directories   []string // see Version
}

// SystemOf returns what a daemon last reported of its machine.
func SystemOf(status *Status, version *Version) (s System) {
	if status != nil {
		s.Tilde, s.PathSeparator = status.Tilde, status.PathSeparator
	}
	if version != nil {
		s.OS, s.Directories = version.OS, version.Directories
	}
	return s
}

// FolderSummary are the numbers of one folder on one device, from /rest/db/status or a FolderSummary event.
type FolderSummary struct {
	Device DeviceID `json:"-"`
	Folder string   `json:"-"`

	GlobalBytes       int64 `json:"globalBytes"`
	GlobalDeleted     int64 `json:"globalDeleted"`
	GlobalDirectories int64 `json:"globalDirectories"`
	GlobalFiles       int64 `json:"globalFiles"`
	GlobalSymlinks    int64 `json:"globalSymlinks"`
	LocalBytes        int64 `json:"localBytes"`
	LocalDeleted      int64 `json:"localDeleted"`
	LocalDirectories  int64 `json:"localDirectories"`
	LocalFiles        int64 `json:"localFiles"`
	LocalSymlinks     int64 `json:"localSymlinks"`
	InSyncBytes       int64 `json:"inSyncBytes"`
	InSyncFiles       int64 `json:"inSyncFiles"`
	NeedBytes         int64 `json:"needBytes"`
	NeedDeletes       int64 `json:"needDeletes"`
	NeedDirectories   int64 `json:"needDirectories"`
	NeedFiles         int64 `json:"needFiles"`
	NeedSymlinks      int64 `json:"needSymlinks"`

	IgnorePatterns bool      `json:"ignorePatterns"`
	Sequence       int64     `json:"sequence"`
	Version        int64     `json:"version"`
	CreatedAt      time.Time `json:"-"`
	UpdatedAt      time.Time `json:"-"`

	// The fields below are not part of the contract.

	// State is "idle", "error" and so on; "" for a paused folder. Before the first scan after a start it is also
	// "idle".
	State        string    `json:"state"`
	StateChanged time.Time `json:"stateChanged"` // time by the daemon's clock; zero when the daemon does not report it
	Error        string    `json:"error"`        // error of the folder as a whole, whose state is then "error"
	WatchError   string    `json:"watchError"`   // why the daemon finds changed files only by scanning
	// number of items that could not be synced; Snapshot.FailedItems has their texts
	Failed int64 `json:"errors"`
	// LocalChanges is the number of items that were changed on the device in a receive-only folder. 0 when the daemon
	// does not report it.
	LocalChanges      int64 `json:"receiveOnlyTotalItems"`
	LocalChangedBytes int64 `json:"receiveOnlyChangedBytes"`
	// Indexes are the devices that have sent the daemon an index of the folder, which means that they share the
	// folder. A device is missing before the daemon has connected to it, while the folder is empty, and with all
	// daemons before 1.27.4. The sequence numbers (remoteSequence) are not stored; a proof of copies reads them when
	// it needs them.
	Indexes Peers `json:"-"`
}

// InError reports whether the daemon cannot sync the folder or some items of it.
func (s FolderSummary) InError() bool { return s.Problem() != "" }

// Problem says why the daemon cannot sync the folder or some items of it; "" when it can.
func (s FolderSummary) Problem() string {
	switch {
	case s.State == FolderInError || s.Error != "":
		return cmp.Or(s.Error, "the daemon does not say why")
	case s.Failed > 0:
		return fmt.Sprintf("%d items could not be synced", s.Failed)
	}
	return ""
}

// Unscanned reports whether the daemon has not scanned the folder since it started. Before its first scan a folder is
// idle and has never changed its state (Syncthing 1.19.2, 2.1.3).
func (s FolderSummary) Unscanned() bool { return s.State == "idle" && s.StateChanged.IsZero() }

// Lacks reports whether the device lacks anything of the folder.
func (s FolderSummary) Lacks() bool {
	return s.NeedBytes > 0 || s.NeedFiles > 0 || s.NeedDeletes > 0 || s.NeedDirectories > 0 || s.NeedSymlinks > 0
}

// Completion returns how much of the folder the device has, in percent. It is 100 only when nothing at all is missing.
func (s FolderSummary) Completion() int {
	switch {
	case !s.Lacks():
		return 100
	case s.GlobalBytes <= 0:
		return 99
	}
	return int(max(0, min(99, float64(s.GlobalBytes-s.NeedBytes)/float64(s.GlobalBytes)*100)))
}

// The folder states, in the daemon's words, that Muster compares with.
const (
	FolderInError    = "error" // the folder does not work
	FolderIsSyncing  = "syncing"
	FolderIsScanning = "scanning"
)

// FolderLabel is the ID and label of a folder in a device's current configuration.
type FolderLabel struct {
	Folder string
	Label  string
}

// FolderShare is how a device's configuration shares a folder.
type FolderShare struct {
	Folder     string
	Type, Path string
	Paused     bool
	Peers      []FolderPeer // includes the device itself
}

// FolderPeer is a device that a folder is shared with.
type FolderPeer struct {
	Device    DeviceID
	Encrypted bool // the device gets the folder encrypted
}

// Observation is new data about a device that its watcher wants to be stored. A nil field means that the watcher has
// read nothing new.
type Observation struct {
	Device    DeviceID
	Status    *Status
	Version   *Version
	Summaries []FolderSummary // replace the stored summaries of the same folders
	Config    *ObservedConfig // summaries of folders that it does not contain are deleted
	Proven    *Certificate    // GUI certificate behind which the device answered
	FirstUse  bool            // there was no pin, so Proven becomes the pin
	FoundBy   string          // see Candidate.By
	LastSeen  time.Time       // zero when the daemon did not answer
}

// ObservedConfig is a configuration as a daemon returned it, with its secrets. It must be sealed and never logged.
type ObservedConfig struct {
	JSON    []byte // the document, byte for byte
	Digest  string // SHA-256 of the normalised document, hex
	Folders []FolderLabel
	Paths   []string // paths of its folders; nil when they have not been read from the document
	SeenAt  time.Time
	Cause   string // cause of the revision that it makes, see Revision; "" when not known yet
}

// DaemonRunHeader is on answers that came through an agent. Its value changes when the daemon behind the agent may have
// been started anew.
const DaemonRunHeader = "Muster-Agent-Daemon-Run"

// ErrReconnected is the cause of a poll's error when the poll was not sent because the connection was replaced. The
// daemon may have restarted, which starts its event numbers anew. Its status tells which run of the daemon it is.
var ErrReconnected = errors.New("the poll would go over another connection than the one before")

// DaemonEvent is one event of a daemon's event stream.
type DaemonEvent struct {
	ID   int64 // counted per mask; starts again when the daemon does
	Type string
	Data []byte // JSON of PendingDevicesChanged and PendingFoldersChanged; nil when it is too large
	// Config is the checksum of the configuration in the newest ConfigSaved event of an answer; zero when not known.
	Config [32]byte

	// The fields below are set for events about a folder.
	Folder  string
	Summary *FolderSummary // FolderSummary: the summary, without Device; nil when it is not believable
	State   string         // StateChanged: the new state of the folder
	At      time.Time      // StateChanged: its time by the daemon's clock; zero when the daemon does not report it
	Error   string         // StateChanged to "error": the error; FolderSummary: why Summary is nil
	Failed  int64          // FolderErrors: number of items that could not be synced
	Items   []FailedItem   // FolderErrors: the first of these items

	Peer DeviceID // DeviceConnected, DeviceDisconnected: the other device; "" when the daemon does not name it
}
