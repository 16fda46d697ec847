package app

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"muster/api"
	"muster/internal/fleet"
)

func worst(states []fleet.FolderState) fleet.FolderState {
	if len(states) == 0 {
		return fleet.FolderUpToDate
	}
	return slices.MaxFunc(states, func(a, b fleet.FolderState) int { return cmp.Compare(a, b) })
}

// compareTotals compares the numbers of the fleet with the folders of the devices.
func (c *comparison) compareTotals() {
	byFolder, byDevice := map[string][]fleet.FolderState{}, map[fleet.DeviceID][]fleet.FolderState{}
	disagree, unknown := map[string]bool{}, map[string]int{}
	for id, folders := range c.said.ofDevice {
		for folder, one := range folders {
			state, err := fleet.ParseFolderState(one.State)
			if err != nil {
				c.failf("%v", err)
			}
			disagrees, _ := finding(one, fleet.WaitDisagree)
			disagree[folder] = disagree[folder] || disagrees
			if slices.Contains(past, state) || one.Paused {
				unknown[folder]++
			}
			byFolder[folder], byDevice[id] = append(byFolder[folder], state), append(byDevice[id], state)
		}
	}
	folders, devices := api.FolderCounts{"all": 0}, api.FolderCounts{"all": 0}
	for folder, states := range byFolder {
		is := worst(states)
		if disagree[folder] {
			is = max(is, fleet.FolderDisagree)
		}
		folders["all"]++
		folders[is.String()]++
		counts := api.FolderCounts{"all": len(states)}
		for _, state := range states {
			counts[state.String()]++
		}
		whole := c.said.inFleet[folder]
		if whole.NeedUnknown != unknown[folder] {
			c.failf("what folder %s lacks is said to be unknown on %d devices, want %d", folder, whole.NeedUnknown,
				unknown[folder])
		}
		if whole.State != is.String() || !maps.Equal(whole.Devices, counts) {
			c.failf("folder %s is %s with %v in the fleet, want %s with %v", folder, whole.State, whole.Devices, is,
				counts)
		}
		for _, one := range c.said.overviews {
			if one.Folder == folder && (one.State != is.String() || !maps.Equal(one.Devices, counts) ||
				one.NeedUnknown != unknown[folder]) {
				c.failf("the list of folders has %+v, want %s with %v, not known on %d devices", one, is, counts, unknown[folder])
			}
		}
	}
	for _, states := range byDevice {
		if len(states) > 0 {
			devices["all"]++
			devices[worst(states).String()]++
		}
	}
	if !maps.Equal(c.said.overview.Folders, folders) || !maps.Equal(c.said.overview.DevicesByFolders, devices) {
		c.failf("the overview has %v and %v, want %v and %v", c.said.overview.Folders, c.said.overview.DevicesByFolders,
			folders, devices)
	}
	for _, state := range fleet.FolderStates() {
		name := fmt.Sprintf("{state=%q}", state)
		if got := c.said.metrics["muster_folders"+name]; got != folders[state.String()] {
			c.failf("the metrics have %d folders that are %s, want %d", got, state, folders[state.String()])
		}
		if got := c.said.metrics["muster_devices_by_folders"+name]; got != devices[state.String()] {
			c.failf("the metrics have %d devices that are %s, want %d", got, state, devices[state.String()])
		}
	}
}
