package fleet

import (
	"slices"
	"strings"
	"time"
)

// ModeStop is a mode that keeps Muster from writing: of the fleet, a tag or a device.
type ModeStop struct {
	Scope ModeScope
	Mode  Mode      // observe or paused
	Since time.Time // zero: not known
	By    string    // who set the mode; "" when that is not known
}

// ModeStops are all modes that keep Muster from writing: the fleet's, then those of tags by name, then those of
// devices in the order of the device list.
func (r *Registry) ModeStops() []ModeStop {
	var stops []ModeStop
	add := func(scope ModeScope, mode Mode) {
		if mode != "" && mode != ModeOn {
			stops = append(stops, ModeStop{Scope: scope, Mode: mode})
		}
	}
	add(ModeScope{}, r.Mode)
	for tag, mode := range r.TagModes {
		add(ModeScope{Tag: tag}, mode)
	}
	for id, device := range r.Devices {
		add(ModeScope{Device: id}, device.Settings.Mode)
	}
	slices.SortFunc(stops, r.compareStops)
	return stops
}

func (r *Registry) compareStops(a, b ModeStop) int {
	if a.Scope.Device == "" || b.Scope.Device == "" { // tags sort after the fleet's "", devices after all tags
		if order := strings.Compare(string(a.Scope.Device), string(b.Scope.Device)); order != 0 {
			return order
		}
		return strings.Compare(string(a.Scope.Tag), string(b.Scope.Tag))
	}
	return CompareDevices(r.Devices[a.Scope.Device].Device, r.Devices[b.Scope.Device].Device)
}
