package view

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"muster/internal/fleet"
)

// StopKind says what a stop applies to.
type StopKind string

const (
	StopOfServer StopKind = "server" // the mode of the command line
	StopOfFleet  StopKind = "fleet"
	StopOfTag    StopKind = "tag"
	StopOfDevice StopKind = "device"
)

// StopKinds lists the kinds in the order in which stops are listed.
var StopKinds = []StopKind{StopOfServer, StopOfFleet, StopOfTag, StopOfDevice}

// Stop is a mode that prevents Muster from writing to some devices.
type Stop struct {
	fleet.ModeStop
	Kind    StopKind
	Devices int // number of devices of the registry that are stopped
}

// Stops returns the stops of a registry. The stop of the mode with which the server was started comes first. server ""
// means the mode on.
func Stops(registry *fleet.Registry, server fleet.Mode) []Stop {
	carriers := map[fleet.Tag]int{}
	for _, device := range registry.Devices {
		for _, tag := range device.Tags {
			carriers[tag]++
		}
	}
	var stops []Stop
	if server.OrOn() != fleet.ModeOn {
		stops = append(stops, Stop{fleet.ModeStop{Mode: server}, StopOfServer, len(registry.Devices)})
	}
	for _, stop := range registry.ModeStops() {
		switch {
		case stop.Scope.Tag != "":
			stops = append(stops, Stop{stop, StopOfTag, carriers[stop.Scope.Tag]})
		case stop.Scope.Device != "":
			stops = append(stops, Stop{stop, StopOfDevice, 1})
		default:
			stops = append(stops, Stop{stop, StopOfFleet, len(registry.Devices)})
		}
	}
	return stops
}

// Stops returns the stops of a registry and of this server.
func (v *View) Stops(ctx context.Context, registry *fleet.Registry) []Stop {
	return ofRegistry(ctx, v, registry, "stops", func() []Stop { return Stops(registry, v.Mode) })
}

// Stops returns the stops that concern devices of the caller's scope.
func (s *Summaries) Stops(ctx context.Context, registry *fleet.Registry) []Stop {
	return s.View.Stops(ctx, registry)
}

// Dated returns a stop with who set it and when. Both are unknown for the stop of the server.
func (s *Summaries) Dated(ctx context.Context, stop Stop) Stop {
	if stop.Kind != StopOfServer {
		stop.ModeStop = s.DatedStop(ctx, stop.ModeStop)
	}
	return stop
}

// Overruled says why a mode that somebody sets has no effect: the server was started with a stricter one. It returns
// "" when the mode has effect.
func (s *Summaries) Overruled(mode fleet.Mode) string {
	server := s.View.Mode
	if server == "" || fleet.Strictest(mode, server) == mode {
		return ""
	}
	return "the server was started with --configurator=" + string(server) +
		", which is stricter: start it without to have this mode in force"
}

// Concerns reports whether the stop prevents Muster from writing to a device. A nil device is one that was deleted.
func (s Stop) Concerns(device *fleet.Registered) bool {
	switch {
	case device == nil:
		return false
	case s.Kind == StopOfTag:
		return slices.Contains(device.Tags, s.Scope.Tag)
	case s.Kind == StopOfDevice:
		return s.Scope.Device == device.ID
	}
	return true
}

// ConcernsTag reports whether the stop prevents Muster from writing to any device with a tag. Stops of the server and
// of the fleet concern every tag, even one that no device has yet.
func (s Stop) ConcernsTag(tag fleet.Tag, registry *fleet.Registry) bool {
	if s.Kind == StopOfServer || s.Kind == StopOfFleet || s.Kind == StopOfTag && s.Scope.Tag == tag {
		return true
	}
	for _, device := range registry.Devices {
		if slices.Contains(device.Tags, tag) && s.Concerns(device) {
			return true
		}
	}
	return false
}

// Cursor returns the position of the stop in the list of Stops.
func (s Stop) Cursor(registry *fleet.Registry) string {
	switch s.Kind {
	case StopOfTag:
		return "tag." + string(s.Scope.Tag)
	case StopOfDevice:
		return "device." + DeviceCursor(registry.Devices[s.Scope.Device])
	}
	return string(s.Kind) + "."
}

// Beyond reports whether the stop comes after the position of a cursor.
func (s Stop) Beyond(cursor string, registry *fleet.Registry) (bool, error) {
	kind, position, found := strings.Cut(cursor, ".")
	at := slices.Index(StopKinds, StopKind(kind))
	if at < 0 || !found {
		return false, errors.New("no cursor of a stop")
	}
	order := cmp.Compare(slices.Index(StopKinds, s.Kind), at)
	switch {
	case order != 0:
		return order > 0, nil
	case s.Kind == StopOfTag:
		return string(s.Scope.Tag) > position, nil
	case s.Kind == StopOfDevice:
		return BeyondDevice(position, registry.Devices[s.Scope.Device])
	}
	return false, nil
}
