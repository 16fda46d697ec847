package fleet

import (
	"errors"
	"time"
)

// Status, Version and FolderSummary are kept as JSON. What a column of the database holds is left out of that.

// Status is what a daemon last said in /rest/system/status.
type Status struct {
	MyID             DeviceID `json:"myID"`
	Alloc            int64    `json:"alloc"`            // bytes
	CPUPercent       float64  `json:"cpuPercent"`       // always 0 in current daemons
	DiscoveryEnabled bool     `json:"discoveryEnabled"` // false where the daemon no longer says
	DiscoveryMethods int64    `json:"discoveryMethods"`
	GoRoutines       int64    `json:"goRoutines"`
	PathSeparator    string   `json:"pathSeparator"`
	Sys              int64    `json:"sys"` // bytes
	Tilde            string   `json:"tilde"`
	Uptime           int64    `json:"uptime"` // seconds
	// as the daemon writes it; changes with every start; not part of the contract
	StartTime string `json:"startTime"`
	// guiAddressOverridden: the API's address comes from the daemon's command line
	AddressFixed bool      `json:"addressFixed"`
	CreatedAt    time.Time `json:"-"`
	UpdatedAt    time.Time `json:"-"`
}

// Version is what a daemon last said in /rest/system/version.
type Version struct {
	Device      DeviceID `json:"-"`
	Arch        string   `json:"arch"`
	Codename    string   `json:"codename"`
	LongVersion string   `json:"longVersion"`
	OS          string   `json:"os"`
	Version     string   `json:"version"` // "v2.1.3"
	// of its configuration, keys and database; nil where it does not say; sorted; not part of the contract
	Directories []string  `json:"directories,omitempty"`
	CreatedAt   time.Time `json:"-"`
	UpdatedAt   time.Time `json:"-"`
}

// System is what is known of the paths on a daemon's machine. What is not known is blank.
type System struct {
	OS            string // as Go names it: "linux", "windows", "darwin", ...
	PathSeparator string
	Tilde         string   // the home directory of the daemon's user
	Directories   []string // see Version
}

// SystemOf is what a daemon last said of its machine.
func SystemOf(status *Status, version *Version) (s System) {
	if status != nil {
		s.Tilde, s.PathSeparator = status.Tilde, status.PathSeparator
	}
	if version != nil {
		s.OS, s.Directories = version.OS, version.Directories
	}
	return s
}

// FolderSummary is one device's numbers of one folder, from /rest/db/status or a FolderSummary event.
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
	State          string    `json:"state"` // "idle", "error", ...; "" for a paused folder; not part of the contract
	Error          string    `json:"error"` // why the folder is in state error; not part of the contract
	CreatedAt      time.Time `json:"-"`
	UpdatedAt      time.Time `json:"-"`
}

// InError tells whether the daemon cannot go on with the folder.
func (s FolderSummary) InError() bool { return s.State == FolderInError || s.Error != "" }

// Lacks tells whether something of the folder is missing on the device.
func (s FolderSummary) Lacks() bool {
	return s.NeedBytes > 0 || s.NeedFiles > 0 || s.NeedDeletes > 0 || s.NeedDirectories > 0 || s.NeedSymlinks > 0
}

// FolderInError is the state of a folder that cannot work.
const FolderInError = "error"

// FolderLabel is one folder of one device's current configuration.
type FolderLabel struct {
	Folder string
	Label  string
}

// FolderShare is how a device shares a folder, by its configuration.
type FolderShare struct {
	Folder     string
	Type, Path string
	Paused     bool
	Peers      []FolderPeer // the device itself, too
}

// FolderPeer is a device that a folder is shared with.
type FolderPeer struct {
	Device    DeviceID
	Encrypted bool // it gets the folder encrypted
}

// Observation is one thing a watcher learnt about its device, to be kept. Nil members say nothing new.
type Observation struct {
	Device    DeviceID
	Status    *Status
	Version   *Version
	Summaries []FolderSummary // replaces the summaries of the named folders
	Config    *ObservedConfig // also drops the summaries of folders that it no longer has
	Proven    *Certificate    // the GUI certificate behind which the device answered
	FirstUse  bool            // nothing was pinned then: Proven is to be the pin
	FoundBy   string          // see Candidate.By
	LastSeen  time.Time       // zero when the daemon did not answer
}

// ObservedConfig is a configuration as a daemon gave it, with its secrets: seal it, never log it.
type ObservedConfig struct {
	JSON    []byte // the document, byte for byte
	Digest  string // SHA-256 of the normalised document, hex
	Folders []FolderLabel
	Paths   []string // where its folders lie; nil where that was not read from the document yet
	SeenAt  time.Time
	Cause   string // of the revision it makes: see Revision; "" when not known yet
}

// ErrReconnected is in the error of a poll that was not sent: it would have gone over another connection than the one
// before, maybe to another run of the daemon, whose events are numbered anew. The status says which run it is.
var ErrReconnected = errors.New("the poll would go over another connection than the one before")

// DaemonEvent is one event of a daemon's event stream.
type DaemonEvent struct {
	ID   int64 // counted per mask; starts again with the daemon
	Type string
	Data []byte // JSON, of PendingDevicesChanged and PendingFoldersChanged; nil where it is too much to be kept
	// Config is the sum of the configuration in the newest ConfigSaved of an answer; zero where that is not known.
	Config [32]byte

	// What events of a folder say, in our words.
	Folder  string
	Summary *FolderSummary // of a FolderSummary, without Device
	State   string         // of a StateChanged: the state the folder went to
	Error   string         // of a StateChanged to error and of FolderErrors, which has none when the errors are gone
}
