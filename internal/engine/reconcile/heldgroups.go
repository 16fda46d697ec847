package reconcile

import (
	"context"
	"slices"
	"time"

	"muster/internal/core/plan"
	"muster/internal/fleet"
)

// grouping returns the plan.Grouping for the planned device, which finds equal held changes of other devices.
func (p *pass) grouping(now planned) plan.Grouping {
	return plan.Grouping{Key: p.o.DigestKey, Templates: now.templates,
		Registered: func(id fleet.DeviceID) bool { return now.current.Devices[id] != nil }}
}

// HeldGroups returns the held changes that wait for an answer, ordered by key. A group has equal changes of devices
// in one rollout, or in no rollout.
func (e *Engine) HeldGroups(ctx context.Context) ([]fleet.HeldGroup, error) {
	rollouts, err := e.o.Store.RolloutsOfDevices(ctx)
	if err != nil {
		return nil, err
	}
	return e.held.Groups(rollouts), nil
}

// AnswerGroup records a person's answer to a group of equal held changes: those that the person was shown and that
// still wait. With WholeRollout the answer also covers equal changes of all members of the rollout, now and later. The
// passes over these devices start at once. Deleted devices are named in the result and do not stop the answer for the
// others. AnswerGroup returns conflict if none of the shown changes waits any more.
func (e *Engine) AnswerGroup(ctx context.Context, a fleet.GroupAnswer) (fleet.GroupAnswered, error) {
	rollouts, err := e.o.Store.RolloutsOfDevices(ctx)
	if err != nil {
		return fleet.GroupAnswered{}, err
	}
	covered, err := e.held.Covers(a, rollouts)
	if err != nil {
		return fleet.GroupAnswered{}, err
	}
	registry, err := e.o.Store.Registry(ctx)
	if err != nil {
		return fleet.GroupAnswered{}, err
	}
	answered := fleet.GroupAnswered{Key: covered.Key, Changes: covered.Changes(), Waiting: covered.Waiting}
	skipped, err := e.recordGroup(ctx, a, covered)
	if err != nil {
		return fleet.GroupAnswered{}, during("record the answer", err)
	}
	leaveOutGone(&answered, a.Shown, func(id fleet.DeviceID) bool { return skipped[id] || registry.Devices[id] == nil })
	if len(answered.Changes) == 0 && a.WholeRollout == 0 {
		return fleet.GroupAnswered{}, plan.NothingWaits("the devices of the changes that were shown were deleted")
	}
	wake := fleet.DevicesOf(answered.Changes)
	if a.WholeRollout != 0 {
		wake = nil // all members, because a running pass may have read the answers before this one was stored
		for id, rollout := range rollouts {
			if rollout != a.WholeRollout {
				continue
			}
			wake = append(wake, id)
			if !slices.ContainsFunc(a.Shown, func(s fleet.ShownChange) bool { return s.Device == id }) {
				answered.NotShown++
			}
		}
	}
	e.Wake(wake)
	return answered, nil
}

// recordGroup stores an answer in one transaction, so that a crash leaves all of it or nothing: one consent for each
// covered change and, for a whole rollout, one group consent for each different change that was shown. skipped has the
// devices for which nothing was stored, because they are not registered any more.
func (e *Engine) recordGroup(ctx context.Context, a fleet.GroupAnswer, covered plan.Covered,
) (skipped map[fleet.DeviceID]bool, err error) {
	by, now := fleet.ActorOf(ctx), time.Now()
	var consents []fleet.Consent
	var groups []fleet.GroupConsent
	for _, part := range covered.Parts {
		var given []fleet.Consent
		for _, c := range part.Changes {
			if c.Digest != "" { // Without a digest the change gets its consent from the group consent.
				given = append(given, fleet.Consent{Device: c.Device, Key: c.Key, Answer: a.Answer,
					Change: c.DigestFor(a.Answer), By: by, At: now, Until: now.Add(fleet.ConsentTime)})
			}
		}
		consents = append(consents, given...)
		if a.WholeRollout != 0 {
			groups = append(groups, fleet.GroupConsent{Rollout: a.WholeRollout, Key: covered.Key, Change: part.Equal,
				Answer: a.Answer, By: by, At: now, Now: given})
		}
	}
	skipped = map[fleet.DeviceID]bool{}
	for _, c := range consents {
		skipped[c.Device] = true
	}
	switch {
	case a.WholeRollout != 0:
		groups, err = e.o.Store.PutGroupConsents(ctx, groups)
		consents = nil
		for _, g := range groups {
			consents = append(consents, g.Now...)
		}
	case len(consents) > 0:
		consents, err = e.o.Store.PutConsents(ctx, consents)
	}
	for _, c := range consents {
		delete(skipped, c.Device)
	}
	return skipped, err
}

// leaveOutGone removes the changes of deleted devices from answered. It names, in answered.Gone, those of these
// devices whose changes were shown. gone reports whether a device was deleted.
func leaveOutGone(answered *fleet.GroupAnswered, shown []fleet.ShownChange, gone func(fleet.DeviceID) bool) {
	ofGone := func(c fleet.HeldChange) bool { return gone(c.Device) }
	answered.Changes = slices.DeleteFunc(answered.Changes, ofGone)
	answered.Waiting = slices.DeleteFunc(answered.Waiting, ofGone)
	for _, s := range shown {
		if gone(s.Device) && !slices.Contains(answered.Gone, s.Device) {
			answered.Gone = append(answered.Gone, s.Device)
		}
	}
	slices.Sort(answered.Gone)
}
