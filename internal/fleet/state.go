package fleet

import (
	"strings"
	"time"
)

// Connection is the state of the connection to a device's daemon.
type Connection string

const (
	NeverSeen        Connection = "neverSeen"
	Online           Connection = "online"
	Unreachable      Connection = "unreachable"
	KeyRefused       Connection = "keyRefused"
	IdentityMismatch Connection = "identityMismatch"
	PinMismatch      Connection = "pinMismatch"
	NotFound         Connection = "notFound" // no address is given and none was discovered
	// the address came from an untrusted source, so a person must confirm the certificate
	Unconfirmed Connection = "unconfirmed"
	Cloned      Connection = "cloned" // two agents connect with the device's certificate; one of them is used
)

// Connections returns all states.
func Connections() []Connection {
	return []Connection{NeverSeen, Online, Unreachable, KeyRefused, IdentityMismatch, PinMismatch, NotFound, Unconfirmed,
		Cloned}
}

// Configuration is the state of a device's configuration compared with its templates. Of several states the worst
// counts.
type Configuration string

const (
	ConfigUnknown   Configuration = "unknown"   // not read, or too old
	ConfigUnmanaged Configuration = "unmanaged" // no template applies, and no value must return to its base
	ConfigInSync    Configuration = "inSync"
	ConfigPending   Configuration = "pending"
	ConfigApplying  Configuration = "applying"
	ConfigHeld      Configuration = "held"
	ConfigFailed    Configuration = "failed"
	ConfigContended Configuration = "contended"
	ConfigUnstable  Configuration = "unstable"
)

// Configurations returns all states.
func Configurations() []Configuration {
	return []Configuration{ConfigUnknown, ConfigUnmanaged, ConfigInSync, ConfigPending, ConfigApplying, ConfigHeld,
		ConfigFailed, ConfigContended, ConfigUnstable}
}

// State is the answer to `GET devices/{id}/state`.
type State struct {
	Connection    Connection
	Configuration Configuration
	Address       string    // host:port last used; "" when no address is known
	FoundBy       string    // "agent", "record", "global", "local", "fleet"; "" when there is no address
	LastSeen      time.Time // zero: never
	Since         time.Time // when this state began
	Reason        string    // for people
	Next          string    // what happens next, or what a person can do
}

// Bounded shortens a text that is stored for each device and that a template may make arbitrarily long.
func Bounded(text string) string {
	const most = 2 << 10
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
