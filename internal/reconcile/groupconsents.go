package reconcile

import (
	"context"
	"slices"

	"muster/internal/desired"
	"muster/internal/fleet"
	"muster/internal/logkey"
	"muster/internal/memlimit"
	"muster/internal/plan"
	"muster/internal/stconfig"
)

// GroupConsentStore keeps answers to equal changes of several devices.
type GroupConsentStore interface {
	// PutGroupConsent records an answer for the members of a rollout, and with it those of the members that wait now.
	PutGroupConsent(ctx context.Context, g fleet.GroupConsent, now []fleet.Consent,
	) (fleet.GroupConsent, []fleet.Consent, error)
	// GroupConsents are those that count for a device now, newest first.
	GroupConsents(ctx context.Context, device fleet.DeviceID) ([]fleet.GroupConsent, error)
	// RolloutsOfDevices are the rollouts that speak for devices.
	RolloutsOfDevices(ctx context.Context) (map[fleet.DeviceID]int64, error)
}

// answerWaiting finds answers to what waits: those recorded for the device, and those that a person gave for equal
// changes of its rollout's members. Then it plans again.
func (e *Engine) answerWaiting(ctx context.Context, j *job) error {
	answered, err := e.findAnswers(ctx, j)
	if err != nil {
		return during("find answers", err)
	}
	kept := false
	if j.known.Online {
		if kept, err = e.keepAnswered(ctx, j); err != nil {
			return during("keep what is there", err)
		}
	}
	if !answered && !kept {
		return nil
	}
	if err := e.makePlan(ctx, j, false); err != nil {
		return e.planFailed(j, err)
	}
	return nil
}

// findAnswers arms the answers to what waits. A group consent becomes a consent of the device, once for each key, and
// only where it can be acted on now.
func (e *Engine) findAnswers(ctx context.Context, j *job) (found bool, err error) {
	if !slices.ContainsFunc(j.plan.Changes, func(c plan.Change) bool { return e.waitsForAnswer(j.m, c) }) {
		return false, nil
	}
	if found, err = e.armRecorded(ctx, j.m); err != nil {
		return false, err
	}
	e.timeConsents(ctx, j.m, j.known.Online)
	if j.blocked() != "" {
		return found, nil
	}
	groups, err := e.o.Store.GroupConsents(ctx, j.m.id)
	if err != nil || len(groups) == 0 {
		return found, err
	}
	made, err := e.o.Store.PutConsents(ctx, e.fromGroups(j, groups))
	for _, c := range made {
		j.m.history.answers.Arm(c)
	}
	return found || len(made) > 0, err
}

// fromGroups are the consents of the device that follow from group consents.
func (e *Engine) fromGroups(j *job, groups []fleet.GroupConsent) []fleet.Consent {
	var consents []fleet.Consent
	grouping := e.grouping(j.current)
	for _, c := range j.plan.Changes {
		if !e.waitsForAnswer(j.m, c) {
			continue
		}
		i := slices.IndexFunc(groups, func(g fleet.GroupConsent) bool { return e.answers(j, g, c, grouping) })
		if i < 0 {
			continue
		}
		g := groups[i]
		consents = append(consents, e.answerOf(j, c, fleet.Consent{Answer: g.Answer, By: g.By, At: g.At, Group: g.ID}))
	}
	return consents
}

// answers tells whether a group consent is one to a held change.
func (e *Engine) answers(j *job, g fleet.GroupConsent, c plan.Change, grouping plan.Grouping) bool {
	switch {
	case g.Answer == fleet.AnswerConsent && !e.mayBeConsentedTo(j, c), g.Answer == fleet.AnswerKeep && !c.Returns:
		return false
	case g.Removals:
		return c.RemovesOrCreatesAgain() && !slices.Contains(g.Waited, fleet.HeldAll) &&
			!slices.Contains(g.Waited, c.Wish().Keyed(e.o.DigestKey))
	}
	return g.Change == grouping.Digest(c)
}

// keepAnswered makes what is there the base where a person answered keep.
func (e *Engine) keepAnswered(ctx context.Context, j *job) (kept bool, err error) {
	var keep []stconfig.Key
	var ids []int64
	for _, c := range j.plan.Changes {
		given, ok := e.answerTo(j.m, c)
		if ok && given.Answer == fleet.AnswerKeep && c.Returns && c.Class != plan.Skipped {
			keep, ids = append(keep, c.Key), append(ids, given.ID)
		}
	}
	if len(keep) == 0 {
		return false, nil
	}
	memlimit.Settle(ctx) // what follows is done once
	if err := e.read(ctx, j); err != nil {
		return false, err
	}
	entries, err := desired.Keep(j.entries, keep, desired.WithIgnores(j.doc, j.m.history.lastIgnores()))
	if err != nil {
		return false, err
	}
	if err := e.putEntries(ctx, j, entries); err != nil {
		return false, err
	}
	if err := e.o.Store.CloseConsents(ctx, ids, 0); err != nil {
		e.log.Warn("used consents not closed", logkey.Device, j.m.id, logkey.Err(err))
	}
	j.m.history.answers.EndAll(ids)
	return true, nil
}
