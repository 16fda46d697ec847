package view

import "muster/internal/fleet"

// OverviewSources are what an overview is made of.
type OverviewSources struct {
	Registry  *fleet.Registry // one scope only
	Counts    fleet.Counts
	Attention Attention
	Mode      fleet.Mode // the server's own; "": on
	Stops     []Stop
	Rollouts  []fleet.Rollout
	Pending   []fleet.Pending
	Problems  []fleet.DeviceID          // one for each problem; "": it is about no device
	Inside    func(fleet.DeviceID) bool // tells the devices that the caller may know of
	// Impairments are what does not work as it should.
	Impairments []fleet.Impairment
}

// Overview is a part of the fleet in numbers.
type Overview struct {
	fleet.Counts
	Registry       *fleet.Registry // The overview is made of it.
	Mode           fleet.Mode      // the strictest of server and fleet
	Stops          []Stop
	Rollouts       []fleet.Rollout // not over
	PendingDevices int             // devices ask to be let in
	PendingFolders int             // folders are offered
	Problems       int
	Troubles       []Trouble      // the worst kind first
	Troubled       int            // devices that have any
	Versions       map[string]int // devices by version of their daemon, where that is known
	Differing      int            // devices whose plans have something to do
	Tags           int
	Impairments    []fleet.Impairment
	Receivers      []fleet.Receiver // Empty for a caller with a tag scope.
	Visited        int              // Devices that are visited in turn; 0 for a caller with a tag scope.
}

// differing are the states of devices whose plans have something to do.
var differing = []fleet.Configuration{
	fleet.ConfigPending, fleet.ConfigApplying, fleet.ConfigHeld, fleet.ConfigContended, fleet.ConfigUnstable,
}

// OverviewOf sums up what the caller may know.
func OverviewOf(from OverviewSources) Overview {
	out := Overview{Counts: from.Counts, Registry: from.Registry, Impairments: from.Impairments,
		Mode:  fleet.Strictest(from.Registry.Mode.OrOn(), from.Mode.OrOn()),
		Stops: from.Stops, Troubles: from.Attention.Troubles, Troubled: from.Attention.Troubled,
		Versions: from.Attention.Versions}
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
