package httpapi

import (
	"context"
	"time"

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
	seen, err := s.Registry.Registry(r.Context())
	if err != nil {
		return reply{}, err
	}
	of := view.RestKey{Rollout: id, Status: rollout.Status, Generation: seen.Generation, Scope: fleet.ScopeIn(r.Context())}
	if rest, isKept := s.rests.Get(of, time.Now()); isKept {
		return showRest(rest)
	}
	return s.Planning.planned(r, s.restPlans, func(ctx context.Context) (reply, error) {
		rest, isKept := s.rests.Get(of, time.Now()) // Somebody may have asked for the same while this request waited.
		if isKept {
			return showRest(rest)
		}
		whole, err := s.wholeRegistry(ctx)
		if err != nil {
			return reply{}, err
		}
		rest, err = view.RestOf(seen, rollout, func(devices []fleet.DeviceID, each view.EachPlan) error {
			return s.Planning.WhatIf.Planned(ctx, whole, devices, each)
		})
		if err != nil {
			return reply{}, err
		}
		s.rests.Put(of, rest, time.Now())
		return showRest(rest)
	})
}

func showRest(rest view.RolloutRest) (reply, error) {
	return show(api.RolloutRest{Devices: rest.Devices, Left: rest.Left, Summary: wireSentences(rest.Summary)})
}
