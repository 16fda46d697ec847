package httpapi

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"muster/api"
	"muster/internal/fleet"
)

func (s PlanHandlers) applyPlan(r *request) (reply, error) {
	device, err := s.registered(r)
	if err != nil {
		return reply{}, err
	}
	body, err := decode[api.ApplyPlan](r)
	if err != nil {
		return reply{}, err
	}
	if err := missing(map[string]bool{"digest": body.Digest == nil}); err != nil {
		return reply{}, err
	}
	answers, err := answersIn(body)
	if err != nil {
		return reply{}, err
	}
	if err := s.mayApply(r, device.ID, body); err != nil {
		return reply{}, err
	}
	if err := s.record(r, "device.apply", string(device.ID), answersText(body)); err != nil {
		return reply{}, err
	}
	done, waiting, err := s.Plans.Apply(r.Context(), device.ID, *body.Digest, answers)
	if err != nil {
		return reply{}, err
	}
	state, err := s.States.State(r.Context(), device.ID)
	if err != nil {
		return reply{}, err
	}
	registry, err := s.Registry.Registry(r.Context())
	if err != nil {
		return reply{}, err
	}
	return s.held(r.Context(), func(ctx context.Context) (reply, error) {
		if err := s.takeFor(ctx, slices.Concat(done, waiting)); err != nil {
			return reply{}, err
		}
		return show(api.AppliedPlan{
			DeviceState: wireState(state), Applied: wireChanges(done, registry), Waiting: wireChanges(waiting, registry),
		})
	})
}

// mayApply checks that the plan is the one that the caller read, and that the caller may consent to the changes that
// they name. The plan's digest covers every key and class, so Apply either finds what was checked here or returns
// conflict.
func (s PlanHandlers) mayApply(r *request, id fleet.DeviceID, body api.ApplyPlan) error {
	end, err := s.planInTurn(r.Context())
	if err != nil {
		return err
	}
	defer end()
	return s.within(r.Context(), func(ctx context.Context) error {
		made, err := s.Plans.Plan(ctx, id)
		if err != nil {
			return notSeen(err)
		}
		if made.Digest != *body.Digest {
			return &fleet.Error{Code: fleet.CodeConflict, Message: "the plan is another by now",
				Hint: "GET " + devicePath(id) + "/plan, look at it, and apply that one.",
				See:  fleet.Reference{Subject: fleet.SeeDevicePlan, ID: string(id)}}
		}
		if err := made.CheckRemovals(body.Remove); err != nil {
			return err
		}
		return at("consent", r.who.MayConsent(made.Changes,
			slices.Concat(body.Consent, slices.Sorted(maps.Keys(body.Values)))))
	})
}

// answersIn gives the answer to each key of the body. A key has one answer.
func answersIn(body api.ApplyPlan) (map[string]fleet.Answer, error) {
	answers := map[string]fleet.Answer{}
	put := func(field string, answer fleet.Answer, keys ...string) error {
		for _, key := range keys {
			if other, twice := answers[key]; twice && other != answer {
				return fleet.Invalidf(field, "%q has two answers: give one", key)
			}
			answers[key] = answer
		}
		return nil
	}
	err := cmp.Or(put("consent", fleet.AnswerConsent, body.Consent...), put("remove", fleet.AnswerConsent, body.Remove...),
		put("keep", fleet.AnswerKeep, body.Keep...))
	for _, key := range slices.Sorted(maps.Keys(body.Values)) {
		err = cmp.Or(err, put("values", fleet.AnswerValue(body.Values[key]), key))
	}
	return answers, err
}

// answersText describes for the audit what a user answered.
func answersText(body api.ApplyPlan) string {
	var all []string
	for _, given := range []struct {
		answer string
		keys   []string
	}{{"consent to ", body.Consent}, {"remove ", body.Remove}, {"keep ", body.Keep}} {
		if len(given.keys) > 0 {
			all = append(all, given.answer+strings.Join(given.keys, ", "))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(body.Values)) {
		all = append(all, fmt.Sprintf("choose %q for %s", body.Values[key], key))
	}
	return strings.Join(all, "; ")
}
