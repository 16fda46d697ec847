package view

import (
	"context"
	"fmt"

	"muster/internal/fleet"
)

// RolloutSource reads the rollouts of the whole fleet.
type RolloutSource interface {
	// Rollouts returns all rollouts without members, the newest first.
	Rollouts(ctx context.Context) ([]fleet.Rollout, error)
	Rollout(ctx context.Context, id int64) (fleet.Rollout, error)
	// Difference returns what some generations changed together.
	Difference(ctx context.Context, generations []int64) (fleet.Difference, error)
}

// RolloutOptions are the sources of Rollouts.
type RolloutOptions struct {
	Source   RolloutSource
	Registry func(context.Context) (*fleet.Registry, error) // the part in the caller's scope
}

// Rollouts shows each caller the part of the rollouts that is in the caller's scope.
type Rollouts struct{ RolloutOptions }

// NewRollouts makes the Rollouts of a source.
func NewRollouts(o RolloutOptions) *Rollouts { return &Rollouts{o} }

// Rollouts returns the rollouts that have a member in the caller's scope, without members, the newest first.
func (s *Rollouts) Rollouts(ctx context.Context) ([]fleet.Rollout, error) {
	all, err := s.Source.Rollouts(ctx)
	if err != nil || fleet.ScopeIn(ctx).Whole() {
		return all, err
	}
	var seen []fleet.Rollout
	for _, one := range all {
		part, err := s.Rollout(ctx, one.ID)
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

// Rollout returns the part of a rollout that the caller sees, not_found when no member is in the caller's scope.
func (s *Rollouts) Rollout(ctx context.Context, id int64) (fleet.Rollout, error) {
	_, part, err := s.wholeAndPart(ctx, id)
	return part, err
}

// wholeAndPart returns a rollout with all members, and the part that the caller sees.
func (s *Rollouts) wholeAndPart(ctx context.Context, id int64) (whole, part fleet.Rollout, err error) {
	if whole, err = s.Source.Rollout(ctx, id); err != nil || fleet.ScopeIn(ctx).Whole() {
		return whole, whole, err
	}
	registry, err := s.Registry(ctx)
	if err != nil {
		return whole, part, err
	}
	if part = PartOfRollout(whole, registry); len(part.Members) == 0 {
		return whole, part, fleet.NotFoundf("there is no rollout %d", id)
	}
	return whole, part, nil
}

// MaySteer returns an error when the caller does not see all members of a rollout: pausing or resuming affects all.
func (s *Rollouts) MaySteer(ctx context.Context, id int64) error {
	scope := fleet.ScopeIn(ctx)
	if scope.Whole() {
		return nil
	}
	whole, part, err := s.wholeAndPart(ctx, id)
	if err != nil {
		return err
	}
	if len(part.Members) < len(whole.Members) {
		return fleet.OutOfScope(fmt.Sprintf("rollout %d is also for devices that are not %s", id, scope.Devices()))
	}
	return nil
}

// Difference returns the part of what some generations changed together that the caller sees.
func (s *Rollouts) Difference(ctx context.Context, generations []int64) (fleet.Difference, error) {
	difference, err := s.Source.Difference(ctx, generations)
	if err != nil || fleet.ScopeIn(ctx).Whole() {
		return difference, err
	}
	registry, err := s.Registry(ctx)
	if err != nil {
		return fleet.Difference{}, err
	}
	return PartOfDifference(difference, registry), nil
}

// waiting returns the rollouts that wait for a person, with the members that the caller sees.
func (s *Rollouts) waiting(ctx context.Context) (waiting []WaitingRollout, err error) {
	all, err := s.Source.Rollouts(ctx)
	if err != nil {
		return nil, err
	}
	for _, listed := range all {
		if RolloutCause(listed) == "" {
			continue
		}
		whole, part, err := s.wholeAndPart(ctx, listed.ID)
		if fleet.CodeOf(err) == fleet.CodeNotFound { // no member is in the scope
			continue
		}
		if err != nil {
			return nil, err
		}
		waiting = append(waiting, WaitingRollout{Rollout: part, Whole: len(part.Members) == len(whole.Members)})
	}
	return waiting, nil
}
