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

// Configuration is the state of a device's configuration compared with its templates. When several states apply, it is
// the worst of them.
type Configuration string

const (
	ConfigUnknown   Configuration = "unknown"   // the configuration was not read, or its last reading is too old
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
	Since         time.Time // time since which neither state has changed
	Reason        string    // sentence for people
	Next          string    // next step of Muster or of a person
	BroughtBack   string    // revoked devices that were brought back within the last hour, and by whom; "": none
}

// Bounded shortens a text that is stored for each device and that a template may make arbitrarily long.
func Bounded(text string) string {
	const most = 2 << 10
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// ClonedNext returns what a person can do about two agents that connect with the certificate of one device. first and
// second are the addresses (HOST:PORT) of the agents. When both have the same host, the identity may be in order.
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
