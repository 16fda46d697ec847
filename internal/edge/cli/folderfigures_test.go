package cli

import (
	"strings"
	"testing"
	"time"

	"muster/api"
	"muster/internal/fleet"
)

// A folder that is stopped, paused, alone or unknown had "0 B" to go, which reads as if all of it were there.
func TestAFolderOfWhichNothingIsKnownHadNothingToGo(t *testing.T) {
	at := api.Time{Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local)}
	for _, state := range []string{"unknown", "stopped", "paused", "unshared", "alone", "a state of tomorrow"} {
		f := api.FolderStanding{State: state, AsOf: &at}
		if got := lackOf(f); got != "-" {
			t.Errorf("%s: got %q", state, got)
		}
		f.NeedBytes, f.NeedDeletes = 2048, 1
		if got := lackOf(f); got != "lacked 2.0 KiB, 1 to delete, as of 2026-01-02 03:04:05" {
			t.Errorf("%s: got %q", state, got)
		}
	}
	for _, state := range []string{"upToDate", "scanning", "syncing", "behind", "stalled", "failedItems", "conflicts"} {
		if got := lackOf(api.FolderStanding{State: state, AsOf: &at}); got != "0 B" {
			t.Errorf("%s: got %q", state, got)
		}
		if got := lackOf(api.FolderStanding{State: state, AsOf: &at, Paused: true}); got != "-" {
			t.Errorf("%s and paused: got %q", state, got)
		}
	}
	for _, one := range []struct {
		bytes            int64
		devices, unknown int
		want             string
	}{
		{0, 0, 0, "-"}, {0, 2, 0, "0 B"}, {2048, 2, 0, "2.0 KiB"}, {0, 2, 1, "not known on 1 device"},
		{2048, 200, 40, "at least 2.0 KiB, not known on 40 devices"},
	} {
		if got := lackOnDevices(one.bytes, one.devices, one.unknown); got != one.want {
			t.Errorf("%+v: got %q", one, got)
		}
	}
	for want, one := range map[string]api.InventoryDevice{
		"0 B":     {Connection: "online", Folders: api.FolderCounts{"all": 1}},
		"2.0 KiB": {Connection: "online", Folders: api.FolderCounts{"all": 1}, NeedBytes: 2048},
		"2.0 KiB as last told, not known of 1 folder": {Connection: "online", NeedBytes: 2048, NeedUnknown: 1,
			Folders: api.FolderCounts{"all": 2}},
		"-": {Connection: "online", NeedUnknown: 1, Folders: api.FolderCounts{"all": 2}},
	} {
		if got := lackOfDevice(one); got != want {
			t.Errorf("%+v: got %q, want %q", one, got, want)
		}
	}
	away := api.InventoryDevice{Connection: "unreachable", LastSeen: &at, NeedBytes: 2048,
		Folders: api.FolderCounts{"all": 1, "unknown": 1}}
	if got := lackOfDevice(away); got != "lacked 2.0 KiB, as of 2026-01-02 03:04:05" {
		t.Errorf("got %q", got)
	}
	if got := fleetFolderLine(
		api.FleetFolder{State: "stopped", Devices: api.FolderCounts{"all": 1, "stopped": 1}, NeedUnknown: 1},
	); !strings.
		HasSuffix(
			got,
			"to go not known on 1 device.",
		) {
		t.Errorf("got %q", got)
	}
}

func TestFoldersAreListedInAnOrderAndSummedUp(t *testing.T) {
	address, _ := serving(t, map[string]any{"overview/folders": []api.FolderOverview{
		{Folder: "a", State: "upToDate", Devices: api.FolderCounts{"all": 2, "upToDate": 2}, GlobalBytes: 1 << 62},
		{Folder: "b", State: "stopped", Devices: api.FolderCounts{"all": 1, "stopped": 1}, GlobalBytes: 1 << 62,
			NeedUnknown: 1},
		{Folder: "c", State: "syncing", Devices: api.FolderCounts{"all": 3, "syncing": 3}, NeedBytes: 1 << 20},
	}})
	for order, want := range map[string]string{"": "a\nb\nc\n", "-folder": "c\nb\na\n", "-state": "b\nc\na\n",
		"-needBytes": "c\na\nb\n", "to-go": "a\nb\nc\n", "-size": "a\nb\nc\n", "-devices": "c\na\nb\n"} {
		if _, out, errs := run(t, "folder", "list", "--server", address, "--token", "x", "--sort", order, "-o",
			"name"); out != want {
			t.Errorf("--sort %s: got %q %s, want %q", order, out, errs, want)
		}
	}
	code, out, errs := run(t, "folder", "list", "--server", address, "--token", "x")
	if code != exitDone || errs != "" || !strings.HasSuffix(out, "\n3 folders, 1 stopped, 1 syncing. Size 8.0 EiB, to go "+
		"at least 1.0 MiB, not known of 1 folder.\n") {
		t.Errorf("got %d and\n%s%s", code, out, errs)
	}
}

// `muster device get` read "up to date" of a folder whose drive was missing.
func TestDeviceGetLeftOutWhatIsWrongBesidesAState(t *testing.T) {
	at := api.Time{Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local)}
	label := func(fleet.DeviceID) string { return "nas" }
	folder := folderOnDevice{
		ID:   "photos",
		Path: "/p",
		Standing: &api.FolderStanding{
			State:       "syncing",
			Reason:      "3 items missing",
			AsOf:        &at,
			NeedBytes:   2048,
			NeedItems:   3,
			Rate:        1024,
			DoneBetween: []api.Time{at, at},
			HeldBy:      []string{idNAS},
			Besides: []api.FolderFinding{
				{Cause: "driveMissing", Since: &at, Reason: "the path is not there", Next: "Mount it."},
			},
		},
	}
	want := "photos: syncing: 3 items missing, in /p\n" +
		"  2.0 KiB, 3 items to go, 1.0 KiB/s, done 03:04 to 03:04, held by nas (P56IOI7), as of 2026-01-02 03:04:05\n" +
		"  besides, drive missing since 2026-01-02 03:04:05: the path is not there. Mount it."
	if got := strings.Join(folder.lines(label), "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	folder.Standing = &api.FolderStanding{State: "stopped", Reason: "path missing", AsOf: &at}
	want = "photos: stopped: path missing, in /p\n  read 2026-01-02 03:04:05"
	if got := strings.Join(folder.lines(label), "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
