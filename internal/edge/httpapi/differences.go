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
	return s.planned(r, s.whatIfs, func(ctx context.Context) (reply, error) {
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
	return api.Differences{Generation: generation, Compared: made.Compared, Left: made.Left, Unknown: made.Unknown,
		Truncated: made.Truncated, Summary: wireSentences(made.Summary),
		Differences: mapped(made.Groups, func(g view.Difference) api.Difference {
			return api.Difference{PlannedChange: wireShown(g.PlannedChange), Devices: textsOf(g.Devices)}
		}),
		Failed: mapped(made.Failed, func(f view.FailedPlan) api.FailedDifference {
			return api.FailedDifference{DeviceID: string(f.Device), Error: f.Reason}
		})}
}
