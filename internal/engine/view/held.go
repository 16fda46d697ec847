package view

import (
	"slices"

	"muster/internal/fleet"
)

// PartOfHeld are groups of held changes as a caller with a tag scope sees them: without the devices outside.
func PartOfHeld(groups []fleet.HeldGroup, inside func(fleet.DeviceID) bool) []fleet.HeldGroup {
	part := []fleet.HeldGroup{}
	for _, g := range groups {
		if g.Changes = PartOfHeldChanges(g.Changes, inside); len(g.Changes) > 0 {
			part = append(part, g)
		}
	}
	return part
}

// PartOfHeldChanges are the changes of devices inside.
func PartOfHeldChanges(changes []fleet.HeldChange, inside func(fleet.DeviceID) bool) []fleet.HeldChange {
	return slices.DeleteFunc(slices.Clone(changes), func(c fleet.HeldChange) bool { return !inside(c.Device) })
}

// PartOfAnswer is an answer without the devices that the caller does not see. It is forbidden for a caller with a tag
// scope to answer for a whole rollout, because nobody has shown them all of its members.
func PartOfAnswer(a fleet.GroupAnswer, whole bool, inside func(fleet.DeviceID) bool) (fleet.GroupAnswer, error) {
	if whole {
		return a, nil
	}
	if a.WholeRollout != 0 {
		return a, &fleet.Error{Code: fleet.CodeForbidden,
			Message: "an answer for a whole rollout is also for devices outside the tags of this caller",
			Hint:    "Answer without wholeRollout, for the changes that are shown."}
	}
	a.Shown = slices.DeleteFunc(slices.Clone(a.Shown), func(c fleet.ShownChange) bool { return !inside(c.Device) })
	return a, nil
}
