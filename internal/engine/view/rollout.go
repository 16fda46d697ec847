package view

import (
	"slices"

	"muster/internal/fleet"
)

// ElsewhereToo is said of a rollout in the place of texts that count devices.
const ElsewhereToo = "it is also for devices outside the tags of this token, which are not shown"

// PartOfRollout is a rollout as a caller with a tag scope sees it: without the members that are not in the registry of
// that scope, and without what says how many they are or how they stand. No member is left where the caller sees none.
func PartOfRollout(whole fleet.Rollout, registry *fleet.Registry) fleet.Rollout {
	inside := func(id fleet.DeviceID) bool { return registry.Devices[id] != nil }
	part := whole
	part.Cause = fleet.WithNames(whole.Cause, registry.Label)
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

// PartOfDifference is what a rollout changed as a caller with a tag scope sees it: without tags and vars of devices
// that are not in the registry of that scope, and without vars of tags that none of its devices carries.
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
