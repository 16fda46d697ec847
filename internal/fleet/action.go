package fleet

import "time"

// DaemonAction is what a person has a daemon do, besides changes of its configuration by templates.
type DaemonAction string

const (
	ActionRestart DaemonAction = "restart" // start anew
	ActionRescan  DaemonAction = "rescan"  // compare its folders with the disk
	ActionPause   DaemonAction = "pause"   // pause the connections to all other devices
	ActionResume  DaemonAction = "resume"  // the opposite of pause
	ActionUpgrade DaemonAction = "upgrade" // install the newest release of Syncthing and start anew
)

// DaemonActions are all of them.
var DaemonActions = []DaemonAction{ActionRestart, ActionRescan, ActionPause, ActionResume, ActionUpgrade}

// ActionOrder says what a daemon is to do.
type ActionOrder struct {
	Action DaemonAction
	Folder string // of a rescan; "": all
	Major  bool   // of an upgrade: also to another major version
}

// ActionStatus says how far a run of an action is.
type ActionStatus string

const (
	ActionRunning     ActionStatus = "running"
	ActionDone        ActionStatus = "done"
	ActionFailed      ActionStatus = "failed"      // it ended at a device; those after it were not touched
	ActionInterrupted ActionStatus = "interrupted" // the server stopped meanwhile; nothing goes on
)

// ActionRun is one order for a device, or for the devices with a tag, one after the other.
type ActionRun struct {
	ID int64
	ActionOrder
	Tag     Tag        // "": of one device
	Devices []DeviceID // as they carried the tag at the beginning, in the order in which they are reached
	Done    int        // of Devices, from the first, those skipped included
	Skipped []DeviceID // of those, the ones that could not be reached at their turn
	Status  ActionStatus
	Reason  string // for a person
	By      string
	BeganAt time.Time
	EndedAt time.Time // zero while it runs
}

// Release is what a daemon knows of its newest release.
type Release struct {
	Running string
	Newest  string
	Newer   bool // Newest is newer than Running
	Major   bool // Newest is newer, and another major version
}
