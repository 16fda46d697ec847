package httpapi

import (
	"net/http"
	"reflect"

	"muster/api"
	"muster/internal/auth"
	"muster/internal/fleet"
	"muster/internal/health"
	"muster/internal/notify"
)

// Overview is the fleet in numbers; see health.Overview.
type Overview interface {
	Counts() health.Counts
	// CountsOf is the same for a part of the fleet.
	CountsOf(inside func(fleet.DeviceID) bool) health.Counts
}

// Notifications are how telling people stands; see notify.Notifier.
type Notifications interface {
	Problems() []notify.Problem
	Receivers() []notify.Receiver
}

// Health knows which parts of the service do not work as they should. It answers at once.
type Health interface {
	Impairments() []fleet.Impairment
}

var configurations = []fleet.Configuration{
	fleet.ConfigUnknown, fleet.ConfigUnmanaged, fleet.ConfigInSync, fleet.ConfigPending, fleet.ConfigApplying,
	fleet.ConfigHeld,
	fleet.ConfigFailed, fleet.ConfigContended, fleet.ConfigUnstable,
}

func (s *server) overviewRoutes() []route {
	return []route{
		{method: http.MethodGet, path: Prefix + "/overview", name: "getOverview", summary: "The fleet in numbers",
			permission: auth.Read,
			reply:      reflect.TypeFor[api.Overview](), off: s.Overview == nil, handle: s.getOverview},
	}
}

func (s *server) getOverview(r *request) (reply, error) {
	registry, err := s.Registry.Registry(r.Context())
	if err != nil {
		return reply{}, err
	}
	inside, err := s.insideOf(r.Context())
	if err != nil {
		return reply{}, err
	}
	stops := s.modeStops(registry)
	counts := s.countsFor(r, inside)
	out := api.Overview{
		Devices: counts.Devices, Connections: counted(fleet.Connections(), counts.Connections),
		Configurations: counted(configurations, counts.Configurations),
		Folders:        api.OverviewOfFolders(counts.Folders), Rollouts: []api.Rollout{}, Receivers: []api.Receiver{},
		Impairments: []api.Impairment{}, StopCount: len(stops), Stops: []api.ModeStop{},
		Mode: string(fleet.Strictest(orOn(registry.Mode), s.Ceiling)), Generation: registry.Generation,
		Templates: len(registry.Templates), Tags: len(tagsOf(registry)),
	}
	wire := s.wireStops(r.Context(), registry)
	for _, stop := range stops[:min(len(stops), maxOverviewStops)] {
		out.Stops = append(out.Stops, wire(stop))
	}
	if s.Rollouts != nil {
		rollouts, err := s.rolloutsFor(r.Context())
		if err != nil && fleet.CodeOf(err) != fleet.CodeUnavailable {
			return reply{}, err
		}
		if err != nil { // what else is known is in memory, and wanted now more than ever
			_, known := classify(err)
			out.Impairments = append(out.Impairments, api.Impairment{
				Part: "rollouts", Reason: "they cannot be read: " + fleet.Reason(err), Next: known.Hint,
			})
		}
		for _, rollout := range rollouts {
			if !rollout.Status.Over() {
				out.Rollouts = append(out.Rollouts, wireRollout(rollout, registry))
			}
		}
	}
	if s.Pending != nil {
		for _, asks := range s.Pending.Pending() {
			switch {
			case !inside(asks.Device):
			case asks.Folder == "":
				out.Pending.Devices++
			default:
				out.Pending.Folders++
			}
		}
	}
	if s.Notifications != nil {
		for _, problem := range s.Notifications.Problems() {
			if inside(problem.Device) {
				out.Problems++
			}
		}
	}
	for _, i := range s.impairments() {
		out.Impairments = append(out.Impairments, wireImpairment(i, r.who.Scope.Whole()))
	}
	out.Restored = wireRestored(registry.Restored, out.Configurations)
	if r.who.Scope.Whole() {
		s.addServerParts(&out)
	}
	return show(out)
}

// wireImpairment is an impairment as a caller may know it who has the whole fleet in scope or not: its texts may count
// devices.
func wireImpairment(i fleet.Impairment, whole bool) api.Impairment {
	wire := api.Impairment{Part: string(i.Part), Blocking: i.Blocking, Reason: i.Reason, Next: i.Next}
	if !whole {
		wire.Reason, wire.Next = "it does not work as it should", "Tell those who run this server."
	}
	return wire
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

func (s *server) countsFor(r *request, inside func(fleet.DeviceID) bool) health.Counts {
	if r.who.Scope.Whole() {
		return s.Overview.Counts()
	}
	return s.Overview.CountsOf(inside)
}

func wireReceiver(r notify.Receiver) api.Receiver {
	wire := api.Receiver{Name: r.Name, Waiting: r.Waiting, Trouble: r.Trouble}
	if r.Trouble != "" {
		wire.Since = &api.Time{Time: r.Since}
	}
	return wire
}

// counted has a number for every state, also for one that no device is in.
func counted[K ~string](all []K, counts map[K]int) map[string]int {
	out := make(map[string]int, len(all))
	for _, k := range all {
		out[string(k)] = counts[k]
	}
	return out
}
