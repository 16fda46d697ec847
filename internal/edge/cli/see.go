package cli

import (
	"strings"

	"muster/internal/fleet"
)

// commandsFor say by which command a person looks at what an error is about. {} is the device or template.
var commandsFor = map[fleet.Subject]string{
	fleet.SeeAPI: "Type the command again. This program and the server may be of different versions: `muster version " +
		"--running` shows that of the server.",
	fleet.SeeRequest: "The server does not know the request. This program and the server may be of different versions: " +
		"`muster version --running` shows that of the server.",
	fleet.SeeDevices:         "`muster device list` lists all; `muster device add ID` registers one.",
	fleet.SeeDeviceState:     "`muster status {}` says why, and what to do.",
	fleet.SeeDevicePlan:      "`muster apply {}` shows the plan as it is now.",
	fleet.SeeDeviceSettings:  "`muster device settings {}` shows the settings, `muster status {}` what is in the way.",
	fleet.SeeDeviceTrust:     "`muster device trust {}` shows both certificates: trust the daemon's own.",
	fleet.SeeRevisions:       "`muster revision list {}` lists those that are there.",
	fleet.SeeTemplates:       "`muster template list` lists all; `muster template put FILE` makes one.",
	fleet.SeeTemplateHistory: "`muster template get {}` shows the template as it is now.",
	fleet.SeeTags:            "`muster tag list` lists all. Capital letters count.",
	fleet.SeeFolders:         "`muster folder list` lists all by their IDs. The ID of a folder is not its label.",
	fleet.SeeRollouts:        "`muster rollout list` lists all.",
	fleet.SeeOrders:          "`muster order list` lists all.",
	fleet.SeeConsents:        "`muster consent list` shows what waits now: answer that.",
	fleet.SeePending:         "`muster pending list` lists all that ask.",
	fleet.SeeSinks:           "`muster sink list` lists all.",
	fleet.SeeSecrets:         "`muster secret list` lists all.",
	fleet.SeeSessions:        "`muster session list` lists all.",
	fleet.SeeUsers:           "`muster user list` lists all.",
	fleet.SeeTokens:          "`muster token list` lists all.",
	fleet.SeeEnrollKeys:      "`muster enroll-key list` lists all; `muster enroll-key create` makes one.",
	fleet.SeeChannels:        "`muster channel list` lists all.",
	fleet.SeeRoutes:          "`muster route list` lists all.",
	fleet.SeeSilences:        "`muster silence list` lists all.",
	fleet.SeeEnrollments:     "`muster enrollment list` lists all that ask, and those that were rejected.",
}

// commandToSee says by which command a person looks at a subject, "" for none or one of a later server.
func commandToSee(see fleet.Reference) string {
	about := see.ID
	switch {
	case see.Subject == fleet.SeeTemplateHistory && about == "":
		about = "TEMPLATE"
	case about == "":
		about = "DEVICE"
	default:
		about, _, _ = strings.Cut(about, "-") // The first letters of a device ID are enough.
	}
	return strings.ReplaceAll(commandsFor[see.Subject], "{}", printable(about))
}
