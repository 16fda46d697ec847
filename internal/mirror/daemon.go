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
	Status(ctx context.Context) (fleet.Status, error) // of the right device, or an error
	Version(ctx context.Context) (fleet.Version, error)
	// of the daemon's own files; none where it does not say
	Directories(ctx context.Context) ([]string, error)
	// Home is the same of older daemons; "" when it is too late to ask.
	Home(ctx context.Context) (string, error)
	Summary(ctx context.Context, folder string) (fleet.FolderSummary, error) // not_found: no such folder
	Pending(ctx context.Context) ([]fleet.Pending, error)                    // without Device
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
	Close()     // for good: nothing is kept any more
	// Open opens a second connection, with its first call. Only one is in use at a time: Open waits for that.
	Open(ctx context.Context) (Channel, error)
}

// Knowledge is what other rooms ask a daemon. The answers about other devices are raw.
type Knowledge interface {
	Ignores(ctx context.Context, folder string) ([]string, error)
	Discovery(ctx context.Context) ([]byte, error)
	Connections(ctx context.Context) ([]byte, error)
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

// Resolver finds the daemon of a device. A device without any known address is CodeNotFound. Without a pin only
// an address with an introduction by a person or a discovery server leads to the device.
type Resolver interface {
	Resolve(ctx context.Context, device fleet.Device, pinned bool) (Found, error)
}

// Sink keeps what was observed. It ignores devices that are no longer registered.
type Sink interface {
	SaveObservations(ctx context.Context, observations []fleet.Observation) error
}

// Explicit resolves devices that have an address in their record, and nothing else.
type Explicit struct{}

// Resolve gives the address in the record.
func (Explicit) Resolve(_ context.Context, device fleet.Device, _ bool) (Found, error) {
	if device.APIAddress == "" {
		return Found{}, &fleet.Error{Code: fleet.CodeNotFound, During: "find the daemon",
			Message: "the device has no address, and discovery is off",
			Hint:    "Give the device an apiAddress."}
	}
	return Found{Host: device.APIAddress, By: "record", Introduced: fleet.ByPerson}, nil
}
