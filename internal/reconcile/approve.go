package reconcile

import (
	"context"
	"time"

	"muster/internal/fleet"
	"muster/internal/memlimit"
	"muster/internal/plan"
)

// applyApproved is a person's apply: it holds for the plan that they saw only.
func (e *Engine) applyApproved(ctx context.Context, j *job, r *request) error {
	if r.digest != j.plan.Digest {
		return &fleet.Error{Code: fleet.CodeConflict, Message: "the plan is another by now",
			Hint: "Look at the plan again, then apply that one."}
	}
	if why := j.blocked(); why != "" && len(r.consent) > 0 {
		return refuse(r, why) // a consent must not go out at some later time, when the person does not expect it
	}
	if err := e.choices(ctx, j, r); err != nil {
		return err
	}
	memlimit.Settle(ctx) // what follows is done once
	j.m.history.stops.Clear()
	if _, err := e.keepAnswered(ctx, j); err != nil {
		return err
	}
	if err := e.makePlan(ctx, j, j.known.Online); err != nil {
		return e.planFailed(j, err)
	}
	return nil
}

// choices checks that what a person consents to, or wants to keep, is in the plan, and records the answers.
func (e *Engine) choices(ctx context.Context, j *job, r *request) error {
	now := time.Now()
	var answers []fleet.Consent
	for _, key := range r.consent {
		c, ok := j.plan.At(key)
		switch {
		case !ok || c.Class != plan.Held:
			return fleet.Invalidf("consent", "nothing at %q waits for consent", key)
		case c.OnlyKeep:
			return fleet.Invalidf("consent",
				"what was at %q before cannot be written back: keep what is there, or set another value", key)
		case !e.mayBeConsentedTo(j, c):
			return fleet.Invalidf("consent", "Muster cannot change API keys or ports here")
		}
		answers = append(answers, e.answerOf(j, c, fleet.Consent{Answer: fleet.AnswerConsent, By: r.by, At: now}))
	}
	for _, key := range r.keep {
		c, ok := j.plan.At(key)
		if !ok || !c.Returns {
			return fleet.Invalidf("keep", "nothing at %q is to return to what it was: a template asks for the change, "+
				"so change or untag that one", key)
		}
		answers = append(answers, e.answerOf(j, c, fleet.Consent{Answer: fleet.AnswerKeep, By: r.by, At: now}))
	}
	if len(answers) == 0 {
		return nil
	}
	answers, err := e.o.Store.PutConsents(fleet.WithActor(ctx, r.by), answers)
	for _, c := range answers {
		r.armed = append(r.armed, c.ID)
		j.m.history.answers.Arm(c)
	}
	return err
}
