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

// firstWaiting is how many devices of each group are shown when the request does not ask for a single group.
const firstWaiting = 10

var groupParam = textParam("group", "Only the group with this ID, with all its devices")

// WaitingHandlers list what waits for a person.
type WaitingHandlers struct {
	*base
	Summaries Summaries
}

func (s WaitingHandlers) routes(b *base) []route {
	s.base = b
	return []route{{
		method: http.MethodGet, path: Prefix + "/waiting", name: "listWaiting", permission: auth.Read,
		summary: "Everything that waits for a person, grouped by cause, with the requests that solve it",
		query:   []parameter{groupParam},
		reply:   reflect.TypeFor[api.Waiting](), off: s.Summaries == nil, handle: s.listWaiting,
	}}
}

func (s WaitingHandlers) listWaiting(r *request) (reply, error) {
	only, err := groupParam.of(r)
	if err != nil {
		return reply{}, err
	}
	return s.held(r.Context(), func(ctx context.Context) (reply, error) {
		waiting, err := s.Summaries.Waiting(ctx)
		if err != nil {
			return reply{}, err
		}
		const copies = 3
		if err := s.take(ctx, copies*waiting.Size()); err != nil {
			return reply{}, err
		}
		return show(wireWaiting(waiting, only))
	})
}

func wireWaiting(waiting view.Waiting, only string) api.Waiting {
	out := api.Waiting{Groups: []api.WaitingGroup{}, Devices: waiting.Devices}
	for _, g := range waiting.Groups {
		if only == "" || g.ID == only {
			out.Groups = append(out.Groups, wireWaitingGroup(g, only != "", waiting.Registry))
		}
	}
	return out
}

func wireWaitingGroup(g *view.WaitingGroup, allDevices bool, registry *fleet.Registry) api.WaitingGroup {
	out := api.WaitingGroup{ID: g.ID, Cause: string(g.Cause), Severity: string(g.Severity), Subject: g.Subject,
		Reason: g.Reason, Next: g.Next, Since: moment(g.Since), Templates: []int64{}, DeviceCount: g.Count,
		Devices: []api.WaitingDevice{}, Actions: actionsFor(g)}
	if g.Held != nil {
		out.Rollout, out.Templates = g.Held.Rollout, append(out.Templates, g.Held.Templates...)
		out.Summary = new(wireSentences(view.SentencesOfHeld(*g.Held, registry.Label)))
		if g.Held.Alike() {
			out.From, out.To = g.Held.Changes[0].From, g.Held.Changes[0].To
		}
	}
	if g.Rollout != nil {
		out.Rollout = g.Rollout.ID
	}
	devices := g.Devices
	if !allDevices {
		devices = devices[:min(len(devices), firstWaiting)]
	}
	for _, device := range devices {
		out.Devices = append(out.Devices, wireWaitingDevice(g, device, registry))
	}
	return out
}

// wireWaitingDevice gives a device the values for the placeholders of the actions of its group. The path of a pending
// folder is a proposal: in the first folder root of the fleet.
func wireWaitingDevice(g *view.WaitingGroup, device view.WaitingDevice, registry *fleet.Registry) api.WaitingDevice {
	values := map[string]string{"deviceID": string(device.ID)}
	if device.Pending != nil {
		values["pendingID"] = pendingID(*device.Pending)
		if device.Pending.Folder != "" {
			values["path"] = fleet.ProposedPath(registry.Roots[""], device.Pending.Folder)
		}
	}
	if g.Cause == fleet.WaitPinMismatch || g.Cause == fleet.WaitUnconfirmed {
		values["fingerprint"] = device.Shown
	}
	out := api.WaitingDevice{DeviceID: string(device.ID), Label: device.Label, Detail: device.Detail, Values: values,
		Held: make([]api.HeldChange, len(device.Held))}
	for i, c := range device.Held {
		out.Held[i] = wireHeldChange(c, registry)
	}
	return out
}
