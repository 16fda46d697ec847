package view

import "muster/internal/fleet"

// OverviewSources is the input of an overview.
type OverviewSources struct {
	Registry  *fleet.Registry // registry of one scope
	Counts    fleet.Counts
	Attention Attention
	Mode      fleet.Mode // the server's own; "": on
	Stops     []Stop
	Rollouts  []fleet.Rollout
	Pending   []fleet.Pending
	Problems  []fleet.DeviceID          // device of each problem; "": a problem of no single device
	Inside    func(fleet.DeviceID) bool // reports whether the caller may know of a device
	// Impairments are the parts of the service that do not work properly.
	Impairments []fleet.Impairment
}

// Overview has the numbers of a part of the fleet.
type Overview struct {
	fleet.Counts
	Registry       *fleet.Registry // The overview is made of it.
	Mode           fleet.Mode      // the strictest of server and fleet
	Stops          []Stop
	Rollouts       []fleet.Rollout // rollouts that are not over
	PendingDevices int             // number of pending devices
	PendingFolders int             // number of pending folders
	Problems       int
	Troubles       []Trouble      // ordered by severity, the worst first
	Troubled       int            // number of devices with any trouble
	Young          int            // number of devices with something that becomes trouble if it lasts
	Versions       map[string]int // number of devices by version of their daemon; unknown versions are not counted
	Outdated       fleet.Outdated // see Attention
	OutdatedCount  int
	Differing      int // number of devices whose plans are not empty
	Tags           int
	Impairments    []fleet.Impairment
	Receivers      []fleet.Receiver // Empty for a caller with a tag scope.
	Visited        int              // Devices that are visited in turn; 0 for a caller with a tag scope.
}

// MostVersions returns the versions that most of the devices run, at most as many as most says.
func (o Overview) MostVersions(most int) []string { return mostOf(o.Versions, most) }

// differing are the states of devices whose plans are not empty.
var differing = []fleet.Configuration{
	fleet.ConfigPending, fleet.ConfigApplying, fleet.ConfigHeld, fleet.ConfigContended, fleet.ConfigUnstable,
}

// OverviewOf computes an overview.
func OverviewOf(from OverviewSources) Overview {
	out := Overview{Counts: from.Counts, Registry: from.Registry, Impairments: from.Impairments,
		Mode:  fleet.Strictest(from.Registry.Mode.OrOn(), from.Mode.OrOn()),
		Stops: from.Stops, Troubles: from.Attention.Troubles, Troubled: from.Attention.Troubled,
		Young: from.Attention.Young, Versions: from.Attention.Versions, Outdated: from.Attention.Outdated,
		OutdatedCount: from.Attention.OutdatedCount}
	for _, rollout := range from.Rollouts {
		if !rollout.Status.Over() {
			out.Rollouts = append(out.Rollouts, rollout)
		}
	}
	for _, asks := range from.Pending {
		switch {
		case !from.Inside(asks.Device):
		case asks.Folder == "":
			out.PendingDevices++
		default:
			out.PendingFolders++
		}
	}
	for _, device := range from.Problems {
		if from.Inside(device) {
			out.Problems++
		}
	}
	for _, state := range differing {
		out.Differing += from.Counts.Configurations[state]
	}
	return out
}
