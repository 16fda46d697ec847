package view

import (
	"cmp"
	"slices"

	"muster/internal/core/plan"
	"muster/internal/fleet"
)

// The bounds of the effects of one edit.
const (
	maxEffectChanges = 20_000 // shown, and keys counted
	maxEffectBytes   = 2 << 20
	maxCountsListed  = 1000
)

// Effects are what an edit would do to the devices that a caller sees.
type Effects struct {
	Devices []DeviceEffect // sorted by label, then ID
	Touched Touched
	// Folders and Keys have at most maxCountsListed members, those on most devices first.
	Folders   []DeviceCount
	Keys      []DeviceCount
	Truncated bool // some devices come without their changes; the numbers are of all
	Summary   Summary
}

// Touched counts what would change, now or after a person consents. Skipped and refused changes do not count.
type Touched struct {
	Devices int
	Folders int
	Keys    int
	Held    int // changes
	Refused int // changes
	Failed  int // devices for which no plan could be made
	Unread  int // devices that were never read
}

// DeviceCount is on how many devices something would change.
type DeviceCount struct {
	Name    string
	Devices int
}

// DeviceEffect is what an edit would do to one device.
type DeviceEffect struct {
	Device  fleet.DeviceID
	Label   string
	Changes []PlannedChange // Changes that the edit adds to the plan.
	Dropped []PlannedChange // Changes that the edit takes out of the plan.
	Unread  bool            // The configuration was never read.
	Failure string          // why no plan could be made
	// FailsNow reports that no plan can be made for the device without the edit, either.
	FailsNow bool
}

// Course is what would become of an edit on its way to the devices.
type Course struct {
	Broken   []fleet.BrokenAssertion
	Approval string // Why it would wait for approval; "": it would not.
	Waves    []int  // The sizes of its waves.
}

// Course is the part of a course that the caller may know. Waves, and the reason for an approval, count devices of the
// whole fleet.
func (s *EffectSum) Course(whole Course) Course {
	if s.scope.Whole() {
		return whole
	}
	part := Course{Broken: slices.DeleteFunc(slices.Clone(whole.Broken),
		func(b fleet.BrokenAssertion) bool { return b.Device != "" && !s.inside(b.Device) })}
	if whole.Approval != "" {
		part.Approval = "it is for many devices"
	}
	return part
}

// EffectSum adds up the effects on devices as they arrive. It stores only what will be shown.
type EffectSum struct {
	scope          fleet.Scope
	inside         func(fleet.DeviceID) bool
	registry       *fleet.Registry // The registry with the edit, as the caller would see it; nil until there is an effect.
	out            Effects
	folders, keys  map[string]int // devices on which they would change
	changes, bytes int            // shown so far
	sentences      *SentenceSum   // nil until there is an effect
}

// NewEffectSum makes a sum for a caller. inside reports whether the caller sees a device.
func NewEffectSum(scope fleet.Scope, inside func(fleet.DeviceID) bool) *EffectSum {
	return &EffectSum{scope: scope, inside: inside, folders: map[string]int{}, keys: map[string]int{}}
}

// Add adds the effect on a device. then is the registry with the edit.
func (sum *EffectSum) Add(then *fleet.Registry, effect plan.Effect) {
	if !sum.inside(effect.Device) {
		return
	}
	if sum.registry == nil {
		sum.registry = then.Within(sum.scope)
		sum.sentences = NewSentenceSum(sum.registry.Label)
	}
	device := DeviceEffect{Device: effect.Device, Unread: effect.Unread}
	if registered := sum.registry.Devices[effect.Device]; registered != nil {
		device.Label = registered.Label
	}
	switch {
	case effect.Unread:
		sum.out.Touched.Unread++
		sum.sentences.Unread(effect.Device)
	case effect.Err != nil:
		sum.out.Touched.Failed++
		device.Failure, device.FailsNow = fleet.ShortReason(effect.Err), effect.FailsNow
		sum.sentences.Fail(effect.Device, device.Failure, effect.FailsNow)
	default:
		sum.count(effect.Brings)
		sum.sentences.Add(effect.Device, effect.Brings, effect.Drops)
		sum.sentences.LeftAlone(effect.Device, effect.Alone)
		sum.show(&device, effect)
	}
	sum.out.Devices = append(sum.out.Devices, device)
}

func (sum *EffectSum) count(brings []plan.Change) {
	touched := false
	folders := map[string]bool{}
	for _, change := range brings {
		switch change.Class {
		case plan.Skipped:
			continue
		case plan.Refused:
			sum.out.Touched.Refused++
			continue
		case plan.Held:
			sum.out.Touched.Held++
		}
		touched = true
		sum.countKey(change.Key.String())
		if change.Key.Len() < 2 {
			continue
		}
		if section := change.Key.At(0).Name; section == "folders" || section == "ignores" {
			folders[change.Key.At(1).Name] = true
		}
	}
	for folder := range folders {
		sum.folders[folder]++
	}
	if touched {
		sum.out.Touched.Devices++
	}
}

// countKey counts a device for a key. The number of keys that are counted is bounded.
func (sum *EffectSum) countKey(key string) {
	if _, counted := sum.keys[key]; !counted && len(sum.keys) >= maxEffectChanges {
		sum.out.Truncated = true
		return
	}
	sum.keys[key]++
}

// show adds the changes themselves while there is room.
func (sum *EffectSum) show(device *DeviceEffect, effect plan.Effect) {
	if sum.changes > maxEffectChanges || sum.bytes > maxEffectBytes {
		sum.out.Truncated = true
		return
	}
	device.Changes, device.Dropped = sum.shown(effect.Brings), sum.shown(effect.Drops)
	for i, change := range device.Changes {
		device.Changes[i].Digest = effect.Answerable[change.Key].Digest
	}
}

// shown returns as many of the changes as fit.
func (sum *EffectSum) shown(changes []plan.Change) (shown []PlannedChange) {
	for _, change := range changes {
		sum.changes++
		sum.bytes += change.ShownSize(maxEffectBytes)
		if sum.changes > maxEffectChanges || sum.bytes > maxEffectBytes {
			sum.out.Truncated = true
			return shown
		}
		shown = append(shown, PlannedChangeOf(change, sum.registry))
	}
	return shown
}

// Effects returns the sum. The caller adds nothing afterwards.
func (sum *EffectSum) Effects() Effects {
	sum.out.Touched.Folders, sum.out.Touched.Keys = len(sum.folders), len(sum.keys)
	sum.out.Folders, sum.out.Keys = mostDevices(sum.folders), mostDevices(sum.keys)
	if sum.sentences != nil {
		sum.out.Summary = sum.sentences.Summary()
	}
	slices.SortFunc(sum.out.Devices, func(a, b DeviceEffect) int {
		return cmp.Or(cmp.Compare(a.Label, b.Label), cmp.Compare(a.Device, b.Device))
	})
	return sum.out
}

// mostDevices lists names by how many devices they are counted on.
func mostDevices(counted map[string]int) []DeviceCount {
	all := make([]DeviceCount, 0, len(counted))
	for name, devices := range counted {
		all = append(all, DeviceCount{name, devices})
	}
	slices.SortFunc(all, func(a, b DeviceCount) int {
		return cmp.Or(-cmp.Compare(a.Devices, b.Devices), cmp.Compare(a.Name, b.Name))
	})
	return all[:min(len(all), maxCountsListed)]
}
