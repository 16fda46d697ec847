package httpapi

import (
	"context"

	"muster/api"
	"muster/internal/engine/view"
	"muster/internal/fleet"
)

func (s UndoHandlers) getRolloutRest(r *request) (reply, error) {
	id, err := r.number("rolloutID")
	if err != nil {
		return reply{}, err
	}
	rollout, err := s.Rollouts.Rollouts.Rollout(r.Context(), id)
	if err != nil {
		return reply{}, noRollout(id, err)
	}
	return s.Planning.planned(r, s.whatIfs, func(ctx context.Context) (reply, error) {
		seen, err := s.Registry.Registry(ctx)
		if err != nil {
			return reply{}, err
		}
		whole, err := s.wholeRegistry(ctx)
		if err != nil {
			return reply{}, err
		}
		rest, err := view.RestOf(seen, rollout, func(devices []fleet.DeviceID, each view.EachPlan) error {
			return s.Planning.WhatIf.Planned(ctx, whole, devices, each)
		})
		if err != nil {
			return reply{}, err
		}
		return show(api.RolloutRest{Devices: rest.Devices, Left: rest.Left, Summary: wireSentences(rest.Summary)})
	})
}
