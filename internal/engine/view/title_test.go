package view

import (
	"strings"
	"testing"

	"muster/internal/fleet"
)

// A title has the label of a device that was deleted, which a caller with a tag scope must not learn.
func TestATitleTellsNothingOfDevicesOutsideOfAPart(t *testing.T) {
	inside := fleet.DeviceID(strings.Repeat("AAAAAAA-", 7) + "AAAAAAA")
	outside := fleet.DeviceID("P56IOI7-MZJNU2Y-IQGDREY-DM2MGTI-MGL3BXN-PQ6W5BM-TBBZ4TJ-XZWICQ2")
	part := &fleet.Registry{Devices: map[fleet.DeviceID]*fleet.Registered{
		inside: {Device: fleet.Device{ID: inside, Label: "mine"}}}}
	for title, want := range map[string]string{
		"Team folder: text changed":                 "Team folder: text changed",
		string(inside) + ": office added":           "mine (AAAAAAA): office added",
		"secretive (" + string(outside) + "): gone": "a change that is also about devices outside the tags of this token",
	} {
		if got := PartOfTitle(title, part); got != want {
			t.Errorf("%s: got %q, want %q", title, got, want)
		}
	}
}
