package httpapi

import (
	"bytes"
	"context"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
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
		{method: http.MethodGet, path: Prefix + "/devices/{deviceID}/state", name: "getDeviceState",
			summary:    "How Muster stands with a device, why, and what comes next",
			permission: auth.Read, reply: reflect.TypeFor[api.DeviceState](), handle: s.getState},
		{method: http.MethodGet, path: Prefix + "/states", name: "listStates",
			summary:    "The states of all devices, in the order of the device list",
			permission: auth.Read, query: []*huma.Param{
				searchParam, tagParam, stateParam("connection", fleet.Connections()), stateParam("configuration", configurations),
				limitParam, afterParam,
			},
			reply: reflect.TypeFor[[]api.ListedState](), handle: s.listStates},
	}
}

// stateParam picks by a part of the state. It may be given more than once: each of the values will do.
func stateParam[K ~string](name string, known []K) *huma.Param {
	values := make([]any, len(known))
	for i, value := range known {
		values[i] = string(value)
	}
	one := &huma.Schema{Type: huma.TypeString, Enum: values}
	return queryParam(name, "Only devices in this state, or in one of these",
		&huma.Schema{Type: huma.TypeArray, Items: one})
}

// stateQuery is which states a client asks for. Empty lists ask for all.
type stateQuery struct {
	connections    []fleet.Connection
	configurations []fleet.Configuration
}

func (r *request) stateQuery() (q stateQuery, err error) {
	values := r.URL.Query()
	if q.connections, err = statesNamed("connection", values["connection"], fleet.Connections()); err != nil {
		return q, err
	}
	q.configurations, err = statesNamed("configuration", values["configuration"], configurations)
	return q, err
}

func statesNamed[K ~string](parameter string, asked []string, known []K) (named []K, err error) {
	for _, value := range asked {
		if !slices.Contains(known, K(value)) {
			return nil, fleet.Invalidf("query."+parameter, "%s is one of %s", parameter, orList(known))
		}
		named = append(named, K(value))
	}
	return named, nil
}

// orList is "a, b or c".
func orList[K ~string](all []K) string {
	var text strings.Builder
	for i, one := range all {
		switch {
		case i > 0 && i == len(all)-1:
			text.WriteString(" or ")
		case i > 0:
			text.WriteString(", ")
		}
		text.WriteString(string(one))
	}
	return text.String()
}

func (q stateQuery) picks(state fleet.State) bool {
	return (len(q.connections) == 0 || slices.Contains(q.connections, state.Connection)) &&
		(len(q.configurations) == 0 || slices.Contains(q.configurations, state.Configuration))
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
	states, err := r.stateQuery()
	if err != nil {
		return reply{}, err
	}
	registry, err := s.Registry.Registry(r.Context())
	if err != nil {
		return reply{}, err
	}
	devices := s.sortedFor(r, registry)
	all := make([]standing, 0, len(devices))
	for _, device := range devices {
		state, err := s.States.State(r.Context(), device.ID)
		switch {
		case fleet.CodeOf(err) == fleet.CodeNotFound: // deleted since
			continue
		case err != nil:
			return reply{}, err
		case !states.picks(state):
			continue
		}
		text, err := s.states.encoded(device.ID, state)
		if err != nil {
			return reply{}, err
		}
		all = append(all, standing{device, text})
	}
	return showList(r, q, all, listing[standing, encoded]{
		matches: func(one standing) bool { return q.picks(one.device) },
		cursor:  func(one standing) string { return deviceCursor(one.device) },
		beyond:  func(cursor string, one standing) (bool, error) { return beyondDevice(cursor, one.device) },
		wire:    func(one standing) encoded { return one.text },
	})
}

// sortedFor are the devices that the caller sees, in the order of the device list.
func (s *server) sortedFor(r *request, registry *fleet.Registry) []*fleet.Registered {
	if !r.who.Scope.Whole() {
		return sortedDevices(registry)
	}
	return s.states.sorted(registry)
}

// standing is how a device stands, as the list shows it.
type standing struct {
	device *fleet.Registered
	text   encoded
}

// stateCache keeps the members of the list of states: of ten thousand devices, few change between two requests, and
// the list is never older than the request.
type stateCache struct {
	mu       sync.Mutex // guards the rest
	registry *fleet.Registry
	devices  []*fleet.Registered // of the registry, in the order of the device list
	texts    map[fleet.DeviceID]encodedState
}

type encodedState struct {
	state fleet.State
	text  encoded
}

// sorted are the devices of a registry. Another one than the last drops what is no longer registered.
func (c *stateCache) sorted(registry *fleet.Registry) []*fleet.Registered {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.registry != registry {
		c.registry, c.devices = registry, sortedDevices(registry)
		maps.DeleteFunc(c.texts, func(id fleet.DeviceID, _ encodedState) bool { return registry.Devices[id] == nil })
	}
	return c.devices
}

// encoded is the member of the list for a device in this state.
func (c *stateCache) encoded(id fleet.DeviceID, state fleet.State) (encoded, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, ok := c.texts[id]; ok && known.state == state {
		return known.text, nil
	}
	text, err := encode(api.ListedState{DeviceID: string(id), DeviceState: wireState(state)})
	if err != nil {
		return nil, err
	}
	if c.texts == nil {
		c.texts = map[fleet.DeviceID]encodedState{}
	}
	text = bytes.TrimSuffix(text, []byte("\n"))
	c.texts[id] = encodedState{state, text}
	return text, nil
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
