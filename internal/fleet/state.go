package fleet

import (
	"strings"
	"time"
)

// Connection is how we stand with the daemon of a device.
type Connection string

const (
	NeverSeen        Connection = "neverSeen"
	Online           Connection = "online"
	Unreachable      Connection = "unreachable"
	KeyRefused       Connection = "keyRefused"
	IdentityMismatch Connection = "identityMismatch"
	PinMismatch      Connection = "pinMismatch"
	NotFound         Connection = "notFound"    // no address given and none discovered
	Unconfirmed      Connection = "unconfirmed" // found on anybody's word: a person has to confirm the certificate
	Cloned           Connection = "cloned"      // two agents connect with the device's certificate; one is managed
)

// Connections are all of them.
func Connections() []Connection {
	return []Connection{NeverSeen, Online, Unreachable, KeyRefused, IdentityMismatch, PinMismatch, NotFound, Unconfirmed,
		Cloned}
}

// Configuration is how a device's configuration stands against what its templates ask. Of several the worst wins.
type Configuration string

const (
	ConfigUnknown   Configuration = "unknown"   // not read, or stale
	ConfigUnmanaged Configuration = "unmanaged" // no template applies and nothing is to return to base
	ConfigInSync    Configuration = "inSync"
	ConfigPending   Configuration = "pending"
	ConfigApplying  Configuration = "applying"
	ConfigHeld      Configuration = "held"
	ConfigFailed    Configuration = "failed"
	ConfigContended Configuration = "contended"
	ConfigUnstable  Configuration = "unstable"
)

// State is what `GET devices/{id}/state` says.
type State struct {
	Connection    Connection
	Configuration Configuration
	Address       string    // host:port last used, "" when none is known
	FoundBy       string    // "agent", "record", "global", "local", "fleet"; "" when there is no address
	LastSeen      time.Time // zero: never
	Since         time.Time // when this state began
	Reason        string    // for a person
	Next          string    // what happens next, or what the person can do
}

// Bounded bounds a text that is kept for each device, and into which a template could put anything.
func Bounded(text string) string {
	const most = 2 << 10
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// Mode says whether Muster writes to a device. The strictest of fleet, tag and device wins.
type Mode string

const (
	ModeOn      Mode = "on"
	ModeObserve Mode = "observe" // everything is planned, nothing is written
	ModePaused  Mode = "paused"  // not even watched
)

// ParseMode takes "on", "observe" or "paused".
func ParseMode(s string) (Mode, error) {
	switch m := Mode(s); m {
	case ModeOn, ModeObserve, ModePaused:
		return m, nil
	}
	return "", Invalidf("mode", "mode %q is not known: use on, observe or paused", s)
}

// Strictest is the mode that allows less.
func Strictest(a, b Mode) Mode {
	rank := map[Mode]int{ModeOn: 0, ModeObserve: 1, ModePaused: 2}
	if rank[b] > rank[a] {
		return b
	}
	return a
}
