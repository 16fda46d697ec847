package httpapi

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"muster/api"
	"muster/internal/auth"
	"muster/internal/fleet"
)

// maxOverviewStops is how many stops the overview shows; the list of stops has all.
const maxOverviewStops = 100

// scopedStop is a stop with the kind of its scope.
type scopedStop struct {
	kind stopKind
	fleet.ModeStop
}

// stopKind is what a stop is of, as on the wire.
type stopKind string

const (
	stopOfServer stopKind = "server" // by the mode that the server was started with
	stopOfFleet  stopKind = "fleet"
	stopOfTag    stopKind = "tag"
	stopOfDevice stopKind = "device"
)

// stopKinds are in the order of the list.
var stopKinds = []stopKind{stopOfServer, stopOfFleet, stopOfTag, stopOfDevice}

func (s *server) stopRoutes() []route {
	device := queryParam("device", "Only what stops the device with this ID", &huma.Schema{Type: huma.TypeString})
	tag := queryParam("tag", "Only what stops some device with this tag", &huma.Schema{Type: huma.TypeString})
	return []route{{
		method: http.MethodGet, path: Prefix + "/stops", name: "listStops", permission: auth.Read,
		summary: "Everything that keeps Muster from writing: of the server, the fleet, tags and devices; the strictest wins",
		query:   []*huma.Param{device, tag, limitParam, afterParam},
		reply:   reflect.TypeFor[[]api.ModeStop](), handle: s.listStops,
	}}
}

func (s *server) listStops(r *request) (reply, error) {
	registry, err := s.Registry.Registry(r.Context())
	if err != nil {
		return reply{}, err
	}
	q, err := r.listQuery()
	if err != nil {
		return reply{}, err
	}
	device, err := s.chosenDevice(r)
	if err != nil {
		return reply{}, err
	}
	return showList(r, q, s.modeStops(registry), listing[scopedStop, api.ModeStop]{
		matches: func(stop scopedStop) bool {
			return (device == "" || stop.concerns(registry.Devices[device])) && stop.concernsTag(q.tag, registry)
		},
		cursor: func(stop scopedStop) string { return stop.cursor(registry) },
		beyond: func(cursor string, stop scopedStop) (bool, error) {
			return stop.beyond(cursor, registry)
		},
		wire: s.wireStops(r.Context(), registry),
	})
}

// concerns tells whether the stop keeps Muster from writing to a device; nil is a device that is gone.
func (stop scopedStop) concerns(device *fleet.Registered) bool {
	switch {
	case device == nil:
		return false
	case stop.kind == stopOfTag:
		return slices.Contains(device.Tags, stop.Scope.Tag)
	case stop.kind == stopOfDevice:
		return stop.Scope.Device == device.ID
	}
	return true
}

// concernsTag tells whether the stop keeps Muster from writing to some device with a tag. A stop of no device in
// particular concerns a tag that no device carries yet, too; so does every stop where no tag is asked for.
func (stop scopedStop) concernsTag(tag fleet.Tag, registry *fleet.Registry) bool {
	if tag == "" || stop.kind == stopOfTag && stop.Scope.Tag == tag {
		return true
	}
	if stop.kind != stopOfTag && stop.kind != stopOfDevice {
		return true
	}
	for _, device := range registry.Devices {
		if slices.Contains(device.Tags, tag) && stop.concerns(device) {
			return true
		}
	}
	return false
}

// cursor names the place of the stop in the list.
func (stop scopedStop) cursor(registry *fleet.Registry) string {
	switch stop.kind {
	case stopOfTag:
		return "tag." + string(stop.Scope.Tag)
	case stopOfDevice:
		return "device." + deviceCursor(registry.Devices[stop.Scope.Device])
	}
	return string(stop.kind) + "."
}

// beyond tells whether the stop comes after a place in the list.
func (stop scopedStop) beyond(cursor string, registry *fleet.Registry) (bool, error) {
	kind, place, found := strings.Cut(cursor, ".")
	at := slices.Index(stopKinds, stopKind(kind))
	if at < 0 || !found {
		return false, errors.New("no cursor of a stop")
	}
	order := cmp.Compare(slices.Index(stopKinds, stop.kind), at)
	switch {
	case order != 0:
		return order > 0, nil
	case stop.kind == stopOfTag:
		return string(stop.Scope.Tag) > place, nil
	case stop.kind == stopOfDevice:
		return beyondDevice(place, registry.Devices[stop.Scope.Device])
	}
	return false, nil
}

// modeStops are what keeps Muster from writing, the mode that the server was started with first.
func (s *server) modeStops(registry *fleet.Registry) []scopedStop {
	var stops []scopedStop
	if s.Ceiling != "" && s.Ceiling != fleet.ModeOn {
		stops = append(stops, scopedStop{stopOfServer, fleet.ModeStop{Mode: s.Ceiling}})
	}
	for _, stop := range registry.ModeStops() {
		kind := stopOfFleet
		switch {
		case stop.Scope.Tag != "":
			kind = stopOfTag
		case stop.Scope.Device != "":
			kind = stopOfDevice
		}
		stops = append(stops, scopedStop{kind, stop})
	}
	return stops
}

// wireStops gives what makes api.ModeStops. It counts the carriers of all tags once.
func (s *server) wireStops(ctx context.Context, registry *fleet.Registry) func(scopedStop) api.ModeStop {
	carriers := map[fleet.Tag]int{}
	for _, device := range registry.Devices {
		for _, tag := range device.Tags {
			carriers[tag]++
		}
	}
	return func(stop scopedStop) api.ModeStop {
		wire := api.ModeStop{Scope: string(stop.kind), Mode: string(stop.Mode)}
		if stop.kind != stopOfServer {
			dated := s.Settings.DatedStop(ctx, stop.ModeStop)
			wire.Since, wire.By = moment(dated.Since), dated.By
		}
		switch stop.kind {
		case stopOfTag:
			wire.Tag, wire.Devices = string(stop.Scope.Tag), carriers[stop.Scope.Tag]
		case stopOfDevice:
			wire.DeviceID, wire.Devices = string(stop.Scope.Device), 1
			if device := registry.Devices[stop.Scope.Device]; device != nil {
				wire.Label = device.Label
			}
		default:
			wire.Devices = len(registry.Devices)
		}
		return wire
	}
}
