package httpapi

import (
	"net/http"
	"reflect"

	"muster/api"
	"muster/internal/auth"
	"muster/internal/fleet"
	"muster/internal/overview"
)

// Overview is the fleet in numbers; see overview.Overview.
type Overview interface {
	Counts() overview.Counts
}

var (
	connections = []fleet.Connection{
		fleet.NeverSeen, fleet.Online, fleet.Unreachable, fleet.KeyRefused, fleet.IdentityMismatch, fleet.PinMismatch, fleet.NotFound,
	}
	configurations = []fleet.Configuration{
		fleet.ConfigUnknown, fleet.ConfigUnmanaged, fleet.ConfigInSync, fleet.ConfigPending, fleet.ConfigApplying, fleet.ConfigHeld,
		fleet.ConfigFailed, fleet.ConfigContended, fleet.ConfigUnstable,
	}
)

func (s *server) overviewRoutes() []route {
	return []route{
		{method: http.MethodGet, path: Prefix + "/overview", name: "getOverview", summary: "The fleet in numbers", permission: auth.Read,
			reply: reflect.TypeFor[api.Overview](), off: s.Overview == nil, handle: s.getOverview},
	}
}

func (s *server) getOverview(r *request) (reply, error) {
	registry, err := s.Registry.Registry(r.Context())
	if err != nil {
		return reply{}, err
	}
	counts := s.Overview.Counts()
	out := api.Overview{
		Devices: counts.Devices, Connections: named(connections, counts.Connections), Configurations: named(configurations, counts.Configurations),
		Folders: api.OverviewOfFolders(counts.Folders), Rollouts: []api.Rollout{},
		Mode: string(orOn(registry.Mode)), Generation: registry.Generation, Templates: len(registry.Templates), Tags: len(tagsOf(registry)),
	}
	if s.Rollouts != nil {
		rollouts, err := s.Rollouts.Rollouts(r.Context())
		if err != nil {
			return reply{}, err
		}
		for _, rollout := range rollouts {
			if !rollout.Status.Over() {
				out.Rollouts = append(out.Rollouts, wireRollout(rollout))
			}
		}
	}
	if s.Pending != nil {
		for _, asks := range s.Pending.Pending() {
			if asks.Folder == "" {
				out.Pending.Devices++
			} else {
				out.Pending.Folders++
			}
		}
	}
	return show(out)
}

// named has a number for every state, also for one that nobody is in.
func named[K ~string](all []K, counts map[K]int) map[string]int {
	out := make(map[string]int, len(all))
	for _, k := range all {
		out[string(k)] = counts[k]
	}
	return out
}
