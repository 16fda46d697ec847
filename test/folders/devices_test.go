package folders_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
	"muster/test/daemon"
	"muster/test/wait"
)

const common = "common" // the folder of both daemons

// waitTrouble waits until a folder is in a state that a person should look at, with a part of the reason.
func (w *world) waitTrouble(t *testing.T, d *daemon.Daemon, want fleet.FolderState, reason string) api.FolderStanding {
	t.Helper()
	return w.waitStanding(t, d, common, want.String()+" and trouble", func(f api.FolderStanding) bool {
		return f.State == want.String() && f.Trouble && strings.Contains(f.Reason, reason)
	})
}

// waitCalm waits until the folder is up to date on both daemons.
func (w *world) waitCalm(t *testing.T) {
	t.Helper()
	for _, d := range []*daemon.Daemon{w.a, w.b} {
		w.waitStanding(t, d, common, "up to date without trouble", func(f api.FolderStanding) bool {
			return f.State == fleet.FolderUpToDate.String() && !f.Trouble && f.Peers.Connected == 1
		})
	}
}

// order gives a device an order and waits until it is carried out.
func (w *world) order(t *testing.T, d *daemon.Daemon, kind client.OrderType) {
	t.Helper()
	order, err := w.Client.OrderToDevice(t.Context(), string(d.ID), client.OrderSpec{Type: kind})
	if err != nil {
		t.Fatal(err)
	}
	wait.Until(t, func() string {
		now, err := w.Client.Order(t.Context(), order.ID)
		if err == nil && now.Status == string(fleet.OrderDone) {
			return ""
		}
		return fmt.Sprintf("the order is %+v, %v", now, err)
	})
}

// reachAt sets where a daemon looks for another, and has it connect anew.
func reachAt(d, other *daemon.Daemon, address string) {
	device := "/rest/config/devices/" + string(other.ID)
	d.Patch(device, fmt.Sprintf(`{"paused": true, "addresses": [%q]}`, address))
	d.Patch(device, `{"paused": false}`)
}

// disconnect has two daemons look for each other where nobody is. Both are paused meanwhile, so that no connection that
// one of them began at the old address outlives the change.
func disconnect(t *testing.T, a, b *daemon.Daemon) {
	t.Helper()
	deviceOn := func(d, other *daemon.Daemon, settings string) {
		d.Patch("/rest/config/devices/"+string(other.ID), settings)
	}
	isConnected := func(d, other *daemon.Daemon) bool {
		var all struct {
			Connections map[string]struct{ Connected bool }
		}
		d.GetJSON("/rest/system/connections", &all)
		return all.Connections[string(other.ID)].Connected
	}
	wait.Until(t, func() string {
		deviceOn(a, b, `{"paused": true, "addresses": ["tcp://127.0.0.1:1"]}`)
		deviceOn(b, a, `{"paused": true, "addresses": ["tcp://127.0.0.1:1"]}`)
		wait.Until(t, func() string {
			if isConnected(a, b) || isConnected(b, a) {
				return "they are connected although both are paused"
			}
			return ""
		})
		deviceOn(a, b, `{"paused": false}`)
		deviceOn(b, a, `{"paused": false}`)
		if isConnected(a, b) || isConnected(b, a) {
			return "they are connected although neither knows where the other is"
		}
		return ""
	})
}

// TestTroubleOfAWholeDeviceIsSaidAndGoesAgain takes one trouble after the other: each is about both daemons.
func TestTroubleOfAWholeDeviceIsSaidAndGoesAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.share(t, common)
	for _, step := range []struct {
		name string
		run  func(t *testing.T)
	}{
		{"the disk of its home is full", w.testHomeFull},
		{"Muster paused its connections", w.testPausedByOrder},
		{"somebody paused its connections", w.testPausedByHand},
		{"a template paused the folder", w.testPausedByTemplate},
		{"a template paused its connections", w.testConnectionsPausedByTemplate},
		{"both are islands", w.testIslands},
		{"it is switched off", w.testSwitchedOff},
	} {
		if !t.Run(step.name, step.run) {
			return
		}
		w.waitCalm(t)
		w.waitCause(t, w.a.ID, fleet.WaitAlone, common, false)
	}
	w.wantSaid(t, 0, "", "status")
}

func (w *world) testHomeFull(t *testing.T) {
	w.b.Patch("/rest/config/options", `{"minHomeDiskFree": {"value": 1000000, "unit": "TB"}}`)
	rescan(w.b, common)
	got := w.waitTrouble(t, w.b, fleet.FolderStopped, "insufficient space on disk for database")
	if errorKind(got) != fleet.ErrorNoSpace || !strings.Contains(got.Next, "Make room") {
		t.Errorf("got %+v", got)
	}
	w.b.Patch("/rest/config/options", `{"minHomeDiskFree": {"value": 0, "unit": "%"}}`)
	rescan(w.b, common)
}

func (w *world) testPausedByOrder(t *testing.T) {
	w.order(t, w.b, client.OrderPause)
	got := w.waitPausedBy(t, fleet.PausedByOrder, "pauses its connections")
	if got.PausedBy.Order == 0 || got.PausedBy.By == "" || got.PausedBy.At == nil ||
		!strings.Contains(got.Reason, "by "+got.PausedBy.By) ||
		!strings.Contains(got.Next, "Order resume") {
		t.Errorf("got %+v", got)
	}
	w.waitTrouble(t, w.a, fleet.FolderAlone, w.b.ID.Short())
	w.order(t, w.b, client.OrderResume)
}

// waitPausedBy waits until the folder is paused on b, and it is said by whom.
func (w *world) waitPausedBy(t *testing.T, want fleet.PauseCause, reason string) api.FolderStanding {
	t.Helper()
	return w.waitStanding(t, w.b, common, "paused by "+string(want), func(f api.FolderStanding) bool {
		return f.State == fleet.FolderPaused.String() && f.PausedBy != nil && f.PausedBy.Cause == string(want) &&
			strings.Contains(f.Reason, reason) && f.Next != ""
	})
}

func (w *world) testPausedByHand(t *testing.T) {
	toA := "/rest/config/devices/" + string(w.a.ID)
	w.b.Patch(toA, `{"paused": true}`)
	w.waitPausedBy(t, fleet.PausedByPerson, "a person at the daemon paused them")
	w.b.Patch(toA, `{"paused": false}`)
	w.waitCalm(t)
	w.set(common, `{"paused": true}`)
	if got := w.waitPausedBy(t, fleet.PausedByPerson, "a person at the daemon paused it"); !got.Paused {
		t.Errorf("got %+v", got)
	}
	w.set(common, `{"paused": false}`)
}

func (w *world) testPausedByTemplate(t *testing.T) {
	template := w.Template("set", "folders."+common+".paused", "true", "b")
	got := w.waitPausedBy(t, fleet.PausedByTemplate, "as its templates ask")
	if !got.Paused || !slices.Equal(got.PausedBy.Templates, []int64{template}) ||
		!strings.Contains(got.Next, "Change the template") {
		t.Errorf("got %+v", got)
	}
	w.waitTrouble(t, w.a, fleet.FolderAlone, "paused")
	if err := w.Client.DeleteTemplate(t.Context(), template); err != nil {
		t.Fatal(err)
	}
}

func (w *world) testConnectionsPausedByTemplate(t *testing.T) {
	template := w.Template("set", "devices."+string(w.a.ID)+".paused", "true", "b")
	got := w.waitPausedBy(t, fleet.PausedByTemplate, "pauses its connections")
	if got.Paused || !slices.Equal(got.PausedBy.Templates, []int64{template}) {
		t.Errorf("got %+v", got)
	}
	if err := w.Client.DeleteTemplate(t.Context(), template); err != nil {
		t.Fatal(err)
	}
}

func (w *world) testIslands(t *testing.T) {
	disconnect(t, w.a, w.b)
	for _, d := range []*daemon.Daemon{w.a, w.b} {
		got := w.waitTrouble(t, d, fleet.FolderAlone, "no device that shares it is connected")
		if got.Peers.Connected != 0 || got.Peers.Shared != 1 {
			t.Errorf("got %+v", got)
		}
	}
	w.testDisagree(t)
	for _, d := range []*daemon.Daemon{w.a, w.b} {
		w.waitTold(t, d.ID, fleet.WaitAlone, common, "no device that shares it is connected", false)
		write(t, d, w.pathOf(d), "both changed.txt", "as "+d.ID.Short()+" has it")
		rescan(d, common)
	}
	reachAt(w.a, w.b, w.b.SyncAddress())
	reachAt(w.b, w.a, w.a.SyncAddress())
	w.testConflict(t)
	w.waitCalm(t)
	for _, d := range []*daemon.Daemon{w.a, w.b} {
		w.waitTold(t, d.ID, fleet.WaitAlone, common, "", true)
	}
	for _, d := range []*daemon.Daemon{w.a, w.b} {
		w.waitCause(t, d.ID, fleet.WaitDisagree, common, false)
	}
}

// pathOf is where the folder of both daemons is on one of them.
func (w *world) pathOf(d *daemon.Daemon) string {
	var folder struct{ Path string }
	d.GetJSON("/rest/config/folders/"+common, &folder)
	return folder.Path
}

// testConflict has a file that both changed be in conflict, until its loser is deleted.
func (w *world) testConflict(t *testing.T) {
	t.Helper()
	var files []api.ConflictFile
	for _, d := range []*daemon.Daemon{w.a, w.b} {
		w.waitTrouble(t, d, fleet.FolderConflicts, "both changed.sync-conflict-")
		w.waitCause(t, d.ID, fleet.WaitConflicts, common, true)
		w.waitTold(t, d.ID, fleet.WaitConflicts, common, "one file is in conflict", false)
	}
	wait.Until(t, func() (missing string) {
		var err error
		files, err = w.Client.ConflictFiles(t.Context(), common, client.List{})
		if err != nil || len(files) != 1 || len(files[0].Devices) != 2 {
			return fmt.Sprintf("the conflict files are %+v, %v", files, err)
		}
		return ""
	})
	w.wantSaid(t, 0, files[0].Path, "folder", "conflicts", common)
	w.wantSaid(t, 0, "1 conflict file", "folder", "conflicts", common, "--device", w.b.ID.Short())
	if err := os.Remove(filepath.Join(w.pathOf(w.a), filepath.FromSlash(files[0].Path))); err != nil {
		t.Fatal(err)
	}
	rescan(w.a, common)
	for _, d := range []*daemon.Daemon{w.a, w.b} {
		w.waitCause(t, d.ID, fleet.WaitConflicts, common, false)
		w.waitTold(t, d.ID, fleet.WaitConflicts, common, "", true)
	}
}

// testDisagree has the files of one island be others than those of the other one.
func (w *world) testDisagree(t *testing.T) {
	w.newFile(t, common, "what only a has")
	for _, d := range []*daemon.Daemon{w.a, w.b} {
		w.waitCause(t, d.ID, fleet.WaitDisagree, common, true)
	}
	of, err := w.Client.FleetFolder(t.Context(), common)
	if err != nil || of.State != string(fleet.WaitDisagree) || !strings.Contains(of.Reason, "count different files") {
		t.Errorf("the folder in the fleet is %+v, %v", of, err)
	}
	overview, err := w.Client.Overview(t.Context())
	if err != nil || overview.Folders[string(fleet.WaitDisagree)] != 1 || overview.Folders["upToDate"] != 0 {
		t.Errorf("the folders of the fleet are %v, %v", overview.Folders, err)
	}
	w.wantSaid(t, 3, "count different files", "status", w.b.ID.Short())
	w.wantSaid(t, 0, "count different files", "folder", "get", common)
	w.wantSaid(t, 3, "disagree", "status")
}

func (w *world) testSwitchedOff(t *testing.T) {
	w.b.Stop()
	got := w.waitFolder(t, w.b, common, fleet.FolderUnknown)
	// A daemon that ends closes its connections to the others and its API at the same time. Where its event of that still
	// comes, the last thing that it told is that it is alone; else it is up to date. Both are the daemon's own last word.
	known := got.Last == fleet.FolderUpToDate.String() || got.Last == fleet.FolderAlone.String()
	if !known || got.AsOf == nil || !strings.Contains(got.Reason, "as last known") {
		t.Errorf("got %+v", got)
	}
	w.waitTrouble(t, w.a, fleet.FolderAlone, w.b.ID.Short())
	w.waitCause(t, w.b.ID, fleet.WaitUnreachable, "", true)
	w.waitTold(t, w.b.ID, fleet.WaitUnreachable, "", "", false)
	w.wantSaid(t, 3, "common", "status")
	state, err := w.Client.DeviceState(t.Context(), string(w.a.ID))
	if err != nil || state.Folders == nil || state.Folders.State != "alone" || state.Folders.Folder != common ||
		!state.Folders.Trouble || state.Folders.Reason == "" {
		t.Errorf("the state of the device is %+v with folders %+v, %v", state, state.Folders, err)
	}
	w.b.Restart()
	w.waitCause(t, w.b.ID, fleet.WaitUnreachable, "", false)
	w.waitTold(t, w.b.ID, fleet.WaitUnreachable, "", "", true)
}
