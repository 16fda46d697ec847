package view

import (
	"cmp"
	"slices"

	"muster/internal/fleet"
)

// Revocations returns the revocations of the devices that the caller sees, the newest first.
func Revocations(registry *fleet.Registry, inside func(fleet.DeviceID) bool) []fleet.Revocation {
	all := make([]fleet.Revocation, 0, len(registry.Revocations))
	for id, one := range registry.Revocations {
		if inside(id) {
			all = append(all, one)
		}
	}
	slices.SortFunc(all, func(a, b fleet.Revocation) int {
		return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.Device, b.Device))
	})
	return all
}

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
