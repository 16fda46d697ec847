package httpapi

import (
	"context"
	"net/http"
	"reflect"

	"muster/api"
	"muster/internal/auth"
	"muster/internal/fleet"
	"muster/internal/plan"
)

// Plans says what would be changed on a device now. A device whose configuration was never read: not_found.
type Plans interface {
	Plan(ctx context.Context, id fleet.DeviceID) (plan.Plan, error)
}

func (s *server) planRoutes() []route {
	return []route{
		{method: http.MethodGet, path: Prefix + "/devices/{deviceID}/plan", name: "getDevicePlan", summary: "What would be changed on the device now, and why",
			permission: auth.Read, reply: reflect.TypeFor[api.Plan](), handle: s.getPlan},
	}
}

func (s *server) getPlan(r *request) (reply, error) {
	device, err := s.registered(r)
	if err != nil {
		return reply{}, err
	}
	made, err := s.Plans.Plan(r.Context(), device.ID)
	if err != nil {
		return reply{}, s.notSeen(err)
	}
	changes := make([]api.PlannedChange, len(made.Changes))
	for i, change := range made.Changes {
		from, to := change.Shown()
		changes[i] = api.PlannedChange{
			Key: change.Key.String(), From: from.JSON(), To: to.JSON(), Templates: change.Templates,
			Class: string(change.Class), Reason: change.Reason,
		}
	}
	return show(api.Plan{Digest: made.Digest, Generation: made.Generation, Changes: changes})
}
