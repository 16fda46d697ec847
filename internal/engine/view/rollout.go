package view

import (
	"slices"

	"muster/internal/core/plan"
	"muster/internal/fleet"
)

// ElsewhereToo replaces texts that count devices in a rollout that the caller sees only in part.
const ElsewhereToo = "it is also for devices outside the tags of this token, which are not shown"

// PartOfRollout returns a rollout as a caller with a tag scope sees it: without the members outside of the registry of
// that scope, and without texts and numbers about them. It has no members when the caller may see none.
func PartOfRollout(whole fleet.Rollout, registry *fleet.Registry) fleet.Rollout {
	inside := func(id fleet.DeviceID) bool { return registry.Devices[id] != nil }
	part := whole
	part.Cause = PartOfTitle(whole.Cause, registry)
	part.Members = slices.DeleteFunc(slices.Clone(whole.Members),
		func(m fleet.RolloutMember) bool { return !inside(m.Device) })
	if len(part.Members) == len(whole.Members) {
		return part
	}
	part.Reason, part.Next = ElsewhereToo, ""
	part.Waves = make([]int, len(whole.Waves))
	for _, m := range part.Members {
		if m.Wave > 0 && m.Wave <= len(part.Waves) {
			part.Waves[m.Wave-1]++
		}
	}
	if halt := whole.Halt; halt != nil && halt.Device != "" && !inside(halt.Device) {
		hidden := *halt
		hidden.Device, hidden.Saw = "", "a device outside the tags of this token failed a gate"
		part.Halt = &hidden
	}
	if whole.Approval != nil {
		hidden := *whole.Approval
		hidden.Reason = "it is for many devices"
		part.Approval = &hidden
	}
	return part
}

// PartOfTitle returns the title of a change as a caller with a tag scope sees it: a title made by Muster that names a
// device outside of the registry of that scope is replaced, because it may have the label of a deleted device.
func PartOfTitle(title string, registry *fleet.Registry) string {
	outside := false
	named := fleet.WithNames(title, func(id fleet.DeviceID) string {
		outside = outside || registry.Devices[id] == nil
		return registry.Label(id)
	})
	if outside {
		return "a change that is also about devices outside the tags of this token"
	}
	return named
}

// PartOfDifference returns a difference as a caller with a tag scope sees it: without tags and vars of devices outside
// of the registry of that scope, and without vars of tags that none of its devices has.
func PartOfDifference(whole fleet.Difference, registry *fleet.Registry) fleet.Difference {
	carried := map[fleet.Tag]bool{}
	for _, device := range registry.Devices {
		for _, tag := range device.Tags {
			carried[tag] = true
		}
	}
	hidden := func(id fleet.DeviceID) bool { return id != "" && registry.Devices[id] == nil }
	part := whole
	part.Tags = slices.DeleteFunc(slices.Clone(whole.Tags),
		func(t fleet.TagDifference) bool { return hidden(t.Device) })
	part.Vars = slices.DeleteFunc(slices.Clone(whole.Vars),
		func(d fleet.VarsDifference) bool { return hidden(d.Device) || d.Device == "" && !carried[d.Tag] })
	return part
}

// RolloutRest is what the devices of a rollout still get.
type RolloutRest struct {
	Devices int // Devices that are not through.
	Left    int // Devices that were too many to plan.
	Summary Summary
}

// RestOf makes sentences of the plans of those members of a rollout that are not through. registry and rollout are
// those of the caller's scope. planned plans devices, and calls its function for each whose configuration was read.
func RestOf(registry *fleet.Registry, rollout fleet.Rollout,
	planned func(devices []fleet.DeviceID, each EachPlan) error) (RolloutRest, error) {
	sum := NewSentenceSum(registry.Label)
	var devices []fleet.DeviceID
	if !rollout.Status.Over() {
		for _, m := range rollout.Members {
			if m.State != fleet.MemberGood && registry.Devices[m.Device] != nil {
				devices = append(devices, m.Device)
			}
		}
	}
	rest := RolloutRest{Devices: len(devices), Left: max(0, len(devices)-maxCompared)}
	devices = devices[:len(devices)-rest.Left]
	sum.isPartial = rest.Left > 0
	told := map[fleet.DeviceID]bool{}
	err := planned(devices, func(id fleet.DeviceID, changes []plan.Change, failed error) {
		told[id] = true
		if failed != nil {
			sum.Fail(id, fleet.ShortReason(failed), false)
			return
		}
		sum.Add(id, changes, nil)
	})
	for _, id := range devices {
		if !told[id] {
			sum.Unread(id)
		}
	}
	rest.Summary = sum.Summary()
	return rest, err
}
