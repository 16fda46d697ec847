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

// heldByUndo are the held changes of an undo, by what identifies them.
type heldByUndo struct {
	keys map[fleet.ShownChange]string
	mine map[fleet.ShownChange]bool // changes to which the caller may consent
}

// heldAfterUndo are the held changes of an undo that is done, with their keys.
type heldAfterUndo struct{ answered, waiting map[fleet.ShownChange]string }

// heldByUndo plans the undo, as the caller may see it. It plans nothing for an undo before which nothing was shown.
// When planning fails or takes too long, heldByUndo returns the changes that it found until then, with the error.
func (s UndoHandlers) heldByUndo(r *request, edit fleet.Edit, approval fleet.UndoApproval) (heldByUndo, error) {
	held := heldByUndo{keys: map[fleet.ShownChange]string{}, mine: map[fleet.ShownChange]bool{}}
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
			held.add(r.who, effect)
		}
	})
	return held, err
}

func (h heldByUndo) add(who auth.Principal, effect plan.Effect) {
	mine := answerableBy(who, effect.Answerable)
	for key, change := range effect.Answerable {
		shown := fleet.ShownChange{Device: effect.Device, Digest: change.Digest}
		_, h.mine[shown] = mine[key]
		h.keys[shown] = key
	}
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

// answerable returns those of the shown changes that the undo still makes and to which the caller may consent, each
// once.
func (h heldByUndo) answerable(shown []fleet.ShownChange) (still []fleet.ShownChange) {
	listed := map[fleet.ShownChange]bool{}
	for _, change := range shown {
		if h.mine[change] && !listed[change] {
			listed[change], still = true, append(still, change)
		}
	}
	return still
}

// after parts the held changes into those that were answered and the others.
func (h heldByUndo) after(answered []fleet.ShownChange) heldAfterUndo {
	became := heldAfterUndo{map[fleet.ShownChange]string{}, map[fleet.ShownChange]string{}}
	for change, key := range h.keys {
		became.waiting[change] = key
	}
	for _, change := range answered {
		became.answered[change] = h.keys[change]
		delete(became.waiting, change)
	}
	return became
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
