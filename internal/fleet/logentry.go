package fleet

import (
	"fmt"
	"time"
)

// LogKind says what an entry of the event log is about.
type LogKind string

// The kinds of entries.
const (
	LogConnection    LogKind = "connection"    // the connection between Muster and the daemon
	LogConfiguration LogKind = "configuration" // the configuration compared with the templates
	LogRevision      LogKind = "revision"      // another configuration was read from the daemon
	LogFolder        LogKind = "folder"        // the state of a folder on the device
	LogConflict      LogKind = "conflict"      // more or fewer files of a folder are in conflict
	LogPeers         LogKind = "peers"         // the first connection to another device began, or the last one ended
	LogOrder         LogKind = "order"         // an order to the daemon ended
)

// LogKinds lists all kinds.
var LogKinds = []LogKind{LogConnection, LogConfiguration, LogRevision, LogFolder, LogConflict, LogPeers, LogOrder}

// LogEntry is one entry of the event log: the state of a device or of a folder on it changed, or an order to it ended.
type LogEntry struct {
	Number int64 // grows from entry to entry; it is the ID of the entry's event
	At     time.Time
	Device DeviceID
	Label  string // label of the device at that time
	Folder string // "" when the entry is not about a single folder
	Kind   LogKind
	// State is the new state, in the words of its kind; for an order, the type of the order. Before is the state
	// before, or "" when none was recorded.
	State, Before string
	// sentence for people, or the result of an order. It names other devices by the first group of their IDs.
	Reason   string
	Cause    string // cause of a revision; name of who gave an order; else ""
	Revision int64  // number of a revision; else 0
}

// LogStanding is the present state of one subject of a device.
type LogStanding struct {
	Kind   LogKind
	Folder string
	State  string // "": not known now, which changes nothing
	Reason string
}

// LogQuery selects entries of the event log. The zero value selects all, newest first.
type LogQuery struct {
	Devices []DeviceID
	Tags    []Tag // selects devices that have one of these tags now; empty: all
	Folder  string
	Kinds   []LogKind
	Scope   Scope     // selects devices in this part of the fleet
	Since   time.Time // zero: from the first entry on
	Until   time.Time // exclusive; zero: up to the last entry
	Oldest  bool      // oldest first
	After   int64     // Number of the last entry of the page before; 0: start at the first
	Before  int64     // selects entries with smaller numbers; 0: all
	Limit   int       // 0: no limit
}

// Quiet reports whether a state is the ordinary one of its kind, which is not reported to people. A subject without an
// entry in the log is in this state.
func (k LogKind) Quiet(state string) bool {
	switch k {
	case LogConnection:
		return state == string(Online)
	case LogConfiguration:
		return state == string(ConfigInSync) || state == string(ConfigUnmanaged)
	case LogFolder:
		return state == LoggedUpToDate
	case LogPeers:
		return state == PeersConnected
	case LogConflict:
		return state == NoConflicts
	}
	return true
}

// NoConflicts is the state of LogConflict without a file in conflict. Otherwise the state is the number of files.
const NoConflicts = "0"

// The states of LogPeers.
const (
	PeersConnected = "connected"
	PeersAlone     = "alone" // no connection to another device
)

// LoggedUpToDate is how the log records a folder without trouble, whether it is up to date, scanning or syncing.
const LoggedUpToDate = "upToDate"

// Text returns the entry as a sentence, without the device and folder.
func (e LogEntry) Text() string {
	text := e.says()
	if e.Kind == LogFolder && e.Reason != "" { // The reason is a sentence already.
		return e.Reason
	}
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	return text
}

func (e LogEntry) says() string {
	switch e.Kind {
	case LogConnection:
		if e.State == string(Online) {
			return "came online"
		}
		return phrase(connectionPhrases, e.State)
	case LogConfiguration:
		return phrase(configurationPhrases, e.State)
	case LogFolder:
		return phrase(folderPhrases, e.State)
	case LogPeers:
		return phrase(peersPhrases, e.State)
	case LogRevision:
		return fmt.Sprintf("configuration %d: %s", e.Revision, phrase(causePhrases, e.Cause))
	case LogOrder:
		text := e.State + " was ordered"
		if e.Cause != "" {
			text += " by " + e.Cause
		}
		return text
	case LogConflict:
		if e.State == NoConflicts {
			return "no file is in conflict any more"
		}
		return "files are in conflict"
	}
	return e.State
}

// phrase returns the phrase for a state, or the state itself when there is none.
func phrase(phrases map[string]string, state string) string {
	if words, known := phrases[state]; known {
		return words
	}
	return state
}

var connectionPhrases = map[string]string{
	string(NeverSeen):        "was never reached",
	string(Unreachable):      "went offline",
	string(KeyRefused):       "refuses the API key",
	string(IdentityMismatch): "answers as another device",
	string(PinMismatch):      "shows another certificate",
	string(NotFound):         "has no known address",
	string(Unconfirmed):      "waits for its certificate to be confirmed",
	string(Cloned):           "has its identity on two machines",
}

var configurationPhrases = map[string]string{
	string(ConfigInSync):    "configuration is in sync again",
	string(ConfigUnmanaged): "no template applies any more",
	string(ConfigHeld):      "a change of the configuration waits for consent",
	string(ConfigFailed):    "configuration failed",
	string(ConfigContended): "configuration is contended",
	string(ConfigUnstable):  "configuration is unstable",
}

var folderPhrases = map[string]string{
	"stopped":      "stopped",
	"failedItems":  "some items could not be synced",
	"paused":       "paused",
	"unshared":     "not shared with any device",
	"alone":        "no device that shares the folder is connected",
	"outOfSync":    "differs from the other devices",
	"localChanges": "has local changes",
	"stalled":      "stalled",

	"driveMissing":   "its path or marker is not there",
	"diskNearlyFull": "its disk is nearly full",
	"disagree":       "the devices that share it count different files",

	"behind":       "is behind, and no connected device has what is missing",
	LoggedUpToDate: "runs again",
}

var peersPhrases = map[string]string{
	PeersConnected: "is connected with other devices again",
	PeersAlone:     "is not connected with any other device",
}

var causePhrases = map[string]string{
	"":            "seen for the first time",
	CauseTemplate: "changed by Muster, as templates ask",
	CauseDaemon:   "changed at the daemon",
	CauseRestore:  "an older one was restored",
	CauseAccept:   "what had asked to be let in was added",
}
