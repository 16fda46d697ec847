package httpapi

import (
	"context"
	"fmt"

	"muster/internal/engine/view"
	"muster/internal/fleet"
)

// rolloutsFor are all rollouts that the caller may know of, newest first.
func (s rolloutHandlers) rolloutsFor(ctx context.Context) ([]fleet.Rollout, error) {
	all, err := s.Rollouts.Rollouts(ctx)
	if err != nil || fleet.ScopeIn(ctx).Whole() {
		return all, err
	}
	var seen []fleet.Rollout
	for _, one := range all {
		part, err := s.rolloutFor(ctx, one.ID)
		if fleet.CodeOf(err) == fleet.CodeNotFound {
			continue
		}
		if err != nil {
			return nil, err
		}
		part.Members = nil
		seen = append(seen, part)
	}
	return seen, nil
}

// rolloutFor is a rollout as the caller sees it; not_found where no member of it is inside.
func (s rolloutHandlers) rolloutFor(ctx context.Context, id int64) (fleet.Rollout, error) {
	whole, err := s.Rollouts.Rollout(ctx, id)
	if err != nil {
		return whole, err
	}
	return s.rolloutSeen(ctx, whole)
}

// rolloutSeen is the part of a rollout that the caller sees; not_found where no member of it is inside.
func (s rolloutHandlers) rolloutSeen(ctx context.Context, whole fleet.Rollout) (fleet.Rollout, error) {
	if fleet.ScopeIn(ctx).Whole() {
		return whole, nil
	}
	registry, err := s.Registry.Registry(ctx)
	if err != nil {
		return whole, err
	}
	part := view.PartOfRollout(whole, registry)
	if len(part.Members) == 0 {
		return fleet.Rollout{}, fleet.NotFoundf("there is no rollout %d", whole.ID)
	}
	return part, nil
}

// maySteer checks that all members of a rollout are inside: steering it steers all of them.
func (s rolloutHandlers) maySteer(r *request, id int64) error {
	if r.who.Scope.Whole() {
		return nil
	}
	whole, err := s.Rollouts.Rollout(r.Context(), id)
	if err != nil {
		return err
	}
	part, err := s.rolloutSeen(r.Context(), whole)
	if err != nil {
		return err
	}
	if len(part.Members) < len(whole.Members) {
		return fleet.OutOfScope(fmt.Sprintf("rollout %d is also for devices that are not %s", id, r.who.Scope.Devices()))
	}
	return nil
}

// differenceSeen is what some generations changed together, as the caller sees it.
func (s rolloutHandlers) differenceSeen(ctx context.Context, carries []int64) (fleet.Difference, error) {
	difference, err := s.Rollouts.Difference(ctx, carries)
	if err != nil || fleet.ScopeIn(ctx).Whole() {
		return difference, err
	}
	registry, err := s.Registry.Registry(ctx)
	if err != nil {
		return fleet.Difference{}, err
	}
	return view.PartOfDifference(difference, registry), nil
}
