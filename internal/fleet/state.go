package fleet

import (
	"net"
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

// ClonedNext says what to do about two agents that connect with the certificate of one device, by the addresses
// (HOST:PORT) that they come from. Where both come from one host, nothing may be wrong with the identity.
func ClonedNext(first, second string) string {
	const copied = "one machine has a copy of the Syncthing home of another. Decide which of them stays this device. " +
		"The other one needs an identity of its own, and loses this one: it gets another device ID, and each device that " +
		"shares with it has to accept it anew. Stop its daemon, move cert.pem and key.pem out of its home, " +
		"keep them, and start it."
	a, _, _ := net.SplitHostPort(first)
	b, _, _ := net.SplitHostPort(second)
	if a != "" && a == b {
		return "Perhaps two agents run on one machine: `muster agent status` there shows them, and one of them has to be " +
			"stopped. If they run on two machines behind one address, " + copied
	}
	return "Probably " + copied
}
