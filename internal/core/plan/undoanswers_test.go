package plan_test

import (
	"maps"
	"slices"
	"testing"

	"muster/internal/core/plan"
	"muster/internal/fleet"
)

func TestAnUndoAnswersOnlyWhatWasShownIsStillThereAndThePersonMayAnswer(t *testing.T) {
	mine := fleet.ShownChange{Device: "A", Digest: "mine"}
	admins := fleet.ShownChange{Device: "A", Digest: "admins"}
	gone := fleet.ShownChange{Device: "A", Digest: "gone"}
	new := fleet.ShownChange{Device: "B", Digest: "new"}
	var held plan.HeldByUndo
	held.Add(plan.Effect{Device: "A", Answerable: map[string]plan.Answerable{
		"folders.a": {Digest: "mine", Removes: true}, "folders.b": {Digest: "admins"},
	}}, map[string]plan.Answerable{"folders.a": {Digest: "mine", Removes: true}})
	held.Add(plan.Effect{Device: "B", Answerable: map[string]plan.Answerable{"folders.c": {Digest: "new"}}},
		map[string]plan.Answerable{"folders.c": {Digest: "new"}})

	given := held.Answerable([]fleet.ShownChange{mine, admins, gone, mine})
	if !slices.Equal(given, []fleet.ShownChange{mine}) {
		t.Errorf("the undo answers %v, want only %v", given, mine)
	}
	answered, waiting := held.After(given)
	if want := map[fleet.ShownChange]string{mine: "folders.a"}; !maps.Equal(answered, want) {
		t.Errorf("answered: %v, want %v", answered, want)
	}
	if want := map[fleet.ShownChange]string{admins: "folders.b", new: "folders.c"}; !maps.Equal(waiting, want) {
		t.Errorf("waiting: %v, want %v", waiting, want)
	}
}

func TestAnUndoOfWhichNothingWasPlannedAnswersNothing(t *testing.T) {
	var held plan.HeldByUndo
	if given := held.Answerable([]fleet.ShownChange{{Device: "A", Digest: "x"}}); len(given) > 0 {
		t.Errorf("it answers %v", given)
	}
}
