package httpapi

import (
	"cmp"
	"context"
	"net/http"
	"reflect"
	"slices"
	"strconv"

	"muster/api"
	"muster/internal/core/plan"
	"muster/internal/edge/auth"
	"muster/internal/fleet"
)

// UndoHandlers show what the undo of a rollout would do, and undo it.
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
		{method: http.MethodGet, path: path, name: "planUndo",
			summary: "What the undo of a rollout would change and remove, on which devices; changes nothing. A held change " +
				"with a digest can be answered with the POST: it removes a folder or device, or makes it again, that no template " +
				"asks for any more",
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
	edit, err := s.Rollouts.Runner.UndoEdit(r.Context(), id)
	if err != nil {
		return reply{}, noRollout(id, err)
	}
	return s.Planning.planned(r, func(ctx context.Context) (reply, error) {
		out, _, err := s.Planning.foresee(ctx, edit, func(plan.Effect) {})
		if err != nil {
			return reply{}, err
		}
		return show(out)
	})
}

// undoBasisParam binds an undo to the plan that was shown, because the undo answers what is held in it.
var undoBasisParam = numberParam("generation", "That the plan of the undo was compared with; when templates, "+
	"tags, vars or revocations were changed since, the answer is 412. Without it, the present one", 1, 0)

func (s UndoHandlers) undoRollout(r *request) (reply, error) {
	id, approval, err := undoApproval(r)
	if err != nil {
		return reply{}, err
	}
	if err := s.Rollouts.Rollouts.MaySteer(r.Context(), id); err != nil {
		return reply{}, noRollout(id, err)
	}
	held, err := s.answerable(r.Context(), id, approval)
	if err != nil {
		return reply{}, noRollout(id, err)
	}
	approval.Shown = held.stillThere(approval.Shown)
	rollout, answered, err := s.Rollouts.Runner.Undo(r.Context(), id, approval)
	if err != nil {
		return reply{}, noRollout(id, err)
	}
	if err := s.record(r, "rollout.undo", strconv.FormatInt(id, 10), rollout.Cause); err != nil {
		return reply{}, err
	}
	detail, err := s.Rollouts.wireRolloutDetail(r, rollout)
	if err != nil {
		return reply{}, err
	}
	registry, err := s.Registry.Registry(r.Context())
	if err != nil {
		return reply{}, err
	}
	out := api.UndoneRollout{RolloutDetail: detail}
	out.Answered, out.Waiting = held.split(answered, registry)
	return show(out)
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
	if r.ContentLength == 0 {
		return id, approval, nil
	}
	body, err := decode[api.UndoRollout](r)
	if err != nil {
		return id, approval, err
	}
	if approval.Shown, err = shownChanges(body.Shown); err != nil {
		return id, approval, err
	}
	if len(approval.Shown) > 0 && approval.Generation == nil {
		return id, approval, fleet.Invalidf("generation", "an undo that answers what was shown names the generation of the "+
			"plan that was shown: ?generation=")
	}
	return id, approval, nil
}

// heldByUndo are the held changes of an undo that its answer may cover, with their keys.
type heldByUndo map[fleet.ShownChange]string

// answerable plans the undo, as the caller may see it. It plans nothing for an undo that answers nothing, so that such
// an undo takes no longer in a large fleet.
func (s UndoHandlers) answerable(ctx context.Context, id int64, approval fleet.UndoApproval) (heldByUndo, error) {
	held := heldByUndo{}
	if len(approval.Shown) == 0 {
		return held, nil
	}
	edit, err := s.Rollouts.Runner.UndoEdit(ctx, id)
	if err != nil {
		return nil, err
	}
	inside, err := s.insideOf(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, whatIfTime)
	defer cancel()
	end, err := s.whatIfs.take(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	_, err = s.Planning.WhatIf.Foresee(ctx, edit, func(_ *fleet.Registry, effect plan.Effect) {
		if !inside(effect.Device) {
			return
		}
		for key, digest := range effect.Answerable {
			held[fleet.ShownChange{Device: effect.Device, Digest: digest}] = key
		}
	})
	return held, err
}

// stillThere returns those of the shown changes that the undo still makes, each once.
func (h heldByUndo) stillThere(shown []fleet.ShownChange) (still []fleet.ShownChange) {
	asked := map[fleet.ShownChange]bool{}
	for _, change := range shown {
		if _, there := h[change]; there && !asked[change] {
			asked[change], still = true, append(still, change)
		}
	}
	return still
}

// split lists the changes that were answered, and the others.
func (h heldByUndo) split(answered []fleet.ShownChange, registry *fleet.Registry) (done, waiting []api.AnsweredKey) {
	done, waiting = []api.AnsweredKey{}, []api.AnsweredKey{}
	covered := map[fleet.ShownChange]bool{}
	for _, change := range answered {
		covered[change] = true
	}
	for change, key := range h {
		one := api.AnsweredKey{DeviceID: string(change.Device), Label: registry.Label(change.Device), Key: key}
		if covered[change] {
			done = append(done, one)
		} else {
			waiting = append(waiting, one)
		}
	}
	for _, list := range [][]api.AnsweredKey{done, waiting} {
		slices.SortFunc(list, func(a, b api.AnsweredKey) int {
			return cmp.Or(cmp.Compare(a.Label, b.Label), cmp.Compare(a.DeviceID, b.DeviceID), cmp.Compare(a.Key, b.Key))
		})
	}
	return done, waiting
}
