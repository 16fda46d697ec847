package health

import (
	"strings"
	"testing"
	"time"

	"muster/internal/fleet"
)

// TestTheCommandsOfARevokedDeviceCanBeTyped covers names that stood in the place of the device ID, in the command too.
func TestTheCommandsOfARevokedDeviceCanBeTyped(t *testing.T) {
	const id fleet.DeviceID = "P56IOI7-MZJNU2Y-IQGDREY-DM2MGTI-MGL3BXN-PQ6W5BM-TBBZ4TJ-XZWICQ2"
	registry := &fleet.Registry{
		Devices: map[fleet.DeviceID]*fleet.Registered{id: {Device: fleet.Device{ID: id, Label: "laptop"}}},
		Revocations: map[fleet.DeviceID]fleet.Revocation{id: {Device: id, By: "anna", Reason: "stolen",
			At: time.Date(2026, 11, 27, 0, 0, 0, 0, time.UTC)}},
	}
	state, err := New().State(id, Facts{Registry: registry,
		Snapshot: &fleet.Snapshot{Device: id, Connection: fleet.Online}})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(state.Reason, "is revoked on 2026-11-27 by anna (stolen): nothing is written to it") {
		t.Errorf("the reason is %q", state.Reason)
	}
	for _, command := range []string{"`muster revocation delete P56IOI7`", "`muster device delete P56IOI7`"} {
		if !strings.Contains(state.Next, command) {
			t.Errorf("%q has no %s", state.Next, command)
		}
	}
}
