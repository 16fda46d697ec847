package view

import (
	"testing"
	"time"

	"muster/internal/fleet"
)

// TestAConflictFileOfSeveralDevicesIsListedOnce has a file that was synced in one line, with all that have it.
func TestAConflictFileOfSeveralDevicesIsListedOnce(t *testing.T) {
	at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	conflict := func(path string, after time.Duration) fleet.Conflict {
		return fleet.Conflict{Path: path, At: at.Add(after)}
	}
	snapshots := map[fleet.DeviceID]*fleet.Snapshot{
		"a": {Conflicts: map[string][]fleet.Conflict{"f": {conflict("new", time.Hour), conflict("old", time.Minute)}}},
		"b": {Conflicts: map[string][]fleet.Conflict{"f": {conflict("old", 0)}, "g": {conflict("other", 0)}}},
	}
	v := New(Options{Snapshot: func(id fleet.DeviceID) *fleet.Snapshot { return snapshots[id] }})
	device := func(id fleet.DeviceID) *fleet.Registered { return &fleet.Registered{Device: fleet.Device{ID: id}} }
	got := v.ConflictFiles("f", []*fleet.Registered{device("a"), device("b"), device("c")})
	if len(got) != 2 || got[0].Path != "new" || got[1].Path != "old" || !got[1].At.Equal(at) || len(got[1].Devices) != 2 {
		t.Errorf("got %+v", got)
	}
}
