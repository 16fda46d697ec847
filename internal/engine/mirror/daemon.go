package mirror

import (
	"context"
	"time"

	"muster/internal/fleet"
)

// Daemon is the client of one daemon. Its errors are *fleet.Error; their code decides the device's connection state.
type Daemon interface {
	Reader
	Connection
	Knowledge
}

// Reader has the requests by which a watcher learns the state of a daemon.
type Reader interface {
	ConfigReader
	// Status returns an error when a different device answers.
	Status(ctx context.Context) (fleet.Status, error)
	Version(ctx context.Context) (fleet.Version, error)
	// Directories returns the directories of the daemon's own files; empty if the daemon does not name them.
	Directories(ctx context.Context) ([]string, error)
	// Home returns the one directory in which a daemon before 2.0 has its own files. It returns "" if the daemon has been
	// running too long: it names the directory only shortly after its start.
	Home(ctx context.Context) (string, error)
	// Summary returns not_found when the daemon has no such folder.
	Summary(ctx context.Context, folder string) (fleet.FolderSummary, error)
	// Pending leaves the field Device of its entries empty.
	Pending(ctx context.Context) ([]fleet.Pending, error)
	// ConnectedPeers returns the peers to which the daemon is connected.
	ConnectedPeers(ctx context.Context) (fleet.Peers, error)
}

// Connection is the transport over which a watcher follows a daemon.
type Connection interface {
	// Events returns the events with a number above since. If there are more than limit, it returns the newest limit of
	// them. It waits up to wait for an event. All calls have the same event mask. After fleet.ErrReconnected the caller
	// must read Status first: the connection is new, and the status shows whether the daemon restarted, which makes since
	// invalid.
	Events(ctx context.Context, since int64, limit int, wait time.Duration) ([]fleet.DaemonEvent, error)
	// Shown returns the certificate that the other end showed on the last connection. proven reports whether the device
	// itself answered behind it.
	Shown() (shown fleet.Certificate, proven bool)

	// Keep reserves the connection until CloseIdle is called. It returns false if too many connections are reserved. Then
	// Visit waits until the connection may be reserved for a short time.
	Keep() bool
	Visit(ctx context.Context) error
	CloseIdle() // ends Keep and Visit
	Close()     // ends the connection for good
	// Open makes a second connection; its first call establishes it. Only one second connection can exist: Open waits
	// until the one before is closed.
	Open(ctx context.Context) (Channel, error)
}

// Knowledge has the requests that other packages make to a daemon. Discovery and Connections return its JSON
// unchanged.
type Knowledge interface {
	Ignores(ctx context.Context, folder string) ([]string, error)
	Discovery(ctx context.Context) ([]byte, error)
	Connections(ctx context.Context) ([]byte, error)

	// File returns what the daemon knows about a file or directory of a folder; not_found if it knows nothing.
	File(ctx context.Context, folder, path string) (fleet.File, error)
	// Conflicts returns the conflict files that appeared or disappeared by changes with a number above since. last is the
	// number of the newest change that the daemon remembers.
	Conflicts(ctx context.Context, since int64) (changes []fleet.ConflictChange, last int64, err error)
	// ConflictCounts returns how many conflicts the daemon resolved since its start, by folder ID.
	ConflictCounts(ctx context.Context) (map[string]int64, error)

	// FailedItems returns one page of the items that a folder could not sync; the first page is 1. more reports whether
	// further pages follow.
	FailedItems(ctx context.Context, folder string, page, size int) (items []fleet.FailedItem, more bool, err error)
	// FolderIndexes returns the summary of a folder, with the numbers up to which the daemon knows the index of each
	// sharer; nil where it does not report them.
	FolderIndexes(ctx context.Context, folder string) (fleet.FolderSummary, map[fleet.DeviceID]int64, error)
	// Started returns when the daemon was started.
	Started(ctx context.Context) (time.Time, error)
	// Completion returns what the daemon knows of a peer's copy of a folder.
	Completion(ctx context.Context, folder string, peer fleet.DeviceID) (fleet.Completion, error)
	// Log returns the newest lines of the daemon's own log, the oldest first.
	Log(ctx context.Context, since time.Time) ([]fleet.LogLine, error)
}

// ConfigReader reads the configuration of a daemon.
type ConfigReader interface {
	// Config returns CodeUnsupported if the daemon is too old for /rest/config. SystemConfig reads the same document from
	// the path that older daemons have.
	Config(ctx context.Context) ([]byte, error)
	SystemConfig(ctx context.Context) ([]byte, error)
}

// Target is the daemon that a client is made for.
type Target = fleet.Target

// Found is the address at which a device may be reached.
type Found = fleet.Candidate

// Sink stores observations. It ignores devices that are no longer registered.
type Sink interface {
	SaveObservations(ctx context.Context, observations []fleet.Observation) error
}
