package httpapi

import (
	"cmp"
	"context"
	"net/http"
	"reflect"
	"slices"
	"time"

	"muster/api"
	"muster/internal/edge/auth"
	"muster/internal/engine/view"
	"muster/internal/fleet"
)

// States says how Muster stands with a device. A registered device always has a state.
type States interface {
	State(ctx context.Context, id fleet.DeviceID) (fleet.State, error)
}

// ListedStates are the states of many devices at once; see view.View.
type ListedStates interface {
	// States are those of a registry, in the order of the device list.
	States(ctx context.Context, registry *fleet.Registry) ([]*view.ListedState, error)
	// WorstFolder is the folder of a device that is worst.
	WorstFolder(ctx context.Context, id fleet.DeviceID) fleet.WorstFolder
}

const ofStates = "Only devices in this state, or in one of these"

var (
	connectionParam    = statesParam("connection", ofStates, fleet.Connections())
	configurationParam = statesParam("configuration", ofStates, fleet.Configurations())
)

// StateHandlers show how Muster stands with devices.
type StateHandlers struct {
	*base
	States States
	Listed ListedStates
}

func (s StateHandlers) routes(b *base) []route {
	s.base = b
	return []route{
		{method: http.MethodGet, path: Prefix + "/devices/{deviceID}/state", name: "getDeviceState",
			summary:    "How Muster stands with a device, why, and what comes next",
			permission: auth.Read, reply: reflect.TypeFor[api.DeviceState](), handle: s.ofDevice(s.getState)},
		{method: http.MethodGet, path: Prefix + "/states", name: "listStates",
			summary:    "The states of all devices, in the order of the device list",
			permission: auth.Read, query: []parameter{
				searchParam,
				tagParam,
				connectionParam,
				configurationParam,
				limitParam,
				afterParam,
			},
			reply: reflect.TypeFor[[]api.ListedState](), handle: s.ofList(s.listStates)},
	}
}

// stateQuery is which states a client asks for. Empty lists ask for all.
type stateQuery struct {
	connections    []fleet.Connection
	configurations []fleet.Configuration
}

func (r *request) stateQuery() (q stateQuery, err error) {
	err = cmp.Or(connectionParam.read(r, &q.connections), configurationParam.read(r, &q.configurations))
	return q, err
}

func (q stateQuery) picks(state fleet.State) bool {
	return (len(q.connections) == 0 || slices.Contains(q.connections, state.Connection)) &&
		(len(q.configurations) == 0 || slices.Contains(q.configurations, state.Configuration))
}

func (s StateHandlers) getState(r *request, device *fleet.Registered) (reply, error) {
	state, err := s.States.State(r.Context(), device.ID)
	if err != nil {
		return reply{}, err
	}
	if s.Listed == nil {
		return show(wireState(state))
	}
	return show(wireStateWith(state, s.Listed.WorstFolder(r.Context(), device.ID)))
}

func (s StateHandlers) listStates(r *request, q listQuery, registry *fleet.Registry) (reply, error) {
	states, err := r.stateQuery()
	if err != nil {
		return reply{}, err
	}
	all, err := s.Listed.States(r.Context(), registry)
	if err != nil {
		return reply{}, err
	}
	return showList(r, q, all, listing[*view.ListedState, encoded]{
		matches: func(one *view.ListedState) bool { return q.picks(one.Device) && states.picks(one.State) },
		cursor:  func(one *view.ListedState) string { return view.DeviceCursor(one.Device) },
		beyond:  func(cursor string, one *view.ListedState) (bool, error) { return view.BeyondDevice(cursor, one.Device) },
		wire:    func(one *view.ListedState) encoded { return one.Text },
	})
}

func wireState(state fleet.State) api.DeviceState {
	return api.DeviceState{
		Connection: string(state.Connection), Configuration: string(state.Configuration),
		Address: state.Address, FoundBy: state.FoundBy, LastSeen: moment(state.LastSeen), Since: moment(state.Since),
		Reason: state.Reason, Next: state.Next, BroughtBack: state.BroughtBack,
	}
}

// wireStateWith is a state with how the folders of the device stand.
func wireStateWith(state fleet.State, worst fleet.WorstFolder) api.DeviceState {
	wire := wireState(state)
	if worst.Count > 0 {
		wire.Folders = &api.WorstFolder{State: worst.State.String(), Folder: worst.Folder, Count: worst.Count,
			Trouble: worst.Trouble, Since: moment(worst.Since), Reason: worst.Reason, Next: worst.Next}
	}
	return wire
}

// moment is null for the zero time.
func moment(t time.Time) *api.Time {
	if t.IsZero() {
		return nil
	}
	return &api.Time{Time: t}
}
