package httpapi

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"

	"muster/api"
	"muster/internal/edge/auth"
	"muster/internal/engine/notify"
	"muster/internal/engine/view"
	"muster/internal/fleet"
)

// Notifications are how telling people stands; see notify.Notifier.
type Notifications interface {
	Problems() []notify.Problem
	Receivers() []notify.Receiver
}

// Health knows which parts of the service do not work as they should. It answers at once.
type Health interface {
	Impairments() []fleet.Impairment
}

const maxOverviewVersions = 20 // A daemon that lies has one of its own.

func (s *server) overviewRoutes() []route {
	return []route{
		{method: http.MethodGet, path: Prefix + "/overview", name: "getOverview",
			summary: "The fleet in numbers; with a filter, the numbers, the trouble and what is pending of the devices that " +
				"it picks",
			permission: auth.Read, query: []parameter{searchParam, tagParam},
			reply: reflect.TypeFor[api.Overview](), off: s.Inventory == nil, handle: s.getOverview},
	}
}

func (s *server) getOverview(r *request) (reply, error) {
	q, err := r.listQuery()
	if err != nil {
		return reply{}, err
	}
	from, impairments, err := s.overviewSources(r.Context(), q)
	if err != nil {
		return reply{}, err
	}
	made := view.OverviewOf(from)
	out := api.Overview{
		Devices:          made.Devices,
		Connections:      counted(fleet.Connections(), made.Connections),
		Configurations:   counted(fleet.Configurations(), made.Configurations),
		Folders:          wireFolderCounts(made.Folders),
		DevicesByFolders: wireFolderCounts(made.DevicesByFolders),
		Pending:          api.OverviewOfPending{Devices: made.PendingDevices, Folders: made.PendingFolders},
		Problems:         made.Problems,
		Versions:         mostOf(made.Versions, maxOverviewVersions),
		Troubled:         made.Troubled,
		Trouble:          s.wireTroubles(r.Context(), made.Troubles),
		Rollouts:         []api.Rollout{},
		Receivers:        []api.Receiver{},
		Impairments:      []api.Impairment{},
		StopCount:        len(made.Stops),
		Stops:            []api.ModeStop{},
		Mode:             string(made.Mode),
		Generation:       from.Registry.Generation,
		Templates:        len(from.Registry.Templates),
		Tags:             s.tagCount(r.Context(), from.Registry),
		Restored:         wireRestored(from.Registry.Restored, made),
	}
	for _, stop := range made.Stops[:min(len(made.Stops), maxOverviewStops)] {
		out.Stops = append(out.Stops, wireStop(s.settings.dated(r.Context(), stop), from.Registry))
	}
	for _, rollout := range made.Rollouts {
		out.Rollouts = append(out.Rollouts, wireRollout(rollout, from.Registry))
	}
	for _, i := range impairments {
		out.Impairments = append(out.Impairments, wireImpairment(i))
	}
	if r.who.Scope.Whole() {
		s.addServerParts(&out)
	}
	return show(out)
}

// overviewSources are what an overview is made of, and what does not work as it should.
func (s *server) overviewSources(ctx context.Context, q listQuery) (from view.OverviewSources,
	impairments []fleet.Impairment, err error) {
	from.Mode = s.Ceiling
	if from.Registry, err = s.Registry.Registry(ctx); err != nil {
		return from, nil, err
	}
	if from.Inside, err = s.insideOf(ctx); err != nil {
		return from, nil, err
	}
	if err = s.addNumbers(ctx, q, &from); err != nil {
		return from, nil, err
	}
	from.Stops = s.stops(ctx, from.Registry, s.Ceiling)
	if s.Rollouts != nil {
		from.Rollouts, err = s.rollouts.rolloutsFor(ctx)
		if fleet.CodeOf(err) == fleet.CodeUnavailable { // what else is known is in memory, and wanted now more than ever
			unread := unreadableRollouts(err)
			unread.Blocking = false // the server is ready without rollouts
			impairments, err = append(impairments, unread), nil
		}
		if err != nil {
			return from, nil, err
		}
	}
	if s.Pending != nil {
		from.Pending = s.Pending.Pending()
	}
	if s.Notifications != nil {
		for _, problem := range s.Notifications.Problems() {
			from.Problems = append(from.Problems, problem.Device)
		}
	}
	return from, append(impairments, s.health.impairmentsFor(ctx)...), nil
}

// addNumbers adds the numbers of the devices that a client asks about.
func (s *server) addNumbers(ctx context.Context, q listQuery, to *view.OverviewSources) (err error) {
	if q.search == "" && q.tag == "" {
		if to.Counts, err = s.Inventory.Counts(ctx, to.Registry); err != nil {
			return err
		}
		to.Attention, err = s.Inventory.Attention(ctx, to.Registry)
		return err
	}
	inside := to.Inside
	to.Inside = func(id fleet.DeviceID) bool {
		device := to.Registry.Devices[id]
		return inside(id) && device != nil && q.picks(device)
	}
	to.Counts, to.Attention, err = s.Inventory.Among(ctx, to.Registry, q.picks)
	return err
}

// stops are those of a registry.
func (s *base) stops(ctx context.Context, registry *fleet.Registry, ceiling fleet.Mode) []view.Stop {
	return ofRegistry(ctx, s, registry, "stops", func() []view.Stop { return view.Stops(registry, ceiling) })
}

func (s *base) tagCount(ctx context.Context, registry *fleet.Registry) int {
	return ofRegistry(ctx, s, registry, "number of tags", func() int { return len(registry.Tags()) })
}

// ofRegistry gives what is made of a registry alone. It is made once for all callers who see the whole fleet.
func ofRegistry[T any](ctx context.Context, s *base, registry *fleet.Registry, key string, build func() T) T {
	if !fleet.ScopeIn(ctx).Whole() || s.Answers == nil {
		return build()
	}
	const bytes = 1 << 20 // more than 10,000 stops take
	made, err := s.Answers.Answer(
		view.OfRegistry(registry),
		key,
		func() (any, int64, error) { return build(), bytes, nil },
	)
	if err != nil {
		return build()
	}
	return made.(T) //nolint:forcetypeassert // it was built above
}

// wireTroubles says of each kind of trouble why it is there where it stands longest.
func (s *server) wireTroubles(ctx context.Context, troubles []view.Trouble) []api.Trouble {
	const mostTags = 10
	out := make([]api.Trouble, len(troubles))
	for i, t := range troubles {
		text := fleet.WaitTexts[t.Cause]
		out[i] = api.Trouble{Cause: string(t.Cause), Severity: string(text.Severity), Devices: t.Devices,
			Folders: t.Folders, Since: moment(t.Since), Tags: map[string]int{}, Reason: text.Reason, Next: text.Next,
			Query: url.Values{deviceWaits.name: {string(t.Cause)}}.Encode()}
		for _, tag := range t.MostTags(mostTags) {
			out[i].Tags[string(tag)] = t.Tags[tag]
		}
		if t.First == nil {
			continue
		}
		out[i].DeviceID, out[i].Label, out[i].Folder = string(t.First.ID), t.First.Label, t.FirstFolder
		if t.FirstFolder != "" && s.Folders != nil {
			reason, next := s.Folders.Standing(ctx, t.First.ID, t.FirstFolder).Text(t.Cause)
			out[i].Reason, out[i].Next = cmp.Or(reason, text.Reason), cmp.Or(next, text.Next)
		}
	}
	return out
}

func wireImpairment(i fleet.Impairment) api.Impairment {
	return api.Impairment{Part: string(i.Part), Blocking: i.Blocking, Reason: i.Reason, Next: i.Next}
}

// addServerParts adds numbers that are about the whole fleet.
func (s *server) addServerParts(out *api.Overview) {
	out.Backup = s.wireBackup()
	out.Certificate = s.wireCertificate()
	if s.Visited != nil {
		out.Visited = s.Visited()
	}
	if s.Notifications != nil {
		for _, receiver := range s.Notifications.Receivers() {
			out.Receivers = append(out.Receivers, wireReceiver(receiver))
		}
	}
}

func wireReceiver(r notify.Receiver) api.Receiver {
	wire := api.Receiver{Name: r.Name, Waiting: r.Waiting, Trouble: r.Trouble}
	if r.Trouble != "" {
		wire.Since = &api.Time{Time: r.Since}
	}
	return wire
}

// wireFolderCounts has the number of all, and one for each state that any is in.
func wireFolderCounts(counts fleet.FolderCounts) api.FolderCounts {
	out := api.FolderCounts{"all": counts.All()}
	for state, count := range counts {
		if count > 0 {
			out[fleet.FolderState(state).String()] = int(count)
		}
	}
	return out
}

// mostOf are the largest of some numbers, at most so many.
func mostOf(counts map[string]int, most int) map[string]int {
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	out := make(map[string]int, min(len(names), most))
	for _, name := range names[:min(len(names), most)] {
		out[name] = counts[name]
	}
	return out
}

// counted has a number for every state, also for one that no device is in.
func counted[K ~string](all []K, counts map[K]int) map[string]int {
	out := make(map[string]int, len(all))
	for _, k := range all {
		out[string(k)] = counts[k]
	}
	return out
}
