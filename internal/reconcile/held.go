package reconcile

import (
	"context"
	"slices"
	"time"

	"muster/internal/fleet"
	"muster/internal/plan"
)

// rememberHeld notes which changes of the job's plan wait for an answer.
func (e *Engine) rememberHeld(j *job) {
	var held []plan.NewlyHeld
	grouping := e.grouping(j.current)
	for _, c := range j.plan.Changes {
		if !e.waitsForAnswer(j.m, c) || len(held) == plan.MaxHeld {
			continue
		}
		held = append(held, plan.NewlyHeld{
			Change: plan.HeldChange{Key: c.Key.String(), Digest: c.ConsentDigest(j.m.id, e.o.DigestKey), Templates: c.Templates},
			Shown:  grouping.HeldGroup(c, e.mayBeConsentedTo(j, c)),
		})
	}
	e.held.Put(j.m.id, held)
}

func (e *Engine) grouping(r *fleet.Registry) plan.Grouping {
	return plan.Grouping{Key: e.o.DigestKey, Registered: func(id fleet.DeviceID) bool { return r.Devices[id] != nil }}
}

// waitsForAnswer tells a held change that needs an answer of its own, and that no open answer is for.
func (e *Engine) waitsForAnswer(m *item, c plan.Change) bool {
	if c.Class != plan.Held || c.Stopped || c.Consented || c.Dependent {
		return false
	}
	_, answered := e.answerTo(m, c)
	return !answered
}

// mayBeConsentedTo tells whether a held change can be made at all.
func (e *Engine) mayBeConsentedTo(j *job, c plan.Change) bool {
	return !c.OnlyKeep && (e.o.Access != nil || !c.MovesAccess(j.result.Observed()))
}

// HeldGroups are the held changes that wait for an answer, equal ones of one rollout together, ordered by key.
func (e *Engine) HeldGroups(ctx context.Context) ([]fleet.HeldGroup, error) {
	rollouts, err := e.o.Store.RolloutsOfDevices(ctx)
	if err != nil {
		return nil, err
	}
	return e.held.Groups(rollouts), nil
}

// AnswerGroup records a person's answer to equal held changes: for the devices that have them now, and with a rollout
// also for its members that get them later. It names the devices that have them now; what was recorded is acted on
// with their next pass, which begins at once. Conflict: no device that is meant has such a change.
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
	// An answer that names devices or a template is for those only, and not for members that come later.
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
	var members []fleet.DeviceID // a pass that is under way may have read the answers before this one
	for id, rollout := range rollouts {
		if rollout == a.Rollout {
			members = append(members, id)
		}
	}
	e.Wake(members)
	return devices, nil
}
