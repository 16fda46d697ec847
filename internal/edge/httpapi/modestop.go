package httpapi

import (
	"context"
	"net/http"
	"reflect"

	"muster/api"
	"muster/internal/edge/auth"
	"muster/internal/engine/view"
	"muster/internal/fleet"
)

// maxOverviewStops is how many stops the overview shows; the list of stops has all.
const maxOverviewStops = 100

var (
	stoppedDevice = deviceParam("Only what stops the device with this ID")
	stoppedTag    = tagNamed("Only what stops some device with this tag")
)

// Stops says what keeps Muster from writing; see view.Summaries.
type Stops interface {
	// Stops are those of a registry, and of the server.
	Stops(ctx context.Context, registry *fleet.Registry) []view.Stop
	// Dated is a stop with who set it and when, as far as that is known.
	Dated(ctx context.Context, stop view.Stop) view.Stop
	// Overruled says why a mode that is set is not in force; "": it is.
	Overruled(mode fleet.Mode) string
}

// StopHandlers list what keeps Muster from writing.
type StopHandlers struct {
	*base
	Stops Stops
}

func (s StopHandlers) routes(b *base) []route {
	s.base = b
	return []route{{
		method: http.MethodGet, path: Prefix + "/stops", name: "listStops", permission: auth.Read,
		summary: "Everything that keeps Muster from writing: of the server, the fleet, tags and devices; the strictest wins",
		query:   []parameter{stoppedDevice, stoppedTag, limitParam, afterParam},
		reply:   reflect.TypeFor[[]api.ModeStop](), looksUp: true, handle: s.ofRegistry(s.listStops),
	}}
}

func (s StopHandlers) listStops(r *request, registry *fleet.Registry) (reply, error) {
	q, err := r.listQuery()
	if err != nil {
		return reply{}, err
	}
	device, err := s.chosenDevice(r, stoppedDevice)
	if err != nil {
		return reply{}, err
	}
	return showList(r, q, s.Stops.Stops(r.Context(), registry), listing[view.Stop, api.ModeStop]{
		matches: func(stop view.Stop) bool {
			return (device == "" || stop.Concerns(registry.Devices[device])) &&
				(q.tag == "" || stop.ConcernsTag(q.tag, registry))
		},
		cursor: func(stop view.Stop) string { return stop.Cursor(registry) },
		beyond: func(cursor string, stop view.Stop) (bool, error) { return stop.Beyond(cursor, registry) },
		wire:   func(stop view.Stop) api.ModeStop { return wireStop(s.Stops.Dated(r.Context(), stop), registry) },
	})
}

func wireStop(stop view.Stop, registry *fleet.Registry) api.ModeStop {
	wire := api.ModeStop{Scope: string(stop.Kind), Mode: string(stop.Mode), Tag: string(stop.Scope.Tag),
		DeviceID: string(stop.Scope.Device), Devices: stop.Devices, Since: moment(stop.Since), By: stop.By}
	if device := registry.Devices[stop.Scope.Device]; device != nil {
		wire.Label = device.Label
	}
	return wire
}
