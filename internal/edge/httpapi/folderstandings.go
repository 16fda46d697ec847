package httpapi

import (
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

// Standings are how the folders of the devices in the caller's scope stand; see view.View.
type Standings interface {
	DeviceStandings(ctx context.Context, id fleet.DeviceID) []fleet.FolderStanding
	FolderStandings(ctx context.Context, registry *fleet.Registry, folder string) []view.StandingOn
	FleetFolder(ctx context.Context, registry *fleet.Registry, folder string) (view.FleetFolder, error)
	Explain(ctx context.Context, standings ...*fleet.FolderStanding)
	Holders(ctx context.Context, id fleet.DeviceID, folder string) []fleet.DeviceID
	ViewFolder(id fleet.DeviceID, folder string)
}

// StandingHandlers show how folders stand.
type StandingHandlers struct {
	*base
	Standings Standings
}

func (s StandingHandlers) routes(b *base) []route {
	s.base = b
	const folder = Prefix + "/folders/{folderID}"
	return []route{
		{method: http.MethodGet, path: Prefix + "/devices/{deviceID}/folders", name: "listDeviceFolders",
			permission: auth.Read, summary: "How each folder of a device stands there, sorted",
			reply: reflect.TypeFor[[]api.FolderStanding](), off: s.Standings == nil, handle: s.ofDevice(s.listDeviceFolders)},
		{method: http.MethodGet, path: folder + "/devices", name: "listFolderDevices", permission: auth.Read,
			summary: "How a folder stands on each device that has it, by label then ID of the device",
			query:   []parameter{searchParam, tagParam, folderStates, standingSortParam, limitParam, afterParam},
			reply:   reflect.TypeFor[[]api.FolderStanding](), off: s.Standings == nil, handle: s.listFolderDevices},
		{method: http.MethodGet, path: folder + "/state", name: "getFolderState", permission: auth.Read,
			summary: "How a folder stands in the fleet, and on which devices something is missing",
			reply:   reflect.TypeFor[api.FleetFolder](), off: s.Standings == nil, handle: s.getFolderState},
	}
}

var folderStates = several[fleet.FolderState]{queryParam("state", "Only devices on which the folder is in this state; "+
	"may be given several times: in one of them", enumSchema(folderStateWords()), fleet.ParseFolderState)}

var standingSortParam = queryParam(
	"sort",
	"The order; with - the other way round. State has the best first, -state the "+
		"worst. What is not known comes last",
	enumSchema(bothWays(view.StandingSorts)),
	parseStandingSort,
)

func parseStandingSort(text string) (view.StandingOrder, error) {
	order, known := view.StandingOrderOf(text)
	if !known {
		return order, fleet.Invalidf("sort", "sort is %s, with - before it for the other way round",
			orList(view.StandingSorts))
	}
	return order, nil
}

func (s StandingHandlers) listDeviceFolders(r *request, device *fleet.Registered) (reply, error) {
	standings := s.Standings.DeviceStandings(r.Context(), device.ID)
	all := make([]*fleet.FolderStanding, len(standings))
	for i := range standings {
		all[i] = &standings[i]
	}
	s.Standings.Explain(r.Context(), all...)
	return show(mapped(standings, func(f fleet.FolderStanding) api.FolderStanding {
		return s.wireStanding(r.Context(), f)
	}))
}

func (s StandingHandlers) listFolderDevices(r *request) (reply, error) {
	folder, err := r.folderID()
	if err != nil {
		return reply{}, err
	}
	q, registry, err := s.listAsked(r)
	if err != nil {
		return reply{}, err
	}
	states, err := folderStates.of(r)
	if err != nil {
		return reply{}, err
	}
	order, err := standingSortParam.of(r)
	if err != nil {
		return reply{}, err
	}
	standings := s.Standings.FolderStandings(r.Context(), registry, folder)
	if len(standings) == 0 {
		return reply{}, noFolder(nil)
	}
	order.Sort(standings)
	return showList(r, q, standings, listing[view.StandingOn, api.FolderStanding]{
		matches: func(one view.StandingOn) bool {
			return q.picks(one.Device) && (len(states) == 0 || slices.Contains(states, one.State))
		},
		cursor: order.Cursor,
		beyond: order.Beyond,
		complete: func(page []view.StandingOn) {
			all := make([]*fleet.FolderStanding, len(page))
			for i := range page {
				all[i] = &page[i].FolderStanding
			}
			s.Standings.Explain(r.Context(), all...)
		},
		wire: func(one view.StandingOn) api.FolderStanding {
			s.Standings.ViewFolder(one.Device.ID, folder)
			wire := s.wireStanding(r.Context(), one.FolderStanding)
			wire.Label, wire.Connection = one.Device.Label, string(one.Connection)
			return wire
		},
	})
}

func (s StandingHandlers) getFolderState(r *request) (reply, error) {
	id, err := r.folderID()
	if err != nil {
		return reply{}, err
	}
	registry, err := s.Registry.Registry(r.Context())
	if err != nil {
		return reply{}, err
	}
	folder, err := s.Standings.FleetFolder(r.Context(), registry, id)
	if err != nil {
		return reply{}, orNotFound(err, noFolder(err))
	}
	return show(s.wireFleetFolder(r.Context(), folder))
}

func noFolder(err error) error {
	return &fleet.Error{Code: fleet.CodeNotFound, Message: "no device has a folder with this ID",
		Hint: "GET " + Prefix + "/folders lists all. A folder's ID is not its label.", Err: err,
		See: fleet.Reference{Subject: fleet.SeeFolders}}
}

// wireStanding converts a standing, to which Explain has added what it knows.
func (s StandingHandlers) wireStanding(ctx context.Context, f fleet.FolderStanding) api.FolderStanding {
	wire := api.FolderStanding{
		DeviceID:    string(f.Device),
		Folder:      f.Folder,
		State:       f.State.String(),
		Trouble:     f.Trouble,
		Reason:      f.Reason,
		Next:        f.Next,
		Since:       moment(f.Since),
		AsOf:        moment(f.AsOf),
		Type:        f.Type,
		Paused:      f.Paused,
		GlobalBytes: f.Progress.GlobalBytes,
		NeedBytes:   f.Progress.NeedBytes,
		NeedItems:   f.Progress.NeedItems,
		NeedDeletes: f.Progress.NeedDeletes,
		Rate:        f.Progress.Rate,
		DoneBetween: doneBetween(f.Progress),
		HeldBy:      textsOf(s.Standings.Holders(ctx, f.Device, f.Folder)),
		Peers:       api.FolderPeers{Connected: f.PeersConnected, Shared: f.PeersShared},
		Failed:      f.Failed,
		LocalItems:  f.LocalChanges,
		PausedBy:    wirePausedBy(f.PausedBy),
		Conflicts:   wireConflicts(f.Conflicts),
		Besides:     []api.FolderFinding{},
	}
	for _, found := range f.Besides {
		wire.Besides = append(wire.Besides, api.FolderFinding{Cause: string(found.Cause), Trouble: found.Trouble,
			Reason: found.Reason, Next: found.Next, Since: moment(found.Since)})
	}
	if f.Last != nil {
		wire.Last = f.Last.String()
	}
	if f.Error != nil {
		wire.Error = &api.FolderError{Kind: string(f.Error.Kind), Text: f.Error.Text}
	}
	return wire
}

func wireConflicts(c fleet.ConflictsOn) api.FolderConflicts {
	return api.FolderConflicts{Files: c.Files, More: c.More, Counted: c.Counted, Newest: c.Newest.Path,
		NewestAt: moment(c.Newest.At)}
}

func wirePausedBy(by *fleet.PausedBy) *api.PausedBy {
	if by == nil {
		return nil
	}
	return &api.PausedBy{Cause: string(by.Cause), Templates: append([]int64{}, by.Templates...), Order: by.Order,
		By: by.By, At: moment(by.At)}
}

func (s StandingHandlers) wireFleetFolder(ctx context.Context, f view.FleetFolder) api.FleetFolder {
	s.Standings.Explain(ctx, &f.Worst.FolderStanding)
	wire := api.FleetFolder{
		Folder: f.Folder, Label: f.Label, State: f.Worst.State.String(), Reason: f.Worst.Reason,
		Next: f.Worst.Next, Since: moment(f.Worst.Since), Devices: wireFolderCounts(f.Devices), GlobalBytes: f.GlobalBytes,
		NeedBytes: f.NeedBytes, NeedUnknown: f.Unknown, Behind: []api.FolderBehind{}, BehindCount: f.BehindCount,
		Failed: f.Failed, Conflicting: []api.FolderConflictsOn{}, ConflictingCount: f.ConflictingCount,
	}
	if f.Disagree != nil {
		wire.State, wire.Reason, wire.Next = string(fleet.WaitDisagree), f.Disagree.Reason, f.Disagree.Next
		wire.Since = moment(f.Disagree.Since)
	}
	for _, one := range f.Behind {
		wire.Behind = append(wire.Behind, api.FolderBehind{
			DeviceID: string(one.Device.ID), Label: one.Device.Label, State: one.State.String(),
			Paused: one.Paused, Since: moment(one.Since), AsOf: moment(one.AsOf), NeedBytes: one.Progress.NeedBytes,
			NeedItems:   one.Progress.NeedItems,
			NeedDeletes: one.Progress.NeedDeletes, DoneBetween: doneBetween(one.Progress),
			HeldBy: textsOf(s.Standings.Holders(ctx, one.Device.ID, f.Folder)),
		})
	}
	for _, one := range f.Conflicting {
		wire.Conflicting = append(wire.Conflicting, api.FolderConflictsOn{DeviceID: string(one.Device.ID),
			Label: one.Device.Label, Conflicts: wireConflicts(one.Conflicts)})
	}
	return wire
}

func doneBetween(p fleet.Progress) []api.Time {
	if p.DoneFrom.IsZero() || p.DoneTo.IsZero() {
		return []api.Time{}
	}
	return []api.Time{{Time: p.DoneFrom.Truncate(time.Second)}, {Time: p.DoneTo.Truncate(time.Second)}}
}
