package health

import "muster/internal/fleet"

// Cause is why a device waits for a person.
type Cause string

// The causes of a device.
const (
	Held             Cause = "held"
	Failed           Cause = "failed"
	Contended        Cause = "contended"
	Unstable         Cause = "unstable"
	PinMismatch      Cause = "pinMismatch"
	IdentityMismatch Cause = "identityMismatch"
	KeyRefused       Cause = "keyRefused"
	Unconfirmed      Cause = "unconfirmed"
	Cloned           Cause = "cloned"
	PendingDevice    Cause = "pendingDevice"
	PendingFolder    Cause = "pendingFolder"
)

// Causes are all of them.
var Causes = []Cause{
	Held, Failed, Contended, Unstable, PinMismatch, IdentityMismatch, KeyRefused, Unconfirmed, Cloned, PendingDevice,
	PendingFolder,
}

var connectionCauses = map[fleet.Connection]Cause{
	fleet.PinMismatch: PinMismatch, fleet.IdentityMismatch: IdentityMismatch, fleet.KeyRefused: KeyRefused,
	fleet.Unconfirmed: Unconfirmed, fleet.Cloned: Cloned,
}

var configurationCauses = map[fleet.Configuration]Cause{
	fleet.ConfigHeld: Held, fleet.ConfigFailed: Failed, fleet.ConfigContended: Contended, fleet.ConfigUnstable: Unstable,
}

// CausesOf are why a device waits for a person, in the order of Causes. A nil snapshot is of a device that is not
// watched.
func CausesOf(state fleet.State, s *fleet.Snapshot) []Cause {
	causes := []Cause{}
	if cause, is := configurationCauses[state.Configuration]; is {
		causes = append(causes, cause)
	}
	if cause, is := connectionCauses[state.Connection]; is {
		causes = append(causes, cause)
	}
	if s == nil {
		return causes
	}
	devices, folders := false, false
	for _, asks := range s.Pending {
		devices, folders = devices || asks.Folder == "", folders || asks.Folder != ""
	}
	if devices {
		causes = append(causes, PendingDevice)
	}
	if folders {
		causes = append(causes, PendingFolder)
	}
	return causes
}
