package view

import (
	"context"
	"maps"
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

// "44.5 GiB missing on all devices together" counted old figures, and left out devices of which nothing is known.
func TestMissingBytesOfDevicesThatAreNotKnownWereAddedUp(t *testing.T) {
	const idC = fleet.DeviceID("C")
	w, registry := newWorld(), registryOf(idA, idB, idC)
	for id, lacks := range map[fleet.DeviceID]int64{idA: 300, idB: 700, idC: 20} {
		w.put(id, fleet.State{Connection: fleet.Online}, fleet.Snapshot{Device: id, Folders: labels("p", ""),
			Summaries: map[string]fleet.FolderSummary{"p": {Device: id, NeedBytes: lacks}}})
	}
	v := w.view()
	states := map[fleet.DeviceID]fleet.FolderState{idA: fleet.FolderSyncing, idB: fleet.FolderUnknown,
		idC: fleet.FolderStopped}
	v.FolderState = func(s *fleet.Snapshot, _ string) (fleet.FolderState, bool) { return states[s.Device], false }
	v.FolderStanding = func(_ context.Context, s *fleet.Snapshot, folder string) fleet.FolderStanding {
		return fleet.FolderStanding{Device: s.Device, Folder: folder, State: states[s.Device],
			Progress: fleet.Progress{NeedBytes: s.Summaries[folder].NeedBytes}}
	}
	list, err := v.FolderOverviews(t.Context(), registry)
	if want := (Lack{NeedBytes: 300, Unknown: 2}); err != nil || len(list) != 1 || list[0].Lack != want {
		t.Errorf("the list has %+v, %v", list, err)
	}
	one, err := v.FleetFolder(t.Context(), registry, "p")
	if want := (Lack{NeedBytes: 300, Unknown: 2}); err != nil || one.Lack != want {
		t.Errorf("the folder has %+v, %v", one.Lack, err)
	}
}

func TestFiguresOfAFolderAreThoseOfAllItsDevices(t *testing.T) {
	w, registry := newWorld(), registryOf(idA, idB)
	for id, lacks := range map[fleet.DeviceID]int64{idA: 0, idB: 700} {
		w.put(id, fleet.State{Connection: fleet.Online}, fleet.Snapshot{Folders: labels("p", "Photos", "q", ""),
			Summaries: map[string]fleet.FolderSummary{"p": {Device: id, NeedBytes: lacks, GlobalBytes: 4096 - lacks}}})
	}
	v := w.view()
	v.FolderState = func(s *fleet.Snapshot, folder string) (fleet.FolderState, bool) {
		if folder == "p" && s.Summaries[folder].NeedBytes == 0 {
			return fleet.FolderUpToDate, false
		}
		return fleet.FolderBehind, false
	}
	got, err := v.FolderFigures(t.Context(), registry)
	want := map[string]fleet.FolderFigures{
		"p": {Devices: 2, UpToDate: 1, NeedBytes: 700, GlobalBytes: 4096}, "q": {Devices: 2},
	}
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
}
