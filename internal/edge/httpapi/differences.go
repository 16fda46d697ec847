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

func (s PlanningHandlers) differenceRoutes() []route {
	return []route{{
		method: http.MethodGet, path: Prefix + "/differences", name: "listDifferences", permission: auth.Read,
		summary: "What the plans of many devices would change, equal changes together. Plans are made from what was last " +
			"read of the daemons",
		query: inventoryFilters, reply: reflect.TypeFor[api.Differences](),
		off: s.Rows == nil || s.WhatIf == nil, handle: s.listDifferences,
	}}
}

func (s PlanningHandlers) listDifferences(r *request) (reply, error) {
	q, err := r.inventoryFilter()
	if err != nil {
		return reply{}, err
	}
	return s.planned(r, func(ctx context.Context) (reply, error) {
		seen, err := s.Registry.Registry(ctx)
		if err != nil {
			return reply{}, err
		}
		whole, err := s.wholeRegistry(ctx)
		if err != nil {
			return reply{}, err
		}
		rows, err := s.Rows.Rows(ctx, seen)
		if err != nil {
			return reply{}, err
		}
		made, err := view.DifferencesOf(seen, rows, q, func(devices []fleet.DeviceID, each view.EachPlan) error {
			return s.WhatIf.Planned(ctx, whole, devices, each)
		})
		if err != nil {
			return reply{}, err
		}
		return show(wireDifferences(made, whole.Generation))
	})
}

func wireDifferences(made view.Differences, generation int64) api.Differences {
	out := api.Differences{Generation: generation, Compared: made.Compared, Left: made.Left, Unknown: made.Unknown,
		Truncated: made.Truncated, Differences: make([]api.Difference, len(made.Groups)),
		Failed: make([]api.FailedDifference, len(made.Failed))}
	for i, group := range made.Groups {
		out.Differences[i] = api.Difference{PlannedChange: wireShown(group.PlannedChange), Devices: textsOf(group.Devices)}
	}
	for i, failed := range made.Failed {
		out.Failed[i] = api.FailedDifference{DeviceID: string(failed.Device), Error: failed.Reason}
	}
	return out
}
