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
	if f.Then, f.New, err = f.Now.Edited(edit); err != nil {
		return f, err
	}
	j.then = f.Then
	tell := func(effect plan.Effect) { each(f.Then, effect) }
	if err := c.o.Planner.WhatIf(ctx, f.Now, f.Then, tell); err != nil {
		return f, err
	}
	if f.Broken, err = j.brokenByFiles(ctx); err != nil {
		return f, err
	}
	others, err := j.newlyBroken(ctx)
	ofFiles := func(b fleet.BrokenAssertion) bool { return edit.Files.Source != "" && b.Source == edit.Files.Source }
	f.Broken = append(f.Broken, slices.DeleteFunc(others, ofFiles)...)
	return f, err
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
