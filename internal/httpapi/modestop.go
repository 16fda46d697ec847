package httpapi

import (
	"context"

	"muster/api"
	"muster/internal/fleet"
)

// modeStops are what keeps Muster from writing, the mode that the server was started with first.
func (s *server) modeStops(ctx context.Context, registry *fleet.Registry) []api.ModeStop {
	all := s.Settings.ModeStops(ctx)
	stops := make([]api.ModeStop, 0, len(all)+1)
	if s.Ceiling != "" && s.Ceiling != fleet.ModeOn {
		stops = append(stops, api.ModeStop{Scope: "server", Mode: string(s.Ceiling), Devices: len(registry.Devices)})
	}
	for _, stop := range all {
		stops = append(stops, wireStop(registry, stop))
	}
	return stops
}

func wireStop(registry *fleet.Registry, stop fleet.ModeStop) api.ModeStop {
	wire := api.ModeStop{Mode: string(stop.Mode), Since: moment(stop.Since), By: stop.By}
	switch {
	case stop.Scope.Tag != "":
		wire.Scope, wire.Tag, wire.Devices = "tag", string(stop.Scope.Tag), registry.Carriers(stop.Scope.Tag)
	case stop.Scope.Device != "":
		wire.Scope, wire.DeviceID, wire.Devices = "device", string(stop.Scope.Device), 1
		if device := registry.Devices[stop.Scope.Device]; device != nil {
			wire.Label = device.Label
		}
	default:
		wire.Scope, wire.Devices = "fleet", len(registry.Devices)
	}
	return wire
}
