package httpapi

import (
	"cmp"
	"context"
	"slices"
	"time"

	"muster/api"
	"muster/internal/core/plan"
	"muster/internal/edge/auth"
	"muster/internal/fleet"
)

// undoPlanTime is how long an undo waits for the plans that tell which of the shown changes are still the same.
const undoPlanTime = 30 * time.Second

// heldByUndo plans the undo, as the caller may see it. It plans nothing for an undo before which nothing was shown.
// When planning fails or takes too long, heldByUndo returns the changes that it found until then, with the error.
func (s UndoHandlers) heldByUndo(r *request, edit fleet.Edit, approval fleet.UndoApproval) (held plan.HeldByUndo,
	err error) {
	if approval.Shown == nil {
		return held, nil
	}
	ctx, cancel := context.WithTimeout(r.Context(), undoPlanTime)
	defer cancel()
	inside, err := s.insideOf(ctx)
	if err != nil {
		return held, err
	}
	end, err := s.undos.take(ctx)
	if err != nil {
		return held, err
	}
	defer end()
	_, err = s.Planning.WhatIf.Foresee(ctx, edit, func(_ *fleet.Registry, effect plan.Effect) {
		if inside(effect.Device) {
			held.Add(effect, answerableBy(r.who, effect.Answerable))
		}
	})
	return held, err
}

// answerableBy returns those of the changes to which the caller may consent: the answer of an undo needs the same
// permission as any other consent.
func answerableBy(who auth.Principal, changes map[string]plan.Answerable) map[string]plan.Answerable {
	mine := map[string]plan.Answerable{}
	for key, change := range changes {
		if who.May(auth.ToConsent(fleet.HeldGroup{Removes: change.Removes})) {
			mine[key] = change
		}
	}
	return mine
}

// wireAnsweredKeys lists changes by the labels of their devices.
func wireAnsweredKeys(changes map[fleet.ShownChange]string, registry *fleet.Registry) []api.AnsweredKey {
	all := []api.AnsweredKey{}
	for change, key := range changes {
		all = append(all, api.AnsweredKey{DeviceID: string(change.Device), Label: registry.Label(change.Device), Key: key})
	}
	slices.SortFunc(all, func(a, b api.AnsweredKey) int {
		return cmp.Or(cmp.Compare(a.Label, b.Label), cmp.Compare(a.DeviceID, b.DeviceID), cmp.Compare(a.Key, b.Key))
	})
	return all
}
