package view

import (
	"testing"

	"muster/internal/core/plan"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

func TestDifferencesShowNoMoreThanTheirBound(t *testing.T) {
	key, err := stconfig.ParseKey("options.a")
	if err != nil {
		t.Fatal(err)
	}
	many := make([]plan.Change, maxDifferenceChanges+5)
	for i := range many {
		many[i] = plan.Change{Key: key, To: stconfig.Text("x")}
	}
	device := &fleet.Registered{}
	device.ID = fleet.DeviceIDOf([32]byte{1})
	registry := &fleet.Registry{Devices: map[fleet.DeviceID]*fleet.Registered{device.ID: device}}
	rows := []*Row{{Device: device, State: fleet.State{Configuration: fleet.ConfigPending}}}
	got, err := DifferencesOf(registry, rows, Query{}, func(devices []fleet.DeviceID, each EachPlan) error {
		each(devices[0], many, nil)
		return nil
	})
	if err != nil || !got.Truncated || len(got.Groups) != 1 || got.Compared != 1 {
		t.Errorf("got %d differences of %d devices, truncated %v, %v", len(got.Groups), got.Compared, got.Truncated, err)
	}
}
