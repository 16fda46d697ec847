package fleet

import (
	"net"
	"slices"
	"time"
)

// Snapshot is what the mirror knows of one device at one moment. It is immutable: readers share it, maps and pointers
// included.
type Snapshot struct {
	Device     DeviceID
	Connection Connection
	Restarting bool      // online, but its API restarts because of what Muster sent
	Since      time.Time // when the connection state began
	Reason     string    // for a person
	Next       string    // what happens next, or what the person can do
	NextTry    time.Time // zero while connected
	Address    string    // host:port last used, "" when none is known
	FoundBy    string
	Visited    bool      // online, but visited in turn: there are not enough connections to follow the daemon
	LastSeen   time.Time // zero: never

	Proven Certificate // behind which the device answered last
	Shown  Shown       // the last one, the device's or not; zero when none was shown since the start

	Status    *Status  // nil before first contact
	Version   *Version // nil before first contact
	Summaries map[string]FolderSummary
	Folders   []FolderLabel // of the current configuration
	Digest    string        // of the current configuration, "" when none was ever read
	ConfigAt  time.Time     // when that configuration was last read and found to be the current one
	Unkept    bool          // the sink has not taken that configuration yet
	Outdated  bool          // the daemon announced another one, which waits to be read
	TooOld    bool          // the daemon has no /rest/config: mirrored, never written
	Access    Access        // of the API, as that configuration says; zero when none was read since the start
	Pending   []Pending     // in no order
}

// Aspect says what of a device changed. Values are or-ed together.
type Aspect uint8

// The first five are of a Snapshot.
const (
	ConnectionChanged Aspect = 1 << iota // state, reason or address
	StatusChanged                        // status or version were read
	FoldersChanged                       // a summary
	ConfigChanged                        // another digest
	PendingChanged                       // another device or folder is pending, or one less
	PlanChanged                          // the plan, or the state of the configuration
)

// Answers tells whether the daemon can be asked something now.
func (s *Snapshot) Answers() bool { return s.Connection == Online && !s.Restarting }

// Host is that of the address last used; "" when none is known, or the device was reached by its agent.
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

// FolderErrors are the folders in error with the reason, and whether every folder has a summary.
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

// FolderRuns tells whether a folder had a summary without error after a time, or is not in the configuration any more.
func (s *Snapshot) FolderRuns(folder string, since time.Time) bool {
	summary, known := s.Summaries[folder]
	has := slices.ContainsFunc(s.Folders, func(f FolderLabel) bool { return f.Folder == folder })
	return !has || known && summary.State != FolderInError && summary.UpdatedAt.After(since)
}

// NeedBytes are the bytes that the folders of the current configuration lack, as last told.
func (s *Snapshot) NeedBytes() (sum int64) {
	for _, f := range s.Folders {
		sum = AddBytes(sum, s.Summaries[f.Folder].NeedBytes)
	}
	return sum
}
