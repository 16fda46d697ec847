package cli

import (
	"fmt"
	"strings"

	"muster/api"
	"muster/internal/fleet"
)

// folderHelp are the commands that help with a state or a finding of a folder.
var folderHelp = map[string]string{
	string(fleet.WaitOutOfSync):    "muster folder override %s",
	string(fleet.WaitLocalChanges): "muster folder revert %s",
	string(fleet.WaitFailedItems):  "muster folder failed %s",
	string(fleet.WaitConflicts):    "muster folder conflicts %s",
	string(fleet.WaitAtRisk):       "muster folder copies %s",
	fleet.FolderPaused.String():    "muster folder resume %s",
}

// withCommand adds the command that helps to the next step for a folder. device is blank where the
// next step is for several devices.
func withCommand(next, cause, folder, device string) string {
	command := folderHelp[cause]
	switch {
	case strings.Contains(next, fleet.ResumeThere): // There is on other devices.
		command, device = "muster folder resume %s", ""
	case cause == string(fleet.WaitOutOfSync) && device == "": // An override is for one device.
		command = "muster folder get %s"
	}
	if command == "" || folder == "" {
		return next
	}
	command = fmt.Sprintf(command, argument(folder))
	if device != "" && cause != string(fleet.WaitAtRisk) {
		command += " --device " + fleet.DeviceID(device).Short()
	}
	return strings.TrimSpace(next + " Type `" + command + "`.")
}

// isRefused reports whether the command that helps with a cause is an order that a device with this connection does not
// take. A blank connection is not known.
func isRefused(cause, connection string) bool {
	switch cause {
	case string(fleet.WaitOutOfSync), string(fleet.WaitLocalChanges), fleet.FolderPaused.String():
		return connection != "" && connection != string(fleet.Online)
	}
	return false
}

// nextOf is the next step for the state of a folder on a device, or for one of its findings, with the command that
// helps. Without a device in f the next step is for several.
func nextOf(f api.FolderStanding, cause, next string) string {
	if f.DeviceID != "" && isRefused(cause, f.Connection) {
		return next
	}
	if cause != fleet.FolderPaused.String() {
		return withCommand(next, cause, f.Folder, f.DeviceID)
	}
	switch {
	case f.PausedBy != nil && f.PausedBy.Cause == string(fleet.PausedByTemplate):
		return next
	case !f.Paused && f.DeviceID == "":
		return next
	case !f.Paused: // All connections to those that share it are paused.
		return next + " Type `muster device resume " + fleet.DeviceID(f.DeviceID).Short() + "`."
	}
	return withCommand(next, cause, f.Folder, f.DeviceID)
}
