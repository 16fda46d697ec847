package view

import (
	"slices"

	"muster/internal/fleet"
)

// StillOn returns the devices whose daemons have a revoked device in their configuration, by label, and the number of
// devices of which that is not known. known says of each device that was read whether its daemon has the revoked
// device. inside reports whether the caller sees a device.
func StillOn(registry *fleet.Registry, revoked fleet.DeviceID, known map[fleet.DeviceID]bool,
	inside func(fleet.DeviceID) bool) (on []fleet.DeviceID, unknown int) {
	for id := range registry.Devices {
		if id == revoked || !inside(id) {
			continue
		}
		if has, read := known[id]; !read {
			unknown++
		} else if has {
			on = append(on, id)
		}
	}
	slices.SortFunc(on, func(a, b fleet.DeviceID) int {
		return fleet.CompareDevices(registry.Devices[a].Device, registry.Devices[b].Device)
	})
	return on, unknown
}
