package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"muster/api"
	"muster/internal/engine/view"
	"muster/internal/fleet"
)

func TestADeviceToldHowEachOfItsFoldersStands(t *testing.T) {
	w := threeDevices(t)
	got := read[[]api.FolderStanding](w.world, Prefix+"/devices/"+string(idA)+"/folders")
	if len(got) != 4 {
		t.Fatalf("got %+v", got)
	}
	stopped := got[2]
	if stopped.DeviceID != string(idA) || stopped.Folder != "c" || stopped.State != "stopped" || stopped.Error == nil ||
		*stopped.Error != (api.FolderError{Kind: "markerMissing", Text: "no marker"}) || stopped.NeedBytes != 5 {
		t.Errorf("got %+v", stopped)
	}
	if upToDate := got[0]; upToDate.State != "upToDate" || upToDate.Error != nil || upToDate.AsOf != nil {
		t.Errorf("got %+v", upToDate)
	}
	if none := w.get(Prefix + "/devices/" + string(idC) + "/folders"); none != "[]" {
		t.Errorf("of a device without folders: got %s", none)
	}
	if text := w.get(Prefix + "/devices/" + string(idA) + "/folders"); !strings.Contains(text, `"doneBetween":[]`) {
		t.Errorf("an end that is not known is no empty list: %s", text)
	}
	w.problem(http.StatusNotFound, call{method: http.MethodGet,
		path: Prefix + "/devices/" + string(fleet.DeviceIDOf([32]byte{42})) + "/folders"})
}

// devicesOf are the devices of an answer, shortened to their labels in threeDevices.
func devicesOf(standings []api.FolderStanding) (names []string) {
	for _, one := range standings {
		names = append(names, map[fleet.DeviceID]string{idA: "Nas", idB: "laptop"}[fleet.DeviceID(one.DeviceID)])
	}
	return names
}

func TestAFolderToldHowItStandsOnEachDevice(t *testing.T) {
	w := threeDevices(t)
	for query, want := range map[string][]string{
		"": {"Nas", "laptop"}, "?q=LAP": {"laptop"}, "?tag=mobile": {"laptop"}, "?state=behind": {"Nas"},
		"?state=unknown": {"laptop"}, "?state=unknown&state=behind": {"Nas", "laptop"}, "?state=stopped": nil,
		"?limit=1": {"Nas"}, "?sort=label": {"Nas", "laptop"}, "?sort=-label": {"laptop", "Nas"},
		"?sort=state": {"laptop", "Nas"}, "?sort=-state": {"Nas", "laptop"},
	} {
		if got := devicesOf(read[[]api.FolderStanding](w.world, Prefix+"/folders/b/devices"+query)); !slices.Equal(got,
			want) {
			t.Errorf("%s: got %v, want %v", query, got, want)
		}
	}
	resp := w.do(call{method: http.MethodGet, path: Prefix + "/folders/b/devices?limit=1&state=unknown&state=behind"})
	next, _, _ := strings.Cut(strings.TrimPrefix(resp.Header.Get("Link"), "<"), ">")
	if got := devicesOf(read[[]api.FolderStanding](w.world, next)); !slices.Equal(got, []string{"laptop"}) {
		t.Errorf("the page at %q has %v", next, got)
	}
	for _, sort := range append(bothWays(view.StandingSorts), "") {
		all := devicesOf(read[[]api.FolderStanding](w.world, Prefix+"/folders/b/devices?sort="+sort))
		var paged []string
		for next := Prefix + "/folders/b/devices?limit=1&sort=" + sort; next != ""; {
			paged = append(paged, devicesOf(read[[]api.FolderStanding](w.world, next))...)
			link := w.do(call{method: http.MethodGet, path: next}).Header.Get("Link")
			next, _, _ = strings.Cut(strings.TrimPrefix(link, "<"), ">")
		}
		if len(all) != 2 || !slices.Equal(paged, all) {
			t.Errorf("by %s: got %v, page by page %v", sort, all, paged)
		}
	}
	for path, status := range map[string]int{
		"/folders/b/devices?sort=size":      http.StatusUnprocessableEntity,
		"/folders/b/devices?sort=-":         http.StatusUnprocessableEntity,
		"/folders/b/devices?after=7.nobody": http.StatusUnprocessableEntity,
		"/folders/b/devices?state=good":     http.StatusUnprocessableEntity,
		"/folders/b/devices?limit=0":        http.StatusUnprocessableEntity,
		"/folders/b/devices?after=nobody":   http.StatusUnprocessableEntity,
		"/folders/nothing/devices":          http.StatusNotFound,
		"/folders/nothing/state":            http.StatusNotFound,
	} {
		w.problem(status, call{method: http.MethodGet, path: Prefix + path})
	}
}

func TestAFolderToldHowItStandsInTheFleet(t *testing.T) {
	w := threeDevices(t)
	got := read[api.FleetFolder](w.world, Prefix+"/folders/b/state")
	if got.State != "behind" || got.Reason == "" || got.Devices["all"] != 2 || got.Devices["behind"] != 1 ||
		got.NeedBytes != 700 || got.NeedUnknown != 1 || got.BehindCount != 2 || len(got.Behind) != 2 {
		t.Errorf("got %+v", got)
	}
	if got := read[api.FleetFolder](w.world, Prefix+"/folders/a/state"); got.Label != "Photos" || got.State != "unknown" {
		t.Errorf("got %+v", got)
	}
	if text := w.get(Prefix + "/folders/d/state"); !strings.Contains(text, `"behind":[]`) {
		t.Errorf("got %s", text)
	}
}

// The page of a folder read every device to know their names, what failed and what is in conflict.
func TestAPageOfAFolderNeedsNoOtherList(t *testing.T) {
	w := threeDevices(t)
	w.lookAt(func(id fleet.DeviceID) *fleet.Snapshot { return w.snapshots[id] }, func(o *view.Options) {
		o.FolderStanding = func(_ context.Context, s *fleet.Snapshot, folder string) fleet.FolderStanding {
			is := fleet.FolderStanding{Device: s.Device, Folder: folder, State: fleet.FolderFailedItems, Failed: 3}
			if s.Device == idB {
				is.Conflicts = fleet.ConflictsOn{Files: 2}
			}
			return is
		}
	})
	got := read[api.FleetFolder](w.world, Prefix+"/folders/b/state")
	if got.Failed != 6 || got.ConflictingCount != 1 || len(got.Conflicting) != 1 || got.Conflicting[0].Label != "laptop" ||
		got.Conflicting[0].Conflicts.Files != 2 {
		t.Errorf("got %+v", got)
	}
	for _, one := range read[[]api.FolderStanding](w.world, Prefix+"/folders/b/devices") {
		if one.Label == "" || one.Connection != string(w.snapshots[fleet.DeviceID(one.DeviceID)].Connection) {
			t.Errorf("got %+v", one)
		}
	}
}

func TestWhoHasWhatADeviceLacksOfAFolder(t *testing.T) {
	w := threeDevices(t)
	w.lookAt(func(id fleet.DeviceID) *fleet.Snapshot { return w.snapshots[id] }, func(o *view.Options) {
		o.FolderHolders = func(_ context.Context, s *fleet.Snapshot, folder string, most int) []fleet.DeviceID {
			if s.Device == idA && folder == "b" && most >= 10 {
				return []fleet.DeviceID{idB}
			}
			return nil
		}
	})
	for _, path := range []string{"/devices/" + string(idA) + "/folders", "/folders/b/devices", "/folders/b/state"} {
		text := w.get(Prefix + path)
		if strings.Count(text, `"heldBy":["`+string(idB)+`"]`) != 1 || !strings.Contains(text, `"heldBy":[]`) {
			t.Errorf("%s: got %s", path, text)
		}
	}
}

// A list of folders read the database for each folder that is paused.
func TestWhoPausedTheFoldersOfAListIsReadOnce(t *testing.T) {
	w := threeDevices(t)
	var asked, folders atomic.Int64
	w.lookAt(func(id fleet.DeviceID) *fleet.Snapshot { return w.snapshots[id] }, func(o *view.Options) {
		o.FolderStanding = func(_ context.Context, s *fleet.Snapshot, folder string) fleet.FolderStanding {
			return fleet.FolderStanding{Device: s.Device, Folder: folder, State: fleet.FolderPaused}
		}
		o.PausedBy = func(_ context.Context, paused []*fleet.FolderStanding) {
			asked.Add(1)
			folders.Add(int64(len(paused)))
			for _, f := range paused {
				f.PausedBy = &fleet.PausedBy{Cause: fleet.PausedByPerson}
			}
		}
	})
	for path, want := range map[string]int64{
		"/devices/" + string(idA) + "/folders": 4, "/folders/b/devices": 2, "/folders/b/devices?limit=1": 1,
	} {
		asked.Store(0)
		folders.Store(0)
		got := read[[]api.FolderStanding](w.world, Prefix+path)
		if int64(len(got)) != want || folders.Load() != want || asked.Load() != 1 {
			t.Errorf("%s: %d folders, %d of %d asked for at once", path, len(got), folders.Load(), asked.Load())
		}
		for _, one := range got {
			if one.PausedBy == nil || one.PausedBy.Cause != "person" {
				t.Errorf("%s: got %+v", path, one.PausedBy)
			}
		}
	}
}

func TestTheStandingOfAFolderOutsideWasShown(t *testing.T) {
	w := newRoomy(t)
	var both []api.FolderStanding
	if err := json.Unmarshal([]byte(w.seen("/folders/both/devices")), &both); err != nil || len(both) != 1 ||
		both[0].DeviceID != string(idA) {
		t.Errorf("got %+v, %v", both, err)
	}
	w.seen("/folders/both/state")
	for _, path := range []string{"/devices", "/state"} {
		w.as(fleet.RoleViewer, http.StatusNotFound, call{method: http.MethodGet,
			path: Prefix + "/folders/" + hidden + path})
	}
}

// TestTheStateOfADeviceSaysHowItsFoldersStand has the worst folder in the state of one device and in the list of all.
func TestTheStateOfADeviceSaysHowItsFoldersStand(t *testing.T) {
	w := threeDevices(t)
	one := read[api.DeviceState](w.world, Prefix+"/devices/"+string(idA)+"/state")
	if one.Folders == nil || one.Folders.State != "stopped" || one.Folders.Folder != "c" || one.Folders.Count != 1 ||
		one.Folders.Reason == "" {
		t.Errorf("got %+v", one.Folders)
	}
	if none := w.get(Prefix + "/devices/" + string(idC) + "/state"); strings.Contains(none, `"folders"`) {
		t.Errorf("of a device without folders: got %s", none)
	}
	for _, listed := range read[[]api.ListedState](w.world, Prefix+"/states") {
		switch fleet.DeviceID(listed.DeviceID) {
		case idA:
			if listed.Folders == nil || *listed.Folders != *one.Folders {
				t.Errorf("the list has %+v, and the device %+v", listed.Folders, one.Folders)
			}
		case idC:
			if listed.Folders != nil {
				t.Errorf("of a device without folders: got %+v", listed.Folders)
			}
		}
	}
}
