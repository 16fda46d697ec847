package change

import (
	"context"
	"fmt"
	"slices"

	"muster/internal/core/plan"
	"muster/internal/fleet"
)

// Foreseen is the effect that an edit would have.
type Foreseen struct {
	Now, Then *fleet.Registry
	New       []int64                 // IDs that the new templates have in Then
	Broken    []fleet.BrokenAssertion // assertions that would stop the edit, unless it only revokes
}

// Foresee computes what an edit would do to the fleet and changes nothing. It calls each for every device whose plan
// would differ, from one goroutine at a time and in any order. Broken assertions are in the result and do not stop
// Foresee.
func (c *Changes) Foresee(ctx context.Context, edit fleet.Edit,
	each func(then *fleet.Registry, effect plan.Effect)) (f Foreseen, err error) {
	edit = edit.SavedBy(fleet.ActorOf(ctx), fleet.RoleOf(ctx))
	j, err := c.begin(ctx, edit, fleet.Basis{})
	if err != nil {
		return f, err
	}
	if err := j.mayForesee(ctx); err != nil {
		return f, err
	}
	f.Now = j.now
	if f.Then, f.New, err = j.foreseen(ctx); err != nil {
		return f, err
	}
	j.then = f.Then
	tell := func(effect plan.Effect) { each(f.Then, effect) }
	if err := c.o.Planner.WhatIf(ctx, f.Now, f.Then, tell); err != nil {
		return f, err
	}
	if edit.Undo != nil {
		return f, nil // No assertion stops an undo.
	}
	if f.Broken, err = j.brokenByFiles(ctx); err != nil {
		return f, err
	}
	others, err := j.newlyBroken(ctx)
	ofFiles := func(b fleet.BrokenAssertion) bool { return edit.Files.Source != "" && b.Source == edit.Files.Source }
	f.Broken = append(f.Broken, slices.DeleteFunc(others, ofFiles)...)
	return f, err
}

// foreseen returns the registry after the edit, and the IDs of the new templates in it. Only the store knows what an
// undo restores, so it tries the undo and rolls the transaction back.
func (j *judgement) foreseen(ctx context.Context) (then *fleet.Registry, made []int64, err error) {
	if j.edit.Undo == nil {
		return j.now.Edited(j.edit)
	}
	done, err := j.o.Store.ApplyEdit(ctx, j.edit, fleet.Basis{Trial: true})
	return done.Then, nil, err
}

// mayForesee limits what a caller with a part of the fleet may preview to what they could change. It refuses a
// protected tag, because the plans would show configurations that the tag gives to other devices.
func (j *judgement) mayForesee(ctx context.Context) error {
	if j.scope.Whole() {
		return nil
	}
	if _, err := j.alteredInside(ctx); err != nil {
		return err
	}
	for _, tagging := range j.edit.Tag {
		if j.now.Protected[tagging.Tag] {
			return fleet.OutOfScope(fmt.Sprintf("the tag %q is protected: a token with a tag scope does not plan with it",
				tagging.Tag))
		}
	}
	return nil
}
