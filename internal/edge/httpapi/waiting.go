package httpapi

import (
	"context"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"muster/api"
	"muster/internal/edge/auth"
	"muster/internal/engine/view"
	"muster/internal/fleet"
)

// firstWaiting is how many devices of each group are shown when the request does not ask for a single group.
const firstWaiting = 10

var groupParam = textParam("group", "Only the group with this ID, with all its devices")

func (s *server) waitingRoutes() []route {
	return []route{{
		method: http.MethodGet, path: Prefix + "/waiting", name: "listWaiting", permission: auth.Read,
		summary: "Everything that waits for a person, grouped by cause, with the requests that solve it",
		query:   []parameter{groupParam},
		reply:   reflect.TypeFor[api.Waiting](), off: s.Inventory == nil, handle: s.listWaiting,
	}}
}

func (s *server) listWaiting(r *request) (reply, error) {
	only, err := groupParam.of(r)
	if err != nil {
		return reply{}, err
	}
	return s.held(r.Context(), func(ctx context.Context) (reply, error) {
		from, err := s.waitingSources(ctx)
		if err != nil {
			return reply{}, err
		}
		waiting := view.WaitingOf(from)
		const copies = 3
		if err := s.take(ctx, copies*waiting.Size()); err != nil {
			return reply{}, err
		}
		return show(wireWaiting(waiting, only, from.Registry))
	})
}

// waitingSources are what may wait for a person, as the caller may know it.
func (s *server) waitingSources(ctx context.Context) (from view.WaitingSources, err error) {
	if from.Registry, err = s.Registry.Registry(ctx); err != nil {
		return from, err
	}
	attention, err := s.Inventory.Attention(ctx, from.Registry)
	if err != nil {
		return from, err
	}
	from.Rows = attention.Waiting
	if s.Consents != nil {
		if from.Held, err = s.groupsFor(ctx); err != nil {
			return from, err
		}
	}
	if s.Pending != nil {
		from.Pending = s.Pending.Pending()
	}
	from.Impairments = s.health.impairmentsFor(ctx)
	if s.Rollouts != nil {
		from.Rollouts, err = s.waitingRollouts(ctx)
		if fleet.CodeOf(err) == fleet.CodeUnavailable { // the rest is in memory, and wanted now more than ever
			from.Impairments, err = append(slices.Clip(from.Impairments), unreadableRollouts(err)), nil
		}
		if err != nil {
			return from, err
		}
	}
	for _, stop := range s.stops(ctx, from.Registry, s.Ceiling) {
		from.Stops = append(from.Stops, s.settings.dated(ctx, stop))
	}
	if s.Folders != nil {
		from.Standing = func(id fleet.DeviceID, folder string) fleet.FolderStanding {
			return s.Folders.Standing(ctx, id, folder)
		}
	}
	if s.Trust != nil {
		from.Shown = func(id fleet.DeviceID) fleet.Shown {
			_, shown := s.Trust.Certificates(id)
			return shown
		}
	}
	if fleet.ScopeIn(ctx).Whole() {
		err = s.addWholeSources(ctx, &from)
	}
	return from, err
}

// addWholeSources adds what only callers without a tag scope may know of.
func (s *server) addWholeSources(ctx context.Context, from *view.WaitingSources) (err error) {
	if s.Enrollments != nil {
		from.Enrollments, err = s.Enrollments.Requests(ctx)
		if err != nil && fleet.CodeOf(err) != fleet.CodeUnavailable { // an impairment says that the database is away
			return err
		}
	}
	if s.Notifications == nil {
		return nil
	}
	for _, r := range s.Notifications.Receivers() {
		if r.Trouble != "" {
			from.Receivers = append(from.Receivers, view.WaitingReceiver{Name: r.Name, Messages: r.Waiting,
				Trouble: r.Trouble, Since: r.Since})
		}
	}
	return nil
}

// waitingRollouts are the rollouts that wait, with their members.
func (s *server) waitingRollouts(ctx context.Context) (waiting []view.WaitingRollout, err error) {
	all, err := s.rollouts.rolloutsFor(ctx)
	if err != nil {
		return nil, err
	}
	for _, listed := range all {
		if view.RolloutCause(listed) == "" {
			continue
		}
		whole, err := s.Rollouts.Rollout(ctx, listed.ID)
		if err != nil {
			return nil, err
		}
		part, err := s.rollouts.rolloutSeen(ctx, whole)
		if fleet.CodeOf(err) == fleet.CodeNotFound { // no member is in the scope any more
			continue
		}
		if err != nil {
			return nil, err
		}
		waiting = append(waiting, view.WaitingRollout{Rollout: part, Whole: len(part.Members) == len(whole.Members)})
	}
	return waiting, nil
}

func wireWaiting(waiting view.Waiting, only string, registry *fleet.Registry) api.Waiting {
	out := api.Waiting{Groups: []api.WaitingGroup{}, Devices: waiting.Devices}
	for _, g := range waiting.Groups {
		if only == "" || g.ID == only {
			out.Groups = append(out.Groups, wireWaitingGroup(g, only != "", registry))
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
			values["path"] = proposedPath(registry, device.Pending.Folder)
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

// proposedPath is where a folder could be kept. A folder ID can hold what no name of a directory may.
func proposedPath(registry *fleet.Registry, folder string) string {
	root := fleet.DefaultFolderRoot
	if roots := registry.Roots[""]; len(roots) > 0 {
		root = roots[0]
	}
	separator := "/"
	if strings.Contains(root, `\`) {
		separator = `\`
	}
	name := strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\:*?"<>|%$~`, r) || !unicode.IsPrint(r) {
			return '-'
		}
		return r
	}, folder)
	return strings.TrimRight(root, `/\`) + separator + strings.Trim(name, ". ")
}
