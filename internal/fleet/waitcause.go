package fleet

import "slices"

// WaitCause is the reason why something waits for a person.
type WaitCause string

// The causes that concern a registered device.
const (
	WaitHeld             WaitCause = "held"
	WaitFailed           WaitCause = "failed"
	WaitContended        WaitCause = "contended"
	WaitUnstable         WaitCause = "unstable"
	WaitPinMismatch      WaitCause = "pinMismatch"
	WaitIdentityMismatch WaitCause = "identityMismatch"
	WaitKeyRefused       WaitCause = "keyRefused"
	WaitUnconfirmed      WaitCause = "unconfirmed"
	WaitBroughtBack      WaitCause = "broughtBack"
	WaitCloned           WaitCause = "cloned"
	WaitPendingDevice    WaitCause = "pendingDevice"
	WaitPendingFolder    WaitCause = "pendingFolder"
	WaitUnreachable      WaitCause = "unreachable"
	WaitStale            WaitCause = "stale"
	WaitFolderStopped    WaitCause = "folderStopped"
	WaitFailedItems      WaitCause = "failedItems"
	WaitStalled          WaitCause = "stalled"
	WaitAlone            WaitCause = "alone"
	WaitOutOfSync        WaitCause = "outOfSync"
	WaitLocalChanges     WaitCause = "localChanges"
	WaitDisagree         WaitCause = "disagree"
	WaitConflicts        WaitCause = "conflicts"
	WaitDiskNearlyFull   WaitCause = "diskNearlyFull"
	WaitDriveMissing     WaitCause = "driveMissing"
	WaitAtRisk           WaitCause = "atRisk"
)

// The causes that do not concern a registered device.
const (
	WaitEnrollment      WaitCause = "enrollment"
	WaitRolloutHalted   WaitCause = "rolloutHalted"
	WaitRolloutPaused   WaitCause = "rolloutPaused"
	WaitRolloutApproval WaitCause = "rolloutApproval"
	WaitStop            WaitCause = "stop"
	WaitImpairment      WaitCause = "impairment"
	WaitReceiver        WaitCause = "receiver"
)

// WaitCauses lists the causes that concern a device.
var WaitCauses = []WaitCause{
	WaitHeld, WaitFailed, WaitContended, WaitUnstable, WaitPinMismatch, WaitIdentityMismatch, WaitKeyRefused,
	WaitUnconfirmed, WaitCloned, WaitBroughtBack, WaitPendingDevice, WaitPendingFolder, WaitUnreachable, WaitStale,
	WaitFolderStopped, WaitDriveMissing, WaitDiskNearlyFull, WaitAtRisk, WaitFailedItems, WaitStalled, WaitAlone,
	WaitDisagree, WaitOutOfSync, WaitLocalChanges, WaitConflicts,
}

// TroubleCauses lists the causes which mean that files are not where they should be, the worst first.
var TroubleCauses = []WaitCause{
	WaitUnreachable, WaitFolderStopped, WaitDriveMissing, WaitDiskNearlyFull, WaitAtRisk, WaitFailedItems, WaitStalled,
	WaitAlone, WaitDisagree, WaitOutOfSync, WaitLocalChanges, WaitConflicts,
}

// OfFolder reports whether the cause concerns a folder on a device.
func (c WaitCause) OfFolder() bool { return c != WaitUnreachable && slices.Contains(TroubleCauses, c) }

// Severity says how urgent a waiting thing is.
type Severity string

const (
	Critical Severity = "critical"
	Warning  Severity = "warning"
	Info     Severity = "info"
)

// Severities lists all severities, the worst first.
var Severities = []Severity{Critical, Warning, Info}

// WaitText is the text about a cause for people.
type WaitText struct {
	Severity Severity
	Reason   string // used when the devices have different reasons
	Next     string // used when the devices have different next steps
	// ByReason means that devices with different reasons must be handled one by one.
	ByReason bool
}

// WaitTexts has an entry for each cause.
var WaitTexts = map[WaitCause]WaitText{
	WaitHeld:   {Severity: Warning, ByReason: true},
	WaitFailed: {Severity: Critical, ByReason: true},
	WaitContended: {Severity: Warning, ByReason: true,
		Next: "Agree with those who set the key back, change the template, or apply the plan."},
	WaitUnstable: {Severity: Warning, ByReason: true, Next: "Make the templates say the same, or apply the plan."},
	WaitPinMismatch: {Severity: Critical,
		Reason: "another certificate is shown than the pinned one: no API key is sent",
		Next:   "Compare each fingerprint with that of the daemon's own certificate, then trust it."},
	WaitIdentityMismatch: {Severity: Critical, Reason: "another daemon answers at the address",
		Next: "Correct the address of each device."},
	WaitKeyRefused: {Severity: Warning, Reason: "the daemons do not take their API keys",
		Next: "Run `muster enroll` on each daemon's machine, or copy its API key (Actions > Settings > GUI)."},
	WaitUnconfirmed: {Severity: Warning,
		Reason: "where they were found is anybody's word, and no certificate is pinned: no API key is sent",
		Next:   "Compare each fingerprint with that of the daemon's own certificate, then trust it."},
	WaitCloned: {Severity: Critical, ByReason: true},
	WaitBroughtBack: {Severity: Warning, ByReason: true,
		Next: "Find out who brings it back, and take it out there too. This is over an hour after the last time."},
	WaitPendingDevice: {Severity: Info, Next: "Accept it, or dismiss it: the device may ask again."},
	WaitPendingFolder: {Severity: Info, Next: "Accept it, or dismiss it: the device may ask again."},
	WaitUnreachable: {Severity: Warning, Reason: "their daemons do not answer",
		Next: "Look at each machine: whether it runs, has a network, and runs Syncthing."},
	WaitStale: {Severity: Warning, Reason: "not seen for longer than the setting staleAfter allows",
		Next: "Revoke each device that is gone for good: `muster device revoke DEVICE`. Where it only rests, give a longer " +
			"time in the setting staleAfter."},
	WaitFolderStopped: {Severity: Critical, Reason: "the daemons stopped the folder",
		Next: "Do NOT put an empty folder where one is missing: its files would be deleted on all other devices. " +
			"What else to do depends on the reason of each device."},
	WaitFailedItems: {Severity: Warning, Reason: "items could not be synced",
		Next: "Look at the items and their reasons."},
	WaitStalled: {Severity: Warning, Reason: "something is missing, a connected device has it, and nothing moves",
		Next: "Look at the log of the daemons, and at their rate limits."},
	WaitAlone: {Severity: Warning, Reason: "no device that shares the folder is connected",
		Next: "Start one of the devices that share it, or mend the network between them."},
	WaitOutOfSync: {Severity: Warning, Reason: "the other devices have something else than a send-only folder",
		Next: "Order override to have them take what the device has, or make the folder send and receive."},
	WaitLocalChanges: {Severity: Info, Reason: "items of a receive-only folder were changed on the device",
		Next: "Order revert to undo them, which deletes what was added, or make the folder send and receive."},
	WaitDisagree: {Severity: Warning, Reason: "devices count different files, and nothing moves",
		Next: "Compare what the devices have, and rescan the folder on each."},
	WaitAtRisk: {Severity: Critical,
		Reason: "data of a folder is proven to be on fewer devices than a policy of copies asks for",
		Next:   "Look at what each device holds, and at what is in the way."},
	WaitConflicts: {Severity: Info, Reason: "files were changed on two devices at once, and both are kept",
		Next: "Compare each pair, keep what is right, and delete the other."},
	WaitDiskNearlyFull: {Severity: Warning, Reason: "the disk of a folder is nearly full", Next: "Make room on it."},
	WaitDriveMissing: {Severity: Critical, Reason: "the path of a folder is not there, as the device's agent says",
		Next: "Mount the disk. Do NOT put an empty folder in its place: its files would be deleted on all other devices."},
	WaitEnrollment: {Severity: Info, Reason: "agents of devices that are not registered ask to be accepted",
		Next: "Compare each device ID with that of the machine, then accept or reject it."},
	WaitRolloutHalted:   {Severity: Critical},
	WaitRolloutPaused:   {Severity: Info},
	WaitRolloutApproval: {Severity: Warning},
	WaitStop:            {Severity: Info, Next: "Have Muster write again when the reason is gone."},
	WaitImpairment:      {Severity: Warning},
	WaitReceiver: {Severity: Warning,
		Next: "Mend the receiver, or start the server without it. Messages are sent again by themselves."},
}
