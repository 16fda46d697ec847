// Package change is the only way to change what people decide about the fleet. It takes one edit, judges it in fixed
// steps, and makes one write to the store. The package does not plan, evaluates no template, and writes to no daemon.
package change

import (
	"cmp"
	"context"
	"errors"
	"time"

	"muster/internal/core/plan"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// Store is the part of the store that changes need.
type Store interface {
	Registry(ctx context.Context) (*fleet.Registry, error)
	// Admission returns which devices are admitted to which generation, and the last generation for which that was
	// settled.
	Admission(ctx context.Context) (*fleet.Admission, error)
	// OpenRollouts returns the rollouts that are not over, with their members.
	OpenRollouts(ctx context.Context) ([]fleet.Rollout, error)
	// ApplyEdit makes an edit completely or not at all. When the generation that basis names is no longer current, the
	// cause of its error is fleet.ErrAnotherGeneration.
	ApplyEdit(ctx context.Context, edit fleet.Edit, basis fleet.Basis) (fleet.Applied, error)
}

// Planner plans for a registry that is not in force. The functions that its methods take are called by one goroutine
// at a time, for devices in any order.
type Planner interface {
	// WhatIf calls each for every device whose plan differs between two registries. From daemons it reads only ignore
	// patterns, and only a bounded number.
	WhatIf(ctx context.Context, now, then *fleet.Registry, each func(plan.Effect)) error
	// Concerned returns the devices that would be planned from other inputs under the other registry. It makes no
	// plan.
	Concerned(now, then *fleet.Registry) []fleet.DeviceID
	// Altered returns the devices for which the templates compute another result in registry then than in registry
	// now. It does not matter what their daemons have, or whether they can be reached.
	Altered(ctx context.Context, now, then *fleet.Registry) ([]fleet.DeviceID, error)
	// Desired computes the configurations that devices would have under a registry, or the reason why there is none.
	// It leaves out devices whose daemon was never read.
	Desired(ctx context.Context, then *fleet.Registry, devices []fleet.DeviceID,
		each func(id fleet.DeviceID, desired stconfig.Value, failed error)) error
}

// Options are the parts that Changes needs.
type Options struct {
	Store   Store
	Planner Planner // nil: nothing is planned, assertions are not checked, and callers with a scope change nothing
}

// Changes changes the fleet.
type Changes struct{ o Options }

// New returns a Changes. It starts no goroutine.
func New(o Options) *Changes { return &Changes{o} }

const (
	maxTries  = 5 // how often an edit is judged again because other edits were made meanwhile
	judgeTime = 2 * time.Minute
)

// Apply makes an edit when every step of the judgement passes, in the generation in which it was judged. When another
// edit was made in between, Apply judges this one again, unless the caller named the generation. The caller has
// evaluated the templates and vars in the edit, because what they may read depends on the caller's role.
func (c *Changes) Apply(ctx context.Context, edit fleet.Edit, basis fleet.Basis) (fleet.Applied, error) {
	edit = edit.SavedBy(fleet.ActorOf(ctx), fleet.RoleOf(ctx))
	edit.Message = cmp.Or(edit.Message, fleet.MessageOf(ctx))
	if err := fleet.CheckMessage(edit.Message); err != nil {
		return fleet.Applied{}, err
	}
	if basis.Trial {
		return c.try(ctx, edit, basis)
	}
	for try := 1; ; try++ {
		j, err := c.begin(ctx, edit, basis)
		if err == nil {
			err = j.judge(ctx)
		}
		if err != nil {
			return fleet.Applied{}, err
		}
		if edit.Empty() {
			return fleet.Applied{Generation: j.now.Generation}, nil
		}
		done, err := c.o.Store.ApplyEdit(ctx, j.edit, j.basis)
		switch {
		case !errors.Is(err, fleet.ErrAnotherGeneration) || basis.Generation != nil:
			return done, err
		case try == maxTries:
			return done, fleet.ChangedMeanwhile(err)
		}
	}
}

// try makes an edit in a transaction, judges the result, and rolls the transaction back.
func (c *Changes) try(ctx context.Context, edit fleet.Edit, basis fleet.Basis) (fleet.Applied, error) {
	j, err := c.begin(ctx, edit, basis)
	if err != nil {
		return fleet.Applied{}, err
	}
	done, err := c.o.Store.ApplyEdit(ctx, j.edit, basis)
	if err == nil {
		j.then = done.Then
		err = j.judge(ctx)
	}
	return done, err
}

// judgement is one edit and the state of its judgement.
type judgement struct {
	*Changes
	edit  fleet.Edit
	basis fleet.Basis
	scope fleet.Scope
	role  fleet.Role
	now   *fleet.Registry
	then  *fleet.Registry // the registry after the edit; nil until a step needs it
}

func (c *Changes) begin(ctx context.Context, edit fleet.Edit, basis fleet.Basis) (*judgement, error) {
	now, err := c.o.Store.Registry(ctx)
	if err == nil {
		edit = edit.Titled(now)
	}
	return &judgement{
		Changes: c,
		edit:    edit,
		basis:   basis,
		scope:   fleet.ScopeIn(ctx),
		role:    fleet.RoleOf(ctx),
		now:     now,
	}, err
}

// judge runs the steps in order and returns the first refusal.
func (j *judgement) judge(ctx context.Context) error {
	if g := j.basis.Generation; g != nil && *g != j.now.Generation {
		return fleet.Overtaken(j.now.Generation)
	}
	if u := j.edit.Undo; u != nil && !j.basis.Trial && u.Write.Settled.Generation != j.now.Generation+1 {
		return fleet.ChangedMeanwhile(nil)
	}
	j.basis.Rules = &j.now.Rules
	for _, step := range []func(context.Context) error{
		j.insidePart, j.condition, j.protection, j.readOnlySources, j.enrolment, j.assertions, j.failing,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// condition checks the caller's condition (If-Match) before all other steps, so that a caller with an outdated view
// gets no details about what is there now. The store checks the condition again in the transaction.
func (j *judgement) condition(context.Context) error {
	if j.basis.Check == nil {
		return nil
	}
	if found, known := j.now.Found(j.edit); known {
		return j.basis.Check(found)
	}
	return nil
}

// afterwards returns the registry as it would be after the edit. It holds only in the generation from which it was
// computed.
func (j *judgement) afterwards() (*fleet.Registry, error) {
	j.basis.Generation = &j.now.Generation
	if j.then != nil {
		return j.then, nil
	}
	var err error
	j.then, _, err = j.now.Edited(j.edit)
	return j.then, err
}
