package view

import (
	"math"
	"testing"

	"muster/internal/fleet"
)

// The sum of what devices lack of a folder overflowed, and was negative, where they told the largest numbers.
func TestWhatDevicesLackOfAFolderOverflowed(t *testing.T) {
	const most = 1 << 60 // the largest number that is believed of a daemon
	w, registry := newWorld(), registryOf()
	for i := range 9 {
		id := fleet.DeviceID(rune('A' + i))
		registry.Devices[id] = &fleet.Registered{Device: fleet.Device{ID: id}}
		w.put(id, fleet.State{Connection: fleet.Online}, fleet.Snapshot{Folders: labels("p", ""),
			Summaries: map[string]fleet.FolderSummary{"p": {NeedBytes: most, GlobalBytes: most}}})
	}
	got, err := w.view().FolderOverviews(t.Context(), registry)
	if err != nil || len(got) != 1 || got[0].NeedBytes != math.MaxInt64 || got[0].GlobalBytes != most ||
		got[0].State != fleet.FolderBehind {
		t.Errorf("got %+v, %v", got, err)
	}
}
