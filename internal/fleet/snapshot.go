package fleet

import (
	"net"
	"slices"
	"time"
)

// Snapshot is what the mirror knows of one device at one moment. It is immutable, including its maps and pointers, and
// shared by its readers.
type Snapshot struct {
	Device     DeviceID
	Connection Connection
	Restarting bool      // connected, but the API restarts because of a change that Muster wrote
	Since      time.Time // beginning of the connection state
	Reason     string    // sentence for people
	Next       string    // next step of Muster or of a person
	NextTry    time.Time // zero while connected
	Address    string    // host:port last used; "" when no address is known
	FoundBy    string
	TooOldFor  string // requests that the device's agent refuses because it is older than this server; "": no request
	// connected, but visited in turn, because there are not enough connections to follow every daemon
	Visited  bool
	LastSeen time.Time // zero: never

	Proven Certificate // certificate behind which the device last answered
	// certificate that was last shown, by the device or by something else; zero: none since the server's start
	Shown Shown

	Status    *Status  // nil before the first contact
	Version   *Version // nil before the first contact
	Summaries map[string]FolderSummary
	Folders   []FolderLabel // folders of the newest configuration
	Digest    string        // digest of the newest configuration; "" when none was ever read
	ConfigAt  time.Time     // time at which the daemon was last known to have that configuration
	Unstored  bool          // true: that configuration is not stored yet
	Outdated  bool          // true: the daemon has announced a newer configuration, which was not read yet
	TooOld    bool          // true: the daemon has no /rest/config, so it is watched and never written to
	Access    Access        // API key and port in that configuration; zero when none was read since the server's start
	Pending   []Pending     // unsorted

	// FailedItems are the first items of each folder that could not be synced, with the daemon's texts, as of the last
	// FolderErrors event or reading. A folder without failed items has no entry.
	FailedItems map[string][]FailedItem
	// Conflicts are conflict files by folder, newest first, as far as the daemon remembers them, and at most a hundred
	// per folder. A folder without conflicts has no entry.
	Conflicts map[string][]Conflict
	// ConflictsLeftOut is roughly how many conflict files a folder has in addition to those in Conflicts. A folder
	// without further ones has no entry.
	ConflictsLeftOut map[string]int
	ConflictsRead    bool // Conflicts were read since the server's start.
	// ConflictsCounted is the daemon's own count of the conflicts that it resolved since its start, by folder. It has
	// only counts above 0. It is nil when the daemon does not count, or was not asked yet.
	ConflictsCounted map[string]int64
	// Shares has an entry for each folder of the newest configuration; see Share. It is nil when no configuration was
	// read since the server's start.
	Shares []SharedFolder
	// ConfiguredPeers are the devices in the newest configuration, with the device itself. It is empty when no
	// configuration was read since the server's start, or when it has too many devices.
	ConfiguredPeers Peers
	// PausedPeers are the devices that the newest configuration pauses.
	PausedPeers Peers
	// Connected are the devices to which the daemon is connected, updated by events since ConnectedAt. See
	// IsConnected.
	Connected   Peers
	ConnectedAt time.Time // time at which Connected was read over the current connection; zero: not read
	// Disks is what the device's agent has reported since the server's start; nil: nothing.
	Disks *DiskFacts
}

// Aspect says which parts of a device changed. Values can be combined with |.
type Aspect uint8

// The first five are parts of a Snapshot.
const (
	ConnectionChanged Aspect = 1 << iota // state, reason or address
	StatusChanged                        // status or version
	FoldersChanged                       // the summary of a folder
	ConfigChanged                        // the digest of the configuration
	PendingChanged                       // a pending device or folder was added or removed
	PlanChanged                          // the plan, or the state of the configuration
)

// Answers reports whether requests can be sent to the daemon now.
func (s *Snapshot) Answers() bool { return s.Connection == Online && !s.Restarting }

// Host returns the host of the address last used; "" when none is known or the device was reached through its agent.
func (s *Snapshot) Host() string {
	if s.FoundBy == FoundByAgent {
		return ""
	}
	host, _, err := net.SplitHostPort(s.Address)
	if err != nil {
		return ""
	}
	return host
}

// FolderErrors returns the reasons of the folders in error. all is true when every folder has a summary.
func (s *Snapshot) FolderErrors() (errors map[string]string, all bool) {
	all = true
	for _, f := range s.Folders {
		summary, known := s.Summaries[f.Folder]
		all = all && known
		if summary.State != FolderInError {
			continue
		}
		if errors == nil {
			errors = map[string]string{}
		}
		errors[f.Folder] = summary.Error
	}
	return errors, all
}

// FoldersNotFine returns the folders that had an error, or no summary, when they were read last. While the device is
// online, only summaries that were read over the present connection count.
func (s *Snapshot) FoldersNotFine() (folders []string) {
	for _, f := range s.Folders {
		if !s.folderIsFine(f.Folder) {
			folders = append(folders, f.Folder)
		}
	}
	slices.Sort(folders)
	return folders
}

// FolderMayBreak reports whether an error that a folder has from now on is new: the folder had no error when it was
// last read over the present connection, or the device does not have the folder yet.
func (s *Snapshot) FolderMayBreak(folder string) bool {
	has := slices.ContainsFunc(s.Folders, func(f FolderLabel) bool { return f.Folder == folder })
	return !has || s.Connection == Online && s.folderIsFine(folder)
}

func (s *Snapshot) folderIsFine(folder string) bool {
	summary, known := s.Summaries[folder]
	if !known || summary.State == FolderInError || summary.Error != "" {
		return false
	}
	return s.Connection != Online || s.IsCurrent(folder) && !summary.Unscanned()
}

// FolderRuns reports whether a folder had a summary without an error after a time, or is no longer in the
// configuration.
func (s *Snapshot) FolderRuns(folder string, since time.Time) bool {
	summary, known := s.Summaries[folder]
	has := slices.ContainsFunc(s.Folders, func(f FolderLabel) bool { return f.Folder == folder })
	return !has || known && summary.State != FolderInError && summary.UpdatedAt.After(since)
}

// NeedBytes returns how many bytes the folders of the current configuration lack, as last reported.
func (s *Snapshot) NeedBytes() (sum int64) {
	for _, f := range s.Folders {
		sum = AddBytes(sum, s.Summaries[f.Folder].NeedBytes)
	}
	return sum
}
