package reconcile

import (
	"context"
	"maps"
	"slices"
	"time"

	"muster/internal/core/desired"
	"muster/internal/core/plan"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// applyApproved records the answers that come with a person's apply, and then makes the plan again. It returns
// conflict if the present plan is not the one that the person saw, or if a write was allowed and nothing can be
// written now.
func (p *pass) applyApproved(ctx context.Context, now planned) (planned, error) {
	r := p.request
	if r.digest != now.plan.Digest {
		return now, &fleet.Error{Code: fleet.CodeConflict, Message: "the plan is another by now",
			Hint: "Look at the plan again, then apply that one."}
	}
	if why := now.blocked(); why != "" && r.hasWrites() {
		return now, refuse(r, why) // The answer would otherwise be used later, when the person does not expect it.
	}
	if err := p.recordAnswers(ctx, now); err != nil {
		return now, err
	}
	p.o.Memory.LiftLimit(ctx) // What follows must not be repeated.
	p.history.stops.Clear()
	now, _, err := p.keepAnswered(ctx, now)
	if err != nil {
		return now, err
	}
	return p.planOrReport(ctx, now.input, now.known.Online)
}

// recordAnswers checks the answers of an apply against the plan (see mayAnswer) and stores them. If one answer is
// invalid, none is stored.
func (p *pass) recordAnswers(ctx context.Context, now planned) error {
	r, at := p.request, time.Now()
	answered := map[string]string{} // key as the person gave it, by key of the plan
	var answers []fleet.Consent
	for _, key := range slices.Sorted(maps.Keys(r.answers)) {
		c, err := p.mayAnswer(now, key, r.answers[key])
		if err != nil {
			return err
		}
		if other, twice := answered[c.Key.String()]; twice {
			return fleet.Invalidf("answers", "%q and %q are one key: it has one answer", other, key)
		}
		answered[c.Key.String()] = key
		answers = append(answers, p.answerTo(c, fleet.Consent{Answer: r.answers[key], By: r.by, At: at}))
	}
	if len(answers) == 0 {
		return nil
	}
	answers, err := p.o.Store.PutConsents(fleet.WithActor(ctx, r.by), answers)
	if err == nil && len(answers) == 0 {
		return fleet.NotFoundf("device %s is not registered", p.id)
	}
	for _, c := range answers {
		r.armed = append(r.armed, c.ID)
		p.history.answers.Arm(c)
	}
	return err
}

// mayAnswer returns the plan's change of a key. It returns invalid if this answer cannot be given to that change.
func (p *pass) mayAnswer(now planned, key string, answer fleet.Answer) (plan.Change, error) {
	c, found := now.plan.At(key)
	c = c.WithoutChoice()
	switch {
	case answer == fleet.AnswerKeep && (!found || !c.Returns):
		return c, plan.CannotKeep(key, c)
	case answer == fleet.AnswerKeep:
		return c, nil
	case !found || c.Class != plan.Held:
		return c, fleet.Invalidf(fieldOf(answer), "nothing at %q waits for an answer", key)
	case answer != fleet.AnswerConsent:
		if chosen, _ := c.Answered(answer); !chosen.IsChosen() {
			return c, plan.NotOffered(key, answer.Choice(), c.Choices())
		}
	case c.OnlyKeep:
		return c, fleet.Invalidf("consent",
			"what was at %q before cannot be written back: keep what is there, choose another value, or set one", key)
	case !p.mayBeConsentedTo(now, c):
		return c, fleet.Invalidf("consent", "Muster cannot change API keys or ports here")
	}
	return c, nil
}

// fieldOf returns the name of the field of an apply that holds such an answer, for errors.
func fieldOf(answer fleet.Answer) string {
	if answer == fleet.AnswerConsent {
		return "consent"
	}
	return "values"
}

// hasWrites reports whether one of a person's answers allows a write to the daemon.
func (r *request) hasWrites() bool {
	for _, answer := range r.answers {
		if answer != fleet.AnswerKeep {
			return true
		}
	}
	return false
}

// answerWaiting finds answers to the held changes of the plan: answers recorded for this device, and answers that a
// person gave for all members of the device's rollout. If it finds any, it plans again.
func (p *pass) answerWaiting(ctx context.Context, now planned) (planned, error) {
	answered, err := p.findAnswers(ctx, now)
	if err != nil {
		return now, during("find answers", err)
	}
	kept := false
	if now.known.Online {
		if now, kept, err = p.keepAnswered(ctx, now); err != nil {
			return now, during("keep what is there", err)
		}
	}
	if !answered && !kept {
		return now, nil
	}
	return p.planOrReport(ctx, now.input, false)
}

// findAnswers loads the answers to the plan's held changes, for the plans that follow. An answer for all members of a
// rollout becomes a consent of this device, once for each key, and only if Muster can write to the device now. If it
// cannot, the answer is only noted (see covered). found reports whether there is an answer that the present plan did
// not know.
func (p *pass) findAnswers(ctx context.Context, now planned) (found bool, err error) {
	if !slices.ContainsFunc(now.plan.Changes, p.waitsForAnswer) {
		return false, nil
	}
	if found, err = p.armRecorded(ctx); err != nil {
		return false, err
	}
	p.timeConsents(ctx, now.blocked() == "")
	groups, err := p.o.Store.GroupConsents(ctx, p.id)
	if err != nil || len(groups) == 0 {
		return found, err
	}
	if now.blocked() != "" {
		p.covered = p.fromGroups(now, groups)
		return found, nil
	}
	made, err := p.o.Store.PutConsents(ctx, p.fromGroups(now, groups))
	for _, c := range made {
		p.history.answers.Arm(c)
	}
	return found || len(made) > 0, err
}

// fromGroups returns the consents that this device gets from groups, the answers for all members of its rollout: at
// most one for each held change of the plan.
func (p *pass) fromGroups(now planned, groups []fleet.GroupConsent) []fleet.Consent {
	var consents []fleet.Consent
	grouping := p.grouping(now)
	for _, c := range now.plan.Changes {
		if !p.waitsForAnswer(c) {
			continue
		}
		i := slices.IndexFunc(groups, func(g fleet.GroupConsent) bool { return p.answers(now, g, c, grouping) })
		if i < 0 {
			continue
		}
		g := groups[i]
		consents = append(consents, p.answerTo(c, fleet.Consent{Answer: g.Answer, By: g.By, At: g.At, Group: g.ID}))
	}
	return consents
}

// answers reports whether g, an answer for all members of a rollout, answers the held change c. The answer of an undo
// (g.Removals) covers the changes that the person was shown before the undo, and no other.
func (p *pass) answers(now planned, g fleet.GroupConsent, c plan.Change, grouping plan.Grouping) bool {
	switch {
	case g.Answer == fleet.AnswerConsent && !p.mayBeConsentedTo(now, c), g.Answer == fleet.AnswerKeep && !c.Returns:
		return false
	case g.Removals:
		return c.UndoAnswers() && g.Shows(p.id, c.ConsentDigest(p.id, p.o.DigestKey))
	}
	_, offered := c.Answered(g.Answer)
	return offered && g.Change == grouping.Equal(c)
}

// keepAnswered carries out the answers "keep": it makes the present value of each such key its base, so that the key
// no longer differs. It returns now with the new base; kept is false when there was no such answer.
func (p *pass) keepAnswered(ctx context.Context, now planned) (_ planned, kept bool, err error) {
	var keep []stconfig.Key
	var ids []int64
	for _, c := range now.plan.Changes {
		given, ok := p.givenTo(c)
		if ok && given.Answer == fleet.AnswerKeep && c.Returns && c.Class != plan.Skipped {
			keep, ids = append(keep, c.Key), append(ids, given.ID)
		}
	}
	if len(keep) == 0 {
		return now, false, nil
	}
	p.o.Memory.LiftLimit(ctx) // What follows must not be repeated.
	if now.input, err = p.read(ctx, now.input); err != nil {
		return now, false, err
	}
	base, err := desired.Keep(now.base, keep, desired.WithIgnores(now.doc, p.history.lastIgnores()))
	if err != nil {
		return now, false, err
	}
	if now.input, err = p.putBase(ctx, now.input, base); err != nil {
		return now, false, err
	}
	p.useUnsent(ctx, ids)
	return now, true, nil
}

// waitsForAnswer reports whether c is held and waits for a person who has not answered yet. A stopped change and one
// that depends on another change do not wait for an answer.
func (p *pass) waitsForAnswer(c plan.Change) bool {
	if c.Class != plan.Held || c.Stopped || c.Consented || c.Dependent {
		return false
	}
	_, answered := p.givenTo(c)
	return !answered
}

// givenTo returns the open answer to change c. The answer counts only if key, values and device are those that the
// person saw.
func (p *pass) givenTo(c plan.Change) (fleet.Consent, bool) {
	return p.history.answers.To(c, p.id, p.o.DigestKey)
}

// isConsented reports whether a person consented to change c as it is planned now, or chose a value for it.
func (p *pass) isConsented(c plan.Change) bool {
	given, ok := p.givenTo(c)
	return ok && given.Answer != fleet.AnswerKeep
}

// answerTo completes given, a person's answer: it adds this device, the key and the digest of change c, and the time
// until which the answer holds.
func (p *pass) answerTo(c plan.Change, given fleet.Consent) fleet.Consent {
	c, _ = c.Answered(given.Answer)
	given.Device, given.Key, given.Change = p.id, c.Key.String(), c.ConsentDigest(p.id, p.o.DigestKey)
	given.Until = time.Now().Add(fleet.ConsentTime)
	return given
}

// mayBeConsentedTo reports whether Muster could make a held change if a person consented to it.
func (p *pass) mayBeConsentedTo(now planned, c plan.Change) bool {
	return !c.OnlyKeep && (p.o.Access != nil || !c.MovesAccess(now.result.Observed()))
}

// isCovered reports whether an answer for all members of the rollout covers change c, and will be used once Muster can
// write to the device.
func (p *pass) isCovered(c plan.Change) (given fleet.Consent, covered bool) {
	i := slices.IndexFunc(p.covered, func(one fleet.Consent) bool { return c.IsAnsweredBy(one, p.id, p.o.DigestKey) })
	if i < 0 {
		return fleet.Consent{}, false
	}
	return p.covered[i], true
}

// withCovered returns the plan as people are shown it: changes that an answer for all members covers count as
// consented. Nothing is sent from such a plan.
func (p *pass) withCovered(made plan.Plan) plan.Plan {
	if len(p.covered) == 0 {
		return made
	}
	made.Changes = slices.Clone(made.Changes)
	for i, c := range made.Changes {
		given, covered := p.isCovered(c)
		if covered && p.waitsForAnswer(c) && given.Answer != fleet.AnswerKeep {
			made.Changes[i], _ = c.Answered(given.Answer)
			made.Changes[i].Consented = true
		}
	}
	return made
}

// rememberHeld stores in Engine.held the changes of the plan that wait for a person's answer, at most plan.MaxHeld.
func (p *pass) rememberHeld(now planned) {
	var held []plan.NewlyHeld
	grouping := p.grouping(now)
	for _, c := range now.plan.Changes {
		if _, covered := p.isCovered(c); covered || !p.waitsForAnswer(c) || len(held) == plan.MaxHeld {
			continue
		}
		held = append(held, grouping.Held(p.id, c, p.mayBeConsentedTo(now, c)))
	}
	p.held.Put(p.id, held)
}
