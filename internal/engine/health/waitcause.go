package health

import (
	"slices"
	"strings"

	"muster/internal/fleet"
)

var connectionCauses = map[fleet.Connection]fleet.WaitCause{
	fleet.PinMismatch: fleet.WaitPinMismatch, fleet.IdentityMismatch: fleet.WaitIdentityMismatch,
	fleet.KeyRefused: fleet.WaitKeyRefused, fleet.Unconfirmed: fleet.WaitUnconfirmed, fleet.Cloned: fleet.WaitCloned,
}

var configurationCauses = map[fleet.Configuration]fleet.WaitCause{
	fleet.ConfigHeld: fleet.WaitHeld, fleet.ConfigFailed: fleet.WaitFailed,
	fleet.ConfigContended: fleet.WaitContended, fleet.ConfigUnstable: fleet.WaitUnstable,
}

// CausesOf returns why a device waits for a person, in the order of fleet.WaitCauses. A nil snapshot is of a device
// that is not watched. awayTooLong is IsAwayTooLong, stale is
// IsStale, and troubles are those of its folders.
func CausesOf(
	state fleet.State,
	s *fleet.Snapshot,
	awayTooLong, stale bool,
	troubles []fleet.FolderTrouble,
) []fleet.WaitCause {
	causes := []fleet.WaitCause{}
	if cause, is := configurationCauses[state.Configuration]; is && !isForBroughtBack(state) {
		causes = append(causes, cause)
	}
	if cause, is := connectionCauses[state.Connection]; is {
		causes = append(causes, cause)
	}
	if state.BroughtBack != "" {
		causes = append(causes, fleet.WaitBroughtBack)
	}
	if s == nil {
		return causes
	}
	devices, folders := false, false
	for _, asks := range s.Pending {
		devices, folders = devices || asks.Folder == "", folders || asks.Folder != ""
	}
	if devices {
		causes = append(causes, fleet.WaitPendingDevice)
	}
	if folders {
		causes = append(causes, fleet.WaitPendingFolder)
	}
	if awayTooLong {
		causes = append(causes, fleet.WaitUnreachable)
	}
	if stale {
		causes = append(causes, fleet.WaitStale)
	}
	for _, cause := range fleet.TroubleCauses {
		if slices.ContainsFunc(troubles, func(t fleet.FolderTrouble) bool { return t.Cause == cause }) {
			causes = append(causes, cause)
		}
	}
	return causes
}

// isForBroughtBack tells whether a device is failed only because revoked devices come back again and again.
func isForBroughtBack(state fleet.State) bool {
	return state.Configuration == fleet.ConfigFailed && state.BroughtBack != "" &&
		strings.Contains(state.BroughtBack, state.Reason)
}
