package httpapi

import (
	"context"
	"net/http"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"muster/api"
	"muster/internal/auth"
	"muster/internal/fleet"
)

// States says how Muster stands with a device. A registered device always has a state.
type States interface {
	State(ctx context.Context, id fleet.DeviceID) (fleet.State, error)
}

func (s *server) stateRoutes() []route {
	return []route{
		{method: http.MethodGet, path: Prefix + "/devices/{deviceID}/state", name: "getDeviceState", summary: "How Muster stands with a device, why, and what comes next",
			permission: auth.Read, reply: reflect.TypeFor[api.DeviceState](), handle: s.getState},
		{method: http.MethodGet, path: Prefix + "/states", name: "listStates", summary: "The states of all devices, in the order of the device list",
			permission: auth.Read, query: []*huma.Param{searchParam, tagParam, limitParam, afterParam},
			reply: reflect.TypeFor[[]api.ListedState](), handle: s.listStates},
	}
}

func (s *server) getState(r *request) (reply, error) {
	device, err := s.registered(r)
	if err != nil {
		return reply{}, err
	}
	state, err := s.States.State(r.Context(), device.ID)
	if err != nil {
		return reply{}, err
	}
	return show(wireState(state))
}

func (s *server) listStates(r *request) (reply, error) {
	q, err := r.listQuery()
	if err != nil {
		return reply{}, err
	}
	registry, err := s.Registry.Registry(r.Context())
	if err != nil {
		return reply{}, err
	}
	type standing struct {
		device *fleet.Registered
		state  fleet.State
	}
	var all []standing
	for _, device := range sortedDevices(registry) {
		state, err := s.States.State(r.Context(), device.ID)
		switch {
		case fleet.CodeOf(err) == fleet.CodeNotFound: // deleted since
		case err != nil:
			return reply{}, err
		default:
			all = append(all, standing{device, state})
		}
	}
	return showList(r, q, all, listing[standing, api.ListedState]{
		matches: func(one standing) bool { return q.picks(one.device) },
		cursor:  func(one standing) string { return deviceCursor(one.device) },
		beyond:  func(cursor string, one standing) (bool, error) { return beyondDevice(cursor, one.device) },
		wire: func(one standing) api.ListedState {
			return api.ListedState{DeviceID: string(one.device.ID), DeviceState: wireState(one.state)}
		},
	})
}

func wireState(state fleet.State) api.DeviceState {
	return api.DeviceState{
		Connection: string(state.Connection), Configuration: string(state.Configuration),
		Address: state.Address, FoundBy: state.FoundBy, LastSeen: moment(state.LastSeen), Since: moment(state.Since),
		Reason: state.Reason, Next: state.Next,
	}
}

// moment is null for the zero time.
func moment(t time.Time) *api.Time {
	if t.IsZero() {
		return nil
	}
	return &api.Time{Time: t}
}
