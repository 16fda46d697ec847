package mirror

import (
	"time"

	"muster/internal/fleet"
)

// Snapshot is what is known of one device at one moment. It is immutable: readers share it, maps and pointers included.
type Snapshot struct {
	Device     fleet.DeviceID
	Connection fleet.Connection
	Restarting bool      // online, but its API restarts because of what Muster sent
	Since      time.Time // when the connection state began
	Reason     string    // for a person
	Next       string    // what happens next, or what the person can do
	NextTry    time.Time // zero while connected
	Address    string    // host:port last used, "" when none is known
	FoundBy    string
	Visited    bool      // online, but visited in turn: there are not enough connections to follow the daemon
	LastSeen   time.Time // zero: never

	Proven fleet.Certificate // behind which the device answered last
	Shown  fleet.Shown       // the last one, the device's or not; zero when none was shown since the start

	Status    *fleet.Status  // nil before first contact
	Version   *fleet.Version // nil before first contact
	Summaries map[string]fleet.FolderSummary
	Folders   []fleet.FolderLabel // of the current configuration
	Digest    string              // of the current configuration, "" when none was ever read
	ConfigAt  time.Time           // when that configuration was last read and found to be the current one
	Unkept    bool                // the sink has not taken that configuration yet
	TooOld    bool                // the daemon has no /rest/config: mirrored, never written
}

// Aspect says what of a snapshot changed. Values are or-ed together.
type Aspect uint8

const (
	ConnectionChanged Aspect = 1 << iota // state, reason or address
	StatusChanged                        // status or version were read
	FoldersChanged                       // a summary
	ConfigChanged                        // another digest
)

// Answers tells whether the daemon can be asked something now.
func (s *Snapshot) Answers() bool { return s.Connection == fleet.Online && !s.Restarting }
