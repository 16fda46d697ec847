package fleet

import (
	"testing"
	"time"
)

func registryAt(generation int64, devices map[DeviceID]*Registered) *Registry {
	return &Registry{Generation: generation, Mode: ModeOn, Devices: devices,
		Templates: []TaggedTemplate{{Template: Template{ID: generation}}}}
}

func TestADeviceIsAdmittedToItsHoldOrToTheSettledGeneration(t *testing.T) {
	made := time.Unix(1000, 0)
	device := func(id DeviceID, created time.Time, tags ...Tag) *Registered {
		return &Registered{Device: Device{ID: id, CreatedAt: created}, Tags: tags}
	}
	before := registryAt(1, map[DeviceID]*Registered{"a": device("a", made, "old"), "b": device("b", made, "old")})
	settled := registryAt(2, map[DeviceID]*Registered{"a": device("a", made, "new"), "b": device("b", made, "new")})
	current := registryAt(3, map[DeviceID]*Registered{"a": device("a", made, "newest"),
		"b": device("b", made.Add(1), "newest")})
	current.Mode = ModeObserve

	a := NewAdmission(settled, []Hold{{Device: "a", Generation: 1, Rollout: 7}}, map[int64]*Registry{1: before})
	held := a.For("a", current)
	if held.Generation != 1 || held.Templates[0].ID != 1 || held.Devices["a"].Tags[0] != "old" ||
		held.Mode != ModeObserve {
		t.Errorf("the held device is planned from %+v", held)
	}
	if len(held.Devices["b"].Tags) != 0 {
		t.Errorf("a device that was registered anew has the tags %v of the old one", held.Devices["b"].Tags)
	}
	if got := a.For("b", current); got.Generation != 2 || got.Templates[0].ID != 2 {
		t.Errorf("the other device is planned from generation %d", got.Generation)
	}
	if a.For("a", current) != held {
		t.Error("the same question has another registry as its answer")
	}

	released := a.After(AdmissionChange{Release: []Hold{a.holds["a"]}})
	if got := released.For("a", current); got.Generation != 2 {
		t.Errorf("the released device is planned from generation %d", got.Generation)
	}
	other := a.After(AdmissionChange{Release: []Hold{{Device: "a", Rollout: 8}}})
	if got := other.For("a", current); got.Generation != 1 {
		t.Errorf("another rollout released it to generation %d", got.Generation)
	}
	if a.For("a", current).Generation != 1 {
		t.Error("a snapshot changed after it was handed out")
	}
	next := released.After(AdmissionChange{Settled: current, Hold: []Hold{{Device: "b", Generation: 2}}})
	if next.For("a", current) != current || next.For("b", current).Generation != 2 {
		t.Errorf("got generations %d and %d", next.For("a", current).Generation, next.For("b", current).Generation)
	}
	again := next.After(AdmissionChange{Hold: []Hold{{Device: "a", Generation: 1}},
		Pasts: map[int64]*Registry{1: before}})
	if again.For("a", current).Generation != 1 || again.For("b", current).Generation != 2 {
		t.Error("a hold at a generation that was given up is not in force")
	}
}
