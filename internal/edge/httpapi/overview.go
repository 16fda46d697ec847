package httpapi

import (
	"context"
	"math"
	"net/http"
	"net/url"
	"reflect"
	"time"

	"muster/api"
	"muster/internal/edge/auth"
	"muster/internal/engine/view"
	"muster/internal/fleet"
)

// Summaries sum up the whole for the caller of a context; see view.Summaries.
type Summaries interface {
	// Overview is of the devices that picks takes; nil: of all.
	Overview(ctx context.Context, picks func(*fleet.Registered) bool) (view.Overview, error)
	Waiting(ctx context.Context) (view.Waiting, error)
}

const maxOverviewVersions = 20 // A daemon that lies has one of its own.

// OverviewHandlers sum up the fleet.
type OverviewHandlers struct {
	*base
	Summaries   Summaries
	Stops       Stops
	Backups     Backups              // nil: none are made by themselves
	Certificate func() *fleet.Served // nil, or giving nil: the API is plain HTTP
}

func (s OverviewHandlers) routes(b *base) []route {
	s.base = b
	return []route{
		{method: http.MethodGet, path: Prefix + "/overview", name: "getOverview",
			summary: "The fleet in numbers; with a filter, the numbers, the trouble and what is pending of the devices that " +
				"it picks",
			permission: auth.Read, query: []parameter{searchParam, tagParam},
			reply: reflect.TypeFor[api.Overview](), off: s.Summaries == nil, handle: s.getOverview},
	}
}

func (s OverviewHandlers) getOverview(r *request) (reply, error) {
	q, err := r.listQuery()
	if err != nil {
		return reply{}, err
	}
	picks := q.picks
	if q.search == "" && q.tag == "" {
		picks = nil
	}
	made, err := s.Summaries.Overview(r.Context(), picks)
	if err != nil {
		return reply{}, err
	}
	registry := made.Registry
	out := api.Overview{
		Devices:          made.Devices,
		Connections:      counted(fleet.Connections(), made.Connections),
		Configurations:   counted(fleet.Configurations(), made.Configurations),
		Folders:          wireFolderCounts(made.Folders),
		DevicesByFolders: wireFolderCounts(made.DevicesByFolders),
		Pending:          api.OverviewOfPending{Devices: made.PendingDevices, Folders: made.PendingFolders},
		Problems:         made.Problems,
		Versions:         counted(made.MostVersions(maxOverviewVersions), made.Versions),
		NewestVersion:    made.Outdated.Newest,
		Outdated:         made.OutdatedCount,
		Troubled:         made.Troubled,
		Young:            made.Young,
		Trouble:          mapped(made.Troubles, wireTrouble),
		Rollouts:         mapped(made.Rollouts, func(one fleet.Rollout) api.Rollout { return wireRollout(one, registry) }),
		Receivers:        mapped(made.Receivers, wireReceiver),
		Impairments:      mapped(made.Impairments, wireImpairment),
		StopCount:        len(made.Stops),
		Stops: mapped(made.Stops[:min(len(made.Stops), maxOverviewStops)], func(stop view.Stop) api.ModeStop {
			return wireStop(s.Stops.Dated(r.Context(), stop), registry)
		}),
		Mode:       string(made.Mode),
		Generation: registry.Generation,
		Templates:  len(registry.Templates),
		Tags:       made.Tags,
		Visited:    made.Visited,
		Restored:   wireRestored(registry.Restored, made),
	}
	if r.who.Scope.Whole() {
		out.Backup, out.Certificate = wireBackup(s.Backups), wireServed(s.Certificate)
	}
	return show(out)
}

// wireTrouble has the tags that most of the devices in trouble carry.
func wireTrouble(t view.Trouble) api.Trouble {
	const mostTags = 10
	out := api.Trouble{Cause: string(t.Cause), Severity: string(fleet.WaitTexts[t.Cause].Severity), Devices: t.Devices,
		Folders: t.Folders, Since: moment(t.Since), Tags: map[string]int{}, Reason: t.Reason, Next: t.Next,
		Query: url.Values{deviceWaits.name: {string(t.Cause)}}.Encode()}
	for _, tag := range t.MostTags(mostTags) {
		out.Tags[string(tag)] = t.Tags[tag]
	}
	if t.First != nil {
		out.DeviceID, out.Label, out.Folder = string(t.First.ID), t.First.Label, t.FirstFolder
	}
	return out
}

func wireImpairment(i fleet.Impairment) api.Impairment {
	return api.Impairment{Part: string(i.Part), Blocking: i.Blocking, Reason: i.Reason, Next: i.Next}
}

func wireReceiver(r fleet.Receiver) api.Receiver {
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

// counted has the number of each, also where that is 0.
func counted[K ~string](all []K, counts map[K]int) map[string]int {
	out := make(map[string]int, len(all))
	for _, k := range all {
		out[string(k)] = counts[k]
	}
	return out
}

// wireServed is the certificate with which the server itself is reached; nil over plain HTTP.
func wireServed(certificate func() *fleet.Served) *api.OverviewOfCertificate {
	if certificate == nil {
		return nil
	}
	served := certificate()
	if served == nil {
		return nil
	}
	return &api.OverviewOfCertificate{
		Fingerprint: served.Fingerprint, ExpiresAt: api.Time{Time: served.NotAfter}, Stale: served.Stale,
		Days: int(math.Floor(time.Until(served.NotAfter).Hours() / 24)),
	}
}
