package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"muster/api"
	"muster/internal/auth"
	"muster/internal/fleet"
)

// Actions has daemons do what people order.
type Actions interface {
	// Begin keeps an order and answers; it is carried out by itself, one device after the other. A blank tag is of an
	// order for one device. Conflict: Muster does not write to one of them, or another order is carried out on it.
	Begin(ctx context.Context, order fleet.ActionOrder, tag fleet.Tag, devices []fleet.DeviceID) (fleet.ActionRun, error)
}

// ActionRuns keeps the orders.
type ActionRuns interface {
	ActionRuns(ctx context.Context) ([]fleet.ActionRun, error) // newest first
	ActionRun(ctx context.Context, id int64) (fleet.ActionRun, error)
}

// actionSummaries say what each action does.
var actionSummaries = map[fleet.DaemonAction]string{
	fleet.ActionRestart: "Restart the daemon",
	fleet.ActionRescan:  "Have the daemon scan its folders, or one of them",
	fleet.ActionPause:   "Pause the daemon's connections to all other devices",
	fleet.ActionResume:  "Resume the daemon's connections to all other devices",
	fleet.ActionUpgrade: "Have the daemon install the newest release of Syncthing",
}

func (s *server) actionRoutes() []route {
	const all, one = Prefix + "/actions", Prefix + "/actions/{runID}"
	off := s.Actions == nil
	routes := []route{
		{method: http.MethodGet, path: all, name: "listActions", permission: auth.Read,
			summary: "Orders to daemons, newest first: what is carried out, and what came of the others",
			query:   []*huma.Param{searchParam, limitParam, afterParam},
			reply:   reflect.TypeFor[[]api.ActionRun](), off: off, handle: s.listActions},
		{method: http.MethodGet, path: one, name: "getAction", permission: auth.Read, summary: "How far an order is",
			reply: reflect.TypeFor[api.ActionRun](), off: off, handle: s.getAction},
	}
	for _, action := range fleet.DaemonActions {
		name := string(action)
		rt := route{method: http.MethodPost, permission: auth.Apply, query: actionParams[action],
			reply: reflect.TypeFor[api.ActionRun](), creates: true, onlyCreates: true, volatile: true, conflicts: true, off: off}
		device, tag := rt, rt
		device.path, device.name = Prefix+"/devices/{deviceID}/actions/"+name, name+"Device"
		device.summary, device.handle = actionSummaries[action], s.actOnDevice(action)
		tag.path, tag.name = Prefix+"/tags/{tag}/actions/"+name, name+"Tag"
		tag.summary = actionSummaries[action] +
			", of the devices with a tag one after the other, ending at the first that fails"
		tag.handle = s.actOnTag(action)
		routes = append(routes, device, tag)
	}
	return routes
}

var actionParams = map[fleet.DaemonAction][]*huma.Param{
	fleet.ActionRescan: {queryParam("folder", "Only the folder with this ID", &huma.Schema{Type: huma.TypeString})},
	fleet.ActionUpgrade: {queryParam("major", "Also to another major version",
		&huma.Schema{Type: huma.TypeBoolean})},
}

// order reads what is asked for besides the action.
func (r *request) order(action fleet.DaemonAction) (fleet.ActionOrder, error) {
	query, out := r.URL.Query(), fleet.ActionOrder{Action: action}
	switch action {
	case fleet.ActionRescan:
		out.Folder = query.Get("folder")
	case fleet.ActionUpgrade:
		text := query.Get("major")
		major, err := strconv.ParseBool(text)
		if err != nil && text != "" {
			return out, fleet.Invalidf("query.major", "major is true or false")
		}
		out.Major = major
	}
	return out, nil
}

func (s *server) actOnDevice(action fleet.DaemonAction) func(*request) (reply, error) {
	return func(r *request) (reply, error) {
		device, err := s.registered(r)
		if err != nil {
			return reply{}, err
		}
		return s.begin(r, action, "", []fleet.DeviceID{device.ID})
	}
}

// actOnTag reaches the devices with a tag that the caller sees.
func (s *server) actOnTag(action fleet.DaemonAction) func(*request) (reply, error) {
	return func(r *request) (reply, error) {
		tag, err := r.tag()
		if err != nil {
			return reply{}, err
		}
		registry, err := s.Registry.Registry(r.Context())
		if err != nil {
			return reply{}, err
		}
		var with []fleet.Device
		for _, device := range registry.Devices {
			if slices.Contains(device.Tags, tag) {
				with = append(with, device.Device)
			}
		}
		if len(with) == 0 {
			return reply{}, &fleet.Error{Code: fleet.CodeNotFound, Message: fmt.Sprintf("no device carries the tag %q", tag),
				Hint: "GET " + Prefix + "/tags lists all. Tags are case-sensitive."}
		}
		slices.SortFunc(with, fleet.CompareDevices)
		ids := make([]fleet.DeviceID, len(with))
		for i, device := range with {
			ids[i] = device.ID
		}
		return s.begin(r, action, tag, ids)
	}
}

func (s *server) begin(r *request, action fleet.DaemonAction, tag fleet.Tag, ids []fleet.DeviceID) (reply, error) {
	order, err := r.order(action)
	if err != nil {
		return reply{}, err
	}
	run, err := s.Actions.Begin(r.Context(), order, tag, ids)
	if err != nil {
		return reply{}, s.withNames(r, err)
	}
	registry, err := s.Registry.Registry(r.Context())
	if err != nil {
		return reply{}, err
	}
	return showCreated(wireActionRun(run, registry), true, Prefix+"/actions/"+strconv.FormatInt(run.ID, 10))
}

// withNames is an error whose message names devices as the caller knows them.
func (s *server) withNames(r *request, err error) error {
	registry, failed := s.Registry.Registry(r.Context())
	var e *fleet.Error
	if failed != nil || !errors.As(err, &e) {
		return err
	}
	told := *e
	told.Message = named(registry, e.Message)
	return &told
}

// actionsFor are the orders that the caller may know of: with a scope, those for devices inside only.
func (s *server) actionsFor(ctx context.Context, runs []fleet.ActionRun) ([]fleet.ActionRun, error) {
	inside, err := s.insideOf(ctx)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(runs, func(run fleet.ActionRun) bool {
		return slices.ContainsFunc(run.Devices, func(id fleet.DeviceID) bool { return !inside(id) })
	}), nil
}

func (s *server) listActions(r *request) (reply, error) {
	q, err := r.listQuery()
	if err != nil {
		return reply{}, err
	}
	all, err := s.ActionRuns.ActionRuns(r.Context())
	if err != nil {
		return reply{}, err
	}
	if all, err = s.actionsFor(r.Context(), all); err != nil {
		return reply{}, err
	}
	registry, err := s.Registry.Registry(r.Context())
	if err != nil {
		return reply{}, err
	}
	return showList(r, q, all, listing[fleet.ActionRun, api.ActionRun]{
		matches: func(run fleet.ActionRun) bool {
			return q.holds(string(run.Action), string(run.Tag), run.By, string(run.Status))
		},
		cursor: func(run fleet.ActionRun) string { return strconv.FormatInt(run.ID, 10) },
		beyond: func(cursor string, run fleet.ActionRun) (bool, error) {
			last, err := strconv.ParseInt(cursor, 10, 64)
			return run.ID < last, err
		},
		wire: func(run fleet.ActionRun) api.ActionRun { return wireActionRun(run, registry) },
	})
}

func (s *server) getAction(r *request) (reply, error) {
	id, err := r.number("runID")
	if err != nil {
		return reply{}, err
	}
	run, err := s.ActionRuns.ActionRun(r.Context(), id)
	if err == nil {
		var seen []fleet.ActionRun
		if seen, err = s.actionsFor(r.Context(), []fleet.ActionRun{run}); err == nil && len(seen) == 0 {
			err = fleet.NotFoundf("there is no order %d", id)
		}
	}
	if err != nil {
		return reply{}, orNotFound(err, &fleet.Error{Code: fleet.CodeNotFound,
			Message: fmt.Sprintf("there is no order %d, or not any more", id), Hint: "GET " + Prefix + "/actions lists all."})
	}
	registry, err := s.Registry.Registry(r.Context())
	if err != nil {
		return reply{}, err
	}
	return show(wireActionRun(run, registry))
}

func wireActionRun(run fleet.ActionRun, registry *fleet.Registry) api.ActionRun {
	out := api.ActionRun{ID: run.ID, Action: string(run.Action), Tag: string(run.Tag), Folder: run.Folder,
		Status: string(run.Status), Reason: named(registry, run.Reason), By: run.By, Done: run.Done,
		Devices: make([]api.ActionDevice, len(run.Devices)), BeganAt: api.Time{Time: run.BeganAt},
		EndedAt: moment(run.EndedAt)}
	skipped := map[fleet.DeviceID]bool{}
	for _, id := range run.Skipped {
		skipped[id] = true
	}
	for i, id := range run.Devices {
		out.Devices[i] = api.ActionDevice{DeviceID: string(id), State: stateInRun(run, i)}
		if skipped[id] {
			out.Devices[i].State = "skipped"
		}
		if device := registry.Devices[id]; device != nil {
			out.Devices[i].Label = device.Label
		}
	}
	return out
}

// stateInRun is how far a run is with its device at a place. Devices are reached strictly in turn.
func stateInRun(run fleet.ActionRun, at int) string {
	here := map[fleet.ActionStatus]string{fleet.ActionRunning: "running", fleet.ActionFailed: "failed",
		fleet.ActionInterrupted: "unknown"}
	switch {
	case at < run.Done:
		return "done"
	case at == run.Done:
		return here[run.Status]
	case run.Status == fleet.ActionRunning:
		return "waiting"
	}
	return "untouched"
}
