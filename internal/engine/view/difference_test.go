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

// TestNothingIsSaidToBeKeptOfDevicesThatAreNotCompared covers devices that are in no plan of the differences: "Nothing
// is removed." was said of them, too.
func TestNothingIsSaidToBeKeptOfDevicesThatAreNotCompared(t *testing.T) {
	rowsOf := func(n int, configuration fleet.Configuration) (rows []*Row) {
		for i := range n {
			device := &fleet.Registered{}
			device.ID = fleet.DeviceIDOf([32]byte{byte(i), byte(i >> 8), byte(len(configuration))})
			rows = append(rows, &Row{Device: device, State: fleet.State{Configuration: configuration}})
		}
		return rows
	}
	pending := rowsOf(1, fleet.ConfigPending)
	changed := []plan.Change{madeChange(t, plan.Change{}, "options.a", `"x"`, `"y"`)}
	removed := []plan.Change{madeChange(t, plan.Change{}, "options.a", `"x"`, "")}
	for _, tc := range []struct {
		name    string
		rows    []*Row
		changes []plan.Change
		want    string
	}{
		{"all are compared", pending, changed, "Nothing is removed."},
		{"one is left", rowsOf(maxCompared+1, fleet.ConfigPending), changed, partly},
		{"one was never read", append(rowsOf(1, fleet.ConfigUnknown), pending...), changed, partly},
		{"removals", append(rowsOf(1, fleet.ConfigUnknown), pending...), removed, "At least 1 change takes something away."},
	} {
		registry := &fleet.Registry{Devices: map[fleet.DeviceID]*fleet.Registered{}}
		got, err := DifferencesOf(registry, tc.rows, Query{}, func(devices []fleet.DeviceID, each EachPlan) error {
			for _, device := range devices {
				each(device, tc.changes, nil)
			}
			return nil
		})
		if err != nil || got.Summary.Removal != tc.want {
			t.Errorf("%s: got %q, %v, want %q", tc.name, got.Summary.Removal, err, tc.want)
		}
	}
}
