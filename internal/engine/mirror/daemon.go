package mirror

import (
	"context"
	"time"

	"muster/internal/fleet"
)

// Daemon is the connection to one daemon. Errors are *fleet.Error; their code decides the connection state.
type Daemon interface {
	Reader
	Connection
	Knowledge
}

// Reader is what a watcher reads of a daemon.
type Reader interface {
	ConfigReader
	// Status is that of the right device, or an error.
	Status(ctx context.Context) (fleet.Status, error)
	Version(ctx context.Context) (fleet.Version, error)
	// Directories are those of the daemon's own files. They are empty where the daemon does not name them.
	Directories(ctx context.Context) ([]string, error)
	// Home is the one directory of an older daemon's files; "" when it is too late to ask.
	Home(ctx context.Context) (string, error)
	Summary(ctx context.Context, folder string) (fleet.FolderSummary, error) // not_found: no such folder
	Pending(ctx context.Context) ([]fleet.Pending, error)                    // without Device
	ConnectedPeers(ctx context.Context) (fleet.Peers, error)                 // to whom the daemon is connected
}

// Connection is how a daemon is followed.
type Connection interface {
	// Events asks with a mask that is always the same, for the limit newest events after since. The error is
	// fleet.ErrReconnected where Status is to be asked first, which says whether since is of the daemon as it runs now.
	Events(ctx context.Context, since int64, limit int, wait time.Duration) ([]fleet.DaemonEvent, error)
	// Shown is the certificate that the last connection showed; proven tells that the device answered behind it.
	Shown() (shown fleet.Certificate, proven bool)

	// Keep has the connection kept from call to call, until CloseIdle. It is false where there are too many of them: then
	// Visit waits until one may be kept for a moment.
	Keep() bool
	Visit(ctx context.Context) error
	CloseIdle() // ends Keep and Visit
	Close()     // ends the connection for good
	// Open opens a second connection, with its first call. Only one is in use at a time: Open waits for that.
	Open(ctx context.Context) (Channel, error)
}

// Knowledge is what other rooms ask a daemon. The answers about other devices are raw.
type Knowledge interface {
	Ignores(ctx context.Context, folder string) ([]string, error)
	Discovery(ctx context.Context) ([]byte, error)
	Connections(ctx context.Context) ([]byte, error)

	// File is what the daemon knows of an item of a folder; not_found: nothing.
	File(ctx context.Context, folder, path string) (fleet.File, error)
	// Conflicts are the files of conflicts that came and went after a change of a file, and the number of the last one.
	Conflicts(ctx context.Context, since int64) (changes []fleet.ConflictChange, last int64, err error)
	// ConflictCounts is how many conflicts the daemon resolved in each folder since its start.
	ConflictCounts(ctx context.Context) (map[string]int64, error)

	// FailedItems is a page of the items that a folder could not sync. The first page is 1.
	FailedItems(ctx context.Context, folder string, page, size int) (items []fleet.FailedItem, more bool, err error)
	// Log is the newest lines of the daemon's own log, the oldest first.
	Log(ctx context.Context, since time.Time) ([]fleet.LogLine, error)
}

// ConfigReader reads the configuration of a daemon.
type ConfigReader interface {
	Config(ctx context.Context) ([]byte, error)       // unsupported: too old
	SystemConfig(ctx context.Context) ([]byte, error) // what those that are too old have instead
}

// Target is a daemon to talk to; see fleet.
type Target = fleet.Target

// Found is where a device is; see fleet.
type Found = fleet.Candidate

// Sink keeps what was observed. It ignores devices that are no longer registered.
type Sink interface {
	SaveObservations(ctx context.Context, observations []fleet.Observation) error
}
