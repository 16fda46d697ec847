package cli

import (
	"strings"

	"muster/api"
	"muster/internal/fleet"
)

// folderHelp are the verbs of `muster folder` that help with a state or a finding of a folder.
var folderHelp = map[string]string{
	string(fleet.WaitOutOfSync): "override", string(fleet.WaitLocalChanges): "revert",
	string(fleet.WaitFailedItems): "failed", string(fleet.WaitConflicts): "conflicts",
	string(fleet.WaitAtRisk): "copies", fleet.FolderPaused.String(): "resume",
}

// withCommand adds to the next step for a folder the command that helps, where there is one. device is blank where the
// next step is for several devices.
func withCommand(next, cause, folder, device string) string {
	verb := folderHelp[cause]
	switch {
	case folder == "":
		return next
	case strings.Contains(next, fleet.ResumeThere): // There is on other devices.
		verb, device = "resume", ""
	case verb == "override" && device == "": // An override is for one device.
		verb = "get"
	}
	if verb == "" {
		return next
	}
	command := "muster folder " + verb + " " + argument(folder)
	if device != "" && verb != "copies" {
		command += " --device " + fleet.DeviceID(device).Short()
	}
	return strings.TrimSpace(next + " Type `" + command + "`.")
}

// nextOf is the next step for the state of a folder on a device, or for one of its findings, with the command that
// helps. Without a device in f the next step is for several.
func nextOf(f api.FolderStanding, cause, next string) string {
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
