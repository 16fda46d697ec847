package reconcile

import (
	"context"
	"slices"
	"time"

	"muster/internal/core/plan"
	"muster/internal/fleet"
)

// grouping tells which held changes of the planned device are equal to those of other devices.
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

// AnswerGroup records a person's answer for the changes that the person was shown and that still wait. With
// WholeRollout it also records the answer for equal changes of all members of the rollout, now and later. The passes
// over these devices begin at once and use the answer. AnswerGroup is conflict when nothing of what was shown waits.
func (e *Engine) AnswerGroup(ctx context.Context, a fleet.GroupAnswer) (fleet.GroupAnswered, error) {
	rollouts, err := e.o.Store.RolloutsOfDevices(ctx)
	if err != nil {
		return fleet.GroupAnswered{}, err
	}
	covered, err := e.held.Covers(a, rollouts)
	if err != nil {
		return fleet.GroupAnswered{}, err
	}
	answered := fleet.GroupAnswered{Key: covered.Key, Changes: covered.Changes(), Waiting: covered.Waiting}
	wake := fleet.DevicesOf(answered.Changes)
	if err := e.recordGroup(ctx, a, covered); err != nil {
		return fleet.GroupAnswered{}, during("record the answer", err)
	}
	if a.WholeRollout != 0 {
		wake = nil // all members, as a pass under way may have read the answers before this one
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

// recordGroup records an answer in one transaction, so that a crash leaves all of it or nothing: one consent for each
// covered change, and for a whole rollout one group consent for each different change that was shown.
func (e *Engine) recordGroup(ctx context.Context, a fleet.GroupAnswer, covered plan.Covered) error {
	by, now := fleet.ActorOf(ctx), time.Now()
	var consents []fleet.Consent
	var groups []fleet.GroupConsent
	for _, part := range covered.Parts {
		var given []fleet.Consent
		for _, c := range part.Changes {
			if c.Digest != "" { // One that has no digest uses the group consent.
				given = append(given, fleet.Consent{Device: c.Device, Key: c.Key, Answer: a.Answer,
					Change: c.DigestFor(a.Answer), By: by, At: now, Until: now.Add(fleet.ConsentTime)})
			}
		}
		consents = append(consents, given...)
		groups = append(groups, fleet.GroupConsent{Rollout: a.WholeRollout, Key: covered.Key, Change: part.Equal,
			Answer: a.Answer, By: by, At: now, Now: given})
	}
	var err error
	switch {
	case a.WholeRollout != 0:
		_, err = e.o.Store.PutGroupConsents(ctx, groups)
	case len(consents) > 0:
		_, err = e.o.Store.PutConsents(ctx, consents)
	}
	return err
}
