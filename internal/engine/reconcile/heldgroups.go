package reconcile

import (
	"context"
	"slices"
	"time"

	"muster/internal/core/plan"
	"muster/internal/fleet"
)

func (e *Engine) grouping(r *fleet.Registry) plan.Grouping {
	return plan.Grouping{Key: e.o.DigestKey, Registered: func(id fleet.DeviceID) bool { return r.Devices[id] != nil }}
}

// HeldGroups gives the held changes that wait for an answer, ordered by key. A group has equal changes of devices in
// one rollout, or in no rollout.
func (e *Engine) HeldGroups(ctx context.Context) ([]fleet.HeldGroup, error) {
	rollouts, err := e.o.Store.RolloutsOfDevices(ctx)
	if err != nil {
		return nil, err
	}
	return e.held.Groups(rollouts), nil
}

// AnswerGroup records a person's answer to equal held changes. The answer is for the devices that have such a change
// now, which AnswerGroup returns. Where it names a rollout, and neither devices nor a template, it is also for
// members of the rollout that get such a change later. The passes over these devices begin at once and use the
// answer. AnswerGroup is conflict when none of the devices that the answer names has such a change.
func (e *Engine) AnswerGroup(ctx context.Context, a fleet.GroupAnswer) ([]fleet.DeviceID, error) {
	rollouts, err := e.o.Store.RolloutsOfDevices(ctx)
	if err != nil {
		return nil, err
	}
	key, changes, err := e.held.Meant(a, rollouts)
	if err != nil {
		return nil, err
	}
	now, devices := time.Now(), make([]fleet.DeviceID, 0, len(changes))
	consents := make([]fleet.Consent, 0, len(changes))
	for device, those := range changes {
		devices = append(devices, device)
		for _, c := range those {
			consents = append(consents, fleet.Consent{Device: device, Key: c.Key, Answer: a.Answer, Change: c.Digest,
				By: fleet.ActorOf(ctx), At: now, Until: now.Add(fleet.ConsentTime)})
		}
	}
	// An answer that names devices or a template is for these only, and not for members that get the change later.
	everyMember := a.Rollout != 0 && len(a.Devices) == 0 && a.Template == 0
	if !everyMember {
		_, err = e.o.Store.PutConsents(ctx, consents)
	} else {
		group := fleet.GroupConsent{Rollout: a.Rollout, Key: key, Change: a.Digest, Answer: a.Answer,
			By: fleet.ActorOf(ctx), At: now}
		_, _, err = e.o.Store.PutGroupConsent(ctx, group, consents)
	}
	if err != nil {
		return nil, during("record the answer", err)
	}
	slices.Sort(devices)
	if !everyMember {
		e.Wake(devices)
		return devices, nil
	}
	var members []fleet.DeviceID // all of them, as a pass under way may have read the answers before this one
	for id, rollout := range rollouts {
		if rollout == a.Rollout {
			members = append(members, id)
		}
	}
	e.Wake(members)
	return devices, nil
}
