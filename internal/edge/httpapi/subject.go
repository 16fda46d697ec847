package httpapi

import (
	"fmt"

	"muster/internal/fleet"
)

// notOfAPI is the subject of errors that only a program can cause, and not a person who fills in a page. Their texts
// may name parts of a request.
var notOfAPI = fleet.Reference{Subject: fleet.SeeRequest}

// requestf is fleet.Invalidf with the subject notOfAPI.
func requestf(field, format string, args ...any) error {
	e := fleet.Invalidf(field, "%s", fmt.Sprintf(format, args...))
	e.See = notOfAPI
	return e
}

// saysOf is what a page tells a person in the place of a hint that names a path of the API. The page links its own
// place to it.
var saysOf = map[fleet.Subject]string{
	fleet.SeeAPI: "Load the page again, then try again",
	fleet.SeeRequest: "The page and the server do not understand each other, as after an upgrade. Load the page again, " +
		"then try again",
	fleet.SeeDevices:         "All devices",
	fleet.SeeDeviceState:     "The device says why",
	fleet.SeeDevicePlan:      "The plan as it is now",
	fleet.SeeDeviceSettings:  "Settings of the device",
	fleet.SeeDeviceTrust:     "Both certificates, in the settings of the device",
	fleet.SeeRevisions:       "What was seen of the device",
	fleet.SeeTemplates:       "All templates",
	fleet.SeeTemplateHistory: "The template",
	fleet.SeeTags:            "All tags; capital letters count",
	fleet.SeeFolders:         "All folders",
	fleet.SeeRollouts:        "All rollouts",
	fleet.SeeOrders:          "The devices, with the orders to each",
	fleet.SeeConsents:        "What waits now",
	fleet.SeePending:         "What asks to be let in",
	fleet.SeeSinks:           "All sinks",
	fleet.SeeSecrets:         "All secrets",
	fleet.SeeSessions:        "Your sessions",
	fleet.SeeUsers:           "All people",
	fleet.SeeTokens:          "All tokens",
	fleet.SeeEnrollKeys:      "The enrol keys",
	fleet.SeeEnrollments:     "Who asks to be accepted",
	fleet.SeeChannels:        "Who is told of problems",
	fleet.SeeRoutes:          "Which problems are told to whom",
	fleet.SeeSilences:        "The silences",
}
