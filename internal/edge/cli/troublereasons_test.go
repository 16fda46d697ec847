package cli

import (
	"errors"
	"strings"
	"testing"

	"muster/api"
)

// stoppedFor is a group of devices that stopped a folder, each for the reason at its place.
func stoppedFor(reasons ...string) api.WaitingGroup {
	g := api.WaitingGroup{ID: "g", Cause: "folderStopped", Severity: "critical", Subject: "photos",
		Reason: "the daemons stopped the folder", Next: "Look at each.", DeviceCount: len(reasons)}
	for i, reason := range reasons {
		id := string(rune('A'+i)) + idNAS[1:]
		g.Devices = append(g.Devices, api.WaitingDevice{DeviceID: id, Label: string(rune('a' + i)), Detail: reason})
	}
	return g
}

// The reason and the advice of one device were shown as if they were those of all.
func TestStatusAndWaitingShowEachReasonOfATroubleOnce(t *testing.T) {
	g := stoppedFor("no path", "no marker", "no path", "1", "2", "3", "4", "5")
	devices := []api.Device{}
	for _, d := range g.Devices[:7] { // The last one has another tag.
		devices = append(devices, api.Device{DeviceID: d.DeviceID, Label: d.Label})
	}
	address, _ := serving(t, map[string]any{"devices": devices, "states": []api.ListedState{},
		"waiting": api.Waiting{Groups: []api.WaitingGroup{g}}, "overview": api.Overview{Trouble: []api.Trouble{{
			Cause: "folderStopped", Devices: 8, DeviceID: idNAS, Label: "nas", Folder: "photos", Reason: "no path",
			Next: "Mount the disk."}}}})
	_, out, errs := run(t, "status", "--server", address, "--token", "x")
	const first = "FOLDER STOPPED: 8 devices\n  2 devices (a (A56IOI7), c (C56IOI7)): no path\n" +
		"  b (B56IOI7): no marker\n" +
		"  d (D56IOI7): 1\n  e (E56IOI7): 2\n  f (F56IOI7): 3\n  and 1 more: `muster waiting`\n  Look at each.\n"
	if errs != "" || !strings.HasPrefix(out, first) {
		t.Errorf("got\n%s%s", out, errs)
	}
	_, out, errs = run(t, "waiting", "--server", address, "--token", "x")
	const reasons = "  the daemons stopped the folder\n    2 devices (a (A56IOI7), c (C56IOI7)): no path\n" +
		"    b (B56IOI7): no marker\n"
	if errs != "" || !strings.Contains(out, reasons) || !strings.Contains(out, "and 2 more\n  Look at each.\n") {
		t.Errorf("got\n%s%s", out, errs)
	}
}

// A reason that the group has already is not repeated.
func TestWaitingDoesNotRepeatTheReasonOfAGroup(t *testing.T) {
	g := stoppedFor("no route", "no route")
	g.Reason = "no route"
	if got := reasonsOfGroup(g); len(got) > 0 {
		t.Errorf("got %q", got)
	}
}

// Only a list of devices of one folder said why it is stopped.
func TestListsOfWhatIsStoppedShowTheReason(t *testing.T) {
	stopped := []api.FolderStanding{{DeviceID: idNAS, Folder: "photos", State: "stopped",
		Reason: "the daemon stopped the folder: no path"}, {DeviceID: idNAS, Folder: "fine", State: "upToDate"}}
	address, asked := serving(t, map[string]any{
		"overview/folders":              []api.FolderOverview{{Folder: "photos", State: "stopped"}},
		"folders/photos/devices":        stopped,
		"devices/" + idNAS + "/folders": stopped,
		"inventory": api.Inventory{Total: 1, Matched: 1,
			Devices: []api.InventoryDevice{{DeviceID: idNAS, Label: "nas"}}},
	})
	for noun, want := range map[string]string{"folder": "no path", "device": "photos: no path"} {
		code, out, errs := run(t, noun, "list", "--stopped", "--server", address, "--token", "x")
		lines := strings.Split(out, "\n")
		if code != exitDone || errs != "" || !strings.HasSuffix(strings.TrimRight(lines[0], " "), "REASON") ||
			!strings.HasSuffix(lines[1], "  "+want) {
			t.Errorf("%s: got %d and\n%s%s", noun, code, out, errs)
		}
	}
	if got := asked["folders/photos/devices"]; !strings.Contains(got, "stopped") {
		t.Errorf("asked for %q", got)
	}
	reasons := stoppedReasons(func(int) ([]api.FolderStanding, error) { return nil, errors.New("gone") }, nil)
	if got := reasons(0); !strings.HasPrefix(got, "not known: ") {
		t.Errorf("got %q", got)
	}
}
