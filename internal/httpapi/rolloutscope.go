package httpapi

import (
	"context"
	"fmt"
	"slices"

	"muster/internal/fleet"
)

// elsewhereToo is said of a rollout in the place of texts that count devices.
const elsewhereToo = "it is also for devices outside the tags of this token, which are not shown"

// rolloutsFor are all rollouts that the caller may know of, newest first.
func (s *server) rolloutsFor(ctx context.Context) ([]fleet.Rollout, error) {
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
func (s *server) rolloutFor(ctx context.Context, id int64) (fleet.Rollout, error) {
	whole, err := s.Rollouts.Rollout(ctx, id)
	if err != nil {
		return whole, err
	}
	return s.rolloutSeen(ctx, whole)
}

// rolloutSeen is the part of a rollout that the caller sees; not_found where no member of it is inside.
func (s *server) rolloutSeen(ctx context.Context, whole fleet.Rollout) (fleet.Rollout, error) {
	if fleet.ScopeIn(ctx).Whole() {
		return whole, nil
	}
	registry, err := s.Registry.Registry(ctx)
	if err != nil {
		return whole, err
	}
	part := partOfRollout(whole, func(id fleet.DeviceID) bool { return registry.Devices[id] != nil })
	if len(part.Members) == 0 {
		return fleet.Rollout{}, fleet.NotFoundf("there is no rollout %d", whole.ID)
	}
	part.Cause = named(registry, part.Cause)
	return part, nil
}

// partOfRollout leaves out of a rollout the members that are not inside, and all that says how many they are or how
// they stand.
func partOfRollout(whole fleet.Rollout, inside func(fleet.DeviceID) bool) fleet.Rollout {
	part := whole
	part.Members = slices.DeleteFunc(slices.Clone(whole.Members),
		func(m fleet.RolloutMember) bool { return !inside(m.Device) })
	if len(part.Members) == len(whole.Members) {
		return part
	}
	part.Reason, part.Next = elsewhereToo, ""
	part.Waves = make([]int, len(whole.Waves))
	for _, m := range part.Members {
		if m.Wave > 0 && m.Wave <= len(part.Waves) {
			part.Waves[m.Wave-1]++
		}
	}
	if halt := whole.Halt; halt != nil && halt.Device != "" && !inside(halt.Device) {
		hidden := *halt
		hidden.Device, hidden.Saw = "", "a device outside the tags of this token failed a gate"
		part.Halt = &hidden
	}
	if whole.Approval != nil {
		hidden := *whole.Approval
		hidden.Reason = "it is for many devices"
		part.Approval = &hidden
	}
	return part
}

// maySteer checks that all members of a rollout are inside: steering it steers all of them.
func (s *server) maySteer(r *request, id int64) error {
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
		return outOfScope(fmt.Sprintf("rollout %d is also for devices that are not %s", id, scopeName(r.who.Scope)))
	}
	return nil
}

// differenceSeen leaves out the tags and vars of devices that the caller does not see, and the vars of tags that none
// of theirs carries.
func (s *server) differenceSeen(ctx context.Context, carries []int64) (fleet.Difference, error) {
	difference, err := s.Rollouts.Difference(ctx, carries)
	if err != nil || fleet.ScopeIn(ctx).Whole() {
		return difference, err
	}
	registry, err := s.Registry.Registry(ctx)
	if err != nil {
		return fleet.Difference{}, err
	}
	carried := map[fleet.Tag]bool{}
	for _, device := range registry.Devices {
		for _, tag := range device.Tags {
			carried[tag] = true
		}
	}
	hidden := func(id fleet.DeviceID) bool { return id != "" && registry.Devices[id] == nil }
	difference.Tags = slices.DeleteFunc(slices.Clone(difference.Tags),
		func(t fleet.TagDifference) bool { return hidden(t.Device) })
	difference.Vars = slices.DeleteFunc(slices.Clone(difference.Vars),
		func(d fleet.VarsDifference) bool { return hidden(d.Device) || d.Device == "" && !carried[d.Tag] })
	return difference, nil
}
