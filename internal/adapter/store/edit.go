package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"muster/internal/fleet"
)

// ApplyEdit writes an edit, all of it or nothing, in one transaction that makes at most one generation. It is the only
// write that makes generations. The caller has checked what the edit would do to the fleet. basis names the generation
// and the rules that this check was based on. If others are in force now, ApplyEdit returns a precondition error with
// the cause fleet.ErrAnotherGeneration. With basis.Trial it writes nothing, and returns in Applied.Then the registry
// that the edit would make.
func (s *Store) ApplyEdit(ctx context.Context, edit fleet.Edit, basis fleet.Basis) (fleet.Applied, error) {
	if err := edit.Check(); err != nil {
		return fleet.Applied{}, err
	}
	e := editing{Edit: edit, basis: basis, turns: s.turnsOf(edit)}
	if edit.Undo != nil {
		var err error
		if e.pasts, err = s.pastsOf(ctx, edit.Undo.Write.Hold); err != nil {
			return fleet.Applied{}, err
		}
	}
	done, err := write(ctx, s, "change the fleet", func(t *tx) (fleet.Applied, error) {
		e.tx = t
		err := e.apply()
		if err == nil && basis.Trial {
			e.done.Then, err = s.preview(t, e.generation), errTrial
		}
		return e.done, err
	})
	if errors.Is(err, errTrial) {
		if e.done.Then == nil {
			return fleet.Applied{}, fleet.ChangedMeanwhile(err)
		}
		return e.done, nil
	}
	return done, err
}

// errTrial ends the transaction of a trial, which rolls back everything that the edit wrote.
var errTrial error = &fleet.Error{Code: fleet.CodePrecondition, Message: "it was a trial"}

// preview returns the registry as it would be after a commit of the transaction. generation is the one that the
// transaction makes. preview returns nil if the contents in memory are not those of the generation just before it.
func (s *Store) preview(t *tx, generation int64) (then *fleet.Registry) {
	s.model.look(func(now *contents) {
		if now.generation+1 == generation {
			next := now.inForce(s.model.overrides).cloned()
			for _, change := range t.effects.model {
				change(&next)
			}
			then = newView(next).registry
		}
	})
	return then
}

// editing is an edit while its transaction runs, together with the data that the parts of the edit share.
type editing struct {
	*tx
	fleet.Edit
	basis fleet.Basis
	turns map[fleet.ModeScope]int64 // override.turn of each mode that the edit sets
	pasts map[int64]*fleet.Registry // registries of the generations at which an undo holds devices

	generation int64 // the generation that the edit makes; 0 until the edit has changed something
	done       fleet.Applied
}

// apply writes the parts of the edit in an order in which each part finds the rows that it needs: devices and
// templates exist before they get tags, and a device is removed after its tags and vars were changed.
func (e *editing) apply() error {
	if err := e.checkBasis(); err != nil {
		return err
	}
	for _, part := range []func() error{
		e.enroll, e.putDevices, e.addTemplates, e.replaceTemplates, e.deleteTemplates, e.changeTags, e.dropTags,
		e.changeVars, e.removeDevices, e.changeRevocations, e.changeLabels, e.changeSettings, e.changeModes, e.changeRoots,
		e.changeProtection,
		e.changeFiles, e.forgetSource, e.undo,
	} {
		if err := part(); err != nil {
			return err
		}
	}
	if e.generation != 0 {
		e.done.Generation = e.generation
		return nil
	}
	if e.Message != "" {
		for _, put := range e.Put { // Records of devices are in no generation.
			e.record(fleet.ChangeTitle, string(put.Device.ID), e.Message)
		}
	}
	return nil
}

// checkBasis returns a precondition error unless the generation and the rules in basis are in force.
func (e *editing) checkBasis() error {
	err := e.row(`SELECT COALESCE(MAX(number), 0) FROM generations`).Scan(&e.done.Generation)
	if err != nil {
		return err
	}
	if g := e.basis.Generation; g != nil && *g != e.done.Generation {
		return fleet.Overtaken(e.done.Generation)
	}
	if e.basis.Rules == nil {
		return nil
	}
	rules, err := e.rules()
	if err == nil && rules != *e.basis.Rules {
		err = fleet.ChangedMeanwhile(fleet.ErrAnotherGeneration)
	}
	return err
}

// check calls basis.Check, if it is set, with what was found in the database. An error refuses the edit.
func (e *editing) check(found fleet.Found) error {
	if e.basis.Check == nil {
		return nil
	}
	return e.basis.Check(found)
}

// inGeneration calls do, a write that belongs to the generation of this edit. The first call makes the generation.
func (e *editing) inGeneration(do func(generation int64) error) (err error) {
	if e.generation == 0 {
		if e.generation, err = e.makeGeneration(cmp.Or(e.Title, "the fleet was changed")); err != nil {
			return err
		}
		if e.Message != "" {
			e.record(fleet.ChangeTitle, "", fmt.Sprintf("generation %d: %s", e.generation, e.Message))
		}
	}
	return do(e.generation)
}
