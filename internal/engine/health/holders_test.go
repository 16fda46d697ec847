package health

import (
	"slices"
	"testing"

	"muster/internal/fleet"
)

func TestHoldersAreConnectedDevicesThatHaveAllOfAFolder(t *testing.T) {
	everybody := func(fleet.DeviceID) bool { return true }
	a := lacking(online(deviceA, deviceB, deviceC))
	f := newFleet(a, online(deviceB, deviceA, deviceC), lacking(online(deviceC, deviceA, deviceB)))
	want := func(when string, got []fleet.DeviceID, want ...fleet.DeviceID) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", when, got, want)
		}
	}
	want("one has it", f.Holders(a, "f", f.now, 10, everybody), deviceB)
	want("nobody that the reader may know of", f.Holders(a, "f", f.now, 10, func(fleet.DeviceID) bool { return false }))
	want("nothing is missing", f.Holders(f.snapshots[deviceB], "f", f.now, 10, everybody))
	want("no such folder", f.Holders(a, "g", f.now, 10, everybody))
	f.put(online(deviceC, deviceA, deviceB))
	want("two have it", f.Holders(a, "f", f.now, 10, everybody), deviceC, deviceB) // by ID
	want("too many have it", f.Holders(a, "f", f.now, 1, everybody), deviceC)
	f.put(with(online(deviceB, deviceA, deviceC), stoppedFolder))
	want("one is stopped", f.Holders(a, "f", f.now, 10, everybody), deviceC)
	away := *a
	away.Connection = fleet.Unreachable
	want("the device is away", f.Holders(&away, "f", f.now, 10, everybody))
}
