package httpapi

import (
	"testing"
	"time"

	"muster/api"
	"muster/internal/fleet"
)

// toldDisks are the facts of one device.
type toldDisks struct {
	of    fleet.DeviceID
	facts *fleet.DiskFacts
	asOf  time.Time
}

func (d toldDisks) Disks(id fleet.DeviceID) (*fleet.DiskFacts, time.Time) {
	if id != d.of {
		return nil, time.Time{}
	}
	return d.facts, d.asOf
}

func TestTheDisksOfADevice(t *testing.T) {
	w := threeDevices(t)
	const gib = 1 << 30
	asOf := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	w.with(func(o *setup) {
		o.Disks = toldDisks{idA, &fleet.DiskFacts{Home: fleet.DiskSpace{Free: gib, Total: 2 * gib},
			Folders: []fleet.FolderDisk{
				{Folder: "a", Space: fleet.DiskSpace{Free: gib, Total: 100 * gib}, Path: fleet.PresenceThere,
					Marker: fleet.PresenceMissing},
				{Folder: "b", Path: fleet.PresenceMissing, Marker: fleet.PresenceUnknown,
					Versions: fleet.DiskSpace{Free: 50 * gib, Total: 100 * gib}},
			}}, asOf}
	})
	got := read[[]api.DiskUse](w.world, Prefix+"/devices/"+string(idA)+"/disks")
	at := api.Time{Time: asOf}
	want := []api.DiskUse{
		{Use: "home", FreeBytes: gib, TotalBytes: 2 * gib, Path: "unknown", Marker: "unknown", AsOf: at},
		{Use: "folder", Folder: "a", FreeBytes: gib, TotalBytes: 100 * gib, NearlyFull: true, Path: "there",
			Marker: "missing", AsOf: at},
		{Use: "folder", Folder: "b", Path: "missing", Marker: "unknown", AsOf: at},
		{Use: "versions", Folder: "b", FreeBytes: 50 * gib, TotalBytes: 100 * gib, Path: "unknown", Marker: "unknown",
			AsOf: at},
	}
	if len(got) != len(want) {
		t.Fatalf("got %+v", got)
	}
	for i := range want {
		if !got[i].AsOf.Equal(asOf) {
			t.Errorf("as of %v", got[i].AsOf)
		}
		if got[i].AsOf = at; got[i] != want[i] {
			t.Errorf("got %+v, want %+v", got[i], want[i])
		}
	}
	if none := w.get(Prefix + "/devices/" + string(idB) + "/disks"); none != "[]" {
		t.Errorf("of a device whose agent told nothing: got %s", none)
	}
}
