package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"strconv"

	"muster/api"
	"muster/internal/core/plan"
	"muster/internal/edge/auth"
	"muster/internal/fleet"
	"muster/internal/logkey"
)

// UndoHandlers show what a rollout still does and what its undo would do, and undo it.
type UndoHandlers struct {
	*base
	Planning PlanningHandlers
	Rollouts RolloutHandlers
}

func (s UndoHandlers) routes(b *base) []route {
	s.base, s.Planning.base, s.Rollouts.base = b, b, b
	const path = Prefix + "/rollouts/{rolloutID}/undo"
	off := s.Planning.WhatIf == nil || s.Rollouts.Runner == nil
	return []route{
		{method: http.MethodGet, path: Prefix + "/rollouts/{rolloutID}/rest", name: "getRolloutRest",
			summary: "What the devices of a rollout that are not through still get, in sentences. Plans are made from what " +
				"was last read of the daemons, and kept for 30 seconds",
			permission: auth.Read, reply: reflect.TypeFor[api.RolloutRest](), off: off, handle: s.getRolloutRest},
		{method: http.MethodGet, path: path, name: "planUndo",
			summary: "What the undo of a rollout would change and remove, on which devices; changes nothing. A held change " +
				"with a digest can be answered with the POST: it removes a folder or device, or, where an admin asks, makes it " +
				"again, that no template asks for any more",
			permission: auth.WriteTemplates, reply: reflect.TypeFor[api.WhatIfPlan](), volatile: true, conflicts: true,
			off: off, handle: s.planUndo},
		{method: http.MethodPost, path: path, name: "undoRollout",
			summary: "Take its changes of templates and tags back, on every device that got them, and consent to the held " +
				"changes that the body names",
			permission: auth.WriteTemplates, query: []parameter{undoBasisParam}, body: reflect.TypeFor[api.UndoRollout](),
			bodyOptional: true, reply: reflect.TypeFor[api.UndoneRollout](), volatile: true, conflicts: true, based: true,
			off: off, handle: s.undoRollout},
	}
}

func (s UndoHandlers) planUndo(r *request) (reply, error) {
	id, err := r.number("rolloutID")
	if err != nil {
		return reply{}, err
	}
	// A rollout that the caller cannot see is not_found, like one that is not there.
	if _, err := s.Rollouts.Rollouts.Rollout(r.Context(), id); err != nil {
		return reply{}, noRollout(id, err)
	}
	edit, err := s.Rollouts.Runner.UndoEdit(r.Context(), id)
	if err != nil {
		return reply{}, noRollout(id, err)
	}
	return s.Planning.planned(r, s.undoLists, func(ctx context.Context) (reply, error) {
		out, _, err := s.Planning.foresee(ctx, edit, func(effect *plan.Effect) {
			effect.Answerable = answerableBy(r.who, effect.Answerable)
		})
		if err != nil {
			return reply{}, err
		}
		return show(out)
	})
}

// undoBasisParam binds an undo to the plan that was shown, because the undo answers what is held in it.
var undoBasisParam = numberParam("generation", "That the plan of the undo was compared with; when templates, "+
	"tags, vars or revocations were changed since, the answer is 412. Without it, the present one", 1, 0)

// undoRollout undoes a rollout. Nothing that fails besides the undo itself stops it or hides that it is done: the reply
// says what failed.
func (s UndoHandlers) undoRollout(r *request) (reply, error) {
	id, approval, err := undoApproval(r)
	if err != nil {
		return reply{}, err
	}
	if err := s.Rollouts.Rollouts.MaySteer(r.Context(), id); err != nil {
		return reply{}, noRollout(id, err)
	}
	edit, err := s.Rollouts.Runner.UndoEdit(r.Context(), id)
	if err != nil {
		return reply{}, noRollout(id, err)
	}
	var problems problems
	held, err := s.heldByUndo(r, edit, approval)
	if err != nil {
		s.note(&problems, r, err, "not all devices could be planned",
			"what was shown of the others is not answered, and `muster consent list` shows what waits")
	}
	approval.Shown, approval.Keys = held.Answerable(approval.Shown), held.Keys
	rollout, given, err := s.Rollouts.Runner.Undo(r.Context(), id, approval)
	if err != nil {
		return reply{}, noRollout(id, err)
	}
	answered, waiting := held.After(given)
	return show(s.undone(r, rollout, answered, waiting, problems))
}

// problems are what failed besides an undo, for a person.
type problems []string

// note adds a problem with what the person can do, and writes its cause to the log.
func (s UndoHandlers) note(to *problems, r *request, err error, text, next string) {
	s.log.Warn("something besides an undo failed", logkey.Path, r.URL.Path, logkey.Reason, text, logkey.Err(err))
	*to = append(*to, fmt.Sprintf("%s (%s): %s", text, fleet.ShortReason(err), next))
}

// undone is the reply after an undo. Where something that it shows cannot be read, the reply lacks that.
func (s UndoHandlers) undone(r *request, rollout fleet.Rollout, answered, waiting map[fleet.ShownChange]string,
	problems problems) api.UndoneRollout {
	if err := s.record(r, "rollout.undo", strconv.FormatInt(rollout.ID, 10), rollout.Cause); err != nil {
		s.note(&problems, r, err, "the audit has no entry of the request",
			"the rollout says who undid it")
	}
	registry, err := s.Registry.Registry(r.Context())
	if err != nil {
		s.note(&problems, r, err, "the labels of the devices could not be read",
			"the reply has their IDs")
		registry = &fleet.Registry{}
	}
	detail, err := s.Rollouts.wireRolloutDetail(r, rollout)
	if err != nil {
		s.note(&problems, r, err, "what the rollout changed could not be read",
			"the rollout lists it")
		detail = wireMembers(rollout, registry)
	}
	return api.UndoneRollout{RolloutDetail: detail, Answered: wireAnsweredKeys(answered, registry),
		Waiting: wireAnsweredKeys(waiting, registry), Problems: append([]string{}, problems...)}
}

// undoApproval parses the request of an undo.
func undoApproval(r *request) (id int64, approval fleet.UndoApproval, err error) {
	if id, err = r.number("rolloutID"); err != nil {
		return id, approval, err
	}
	generation, err := undoBasisParam.of(r)
	if err != nil {
		return id, approval, err
	}
	if generation > 0 {
		approval.Generation = new(int64(generation))
	}
	body, err := decodeOptional[api.UndoRollout](r)
	if err != nil {
		return id, approval, err
	}
	if approval.Shown, err = shownChanges(body.Shown); err != nil {
		return id, approval, err
	}
	if body.Shown != nil && approval.Shown == nil {
		approval.Shown = []fleet.ShownChange{} // A list was shown, and nothing in it can be answered.
	}
	if len(approval.Shown) > 0 && approval.Generation == nil {
		return id, approval, fleet.Invalidf("generation", "an undo that answers what was shown names the generation of the "+
			"plan that was shown: ?generation=")
	}
	return id, approval, nil
}
