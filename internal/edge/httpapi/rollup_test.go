package httpapi

import (
	"maps"
	"reflect"
	"slices"
	"testing"

	"muster/api"
	"muster/internal/engine/view"
	"muster/internal/fleet"
)

func TestTheOverviewCountsDevicesByVersion(t *testing.T) {
	w := threeDevices(t)
	want := map[string]int{"v1.9.0": 1, "v1.10.0": 1}
	if got := read[api.Overview](w.world, Prefix+"/overview").Versions; !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestOneAnswerHasTheNumbersOfEveryFolder(t *testing.T) {
	w := threeDevices(t)
	got := read[[]api.FolderOverview](w.world, Prefix+"/overview/folders")
	want := []api.FolderOverview{
		{Folder: "a", Label: "Photos", State: "unknown", Devices: api.FolderCounts{"all": 2, "upToDate": 1, "unknown": 1},
			NeedUnknown: 1},
		{Folder: "b", State: "behind", Devices: api.FolderCounts{"all": 2, "behind": 1, "unknown": 1}, NeedBytes: 700,
			NeedUnknown: 1},
		{Folder: "c", State: "stopped", Devices: api.FolderCounts{"all": 1, "stopped": 1}, NeedUnknown: 1},
		{Folder: "d", State: "unknown", Devices: api.FolderCounts{"all": 1, "unknown": 1}, NeedUnknown: 1},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestOneAnswerHasWhatEveryTagTiesTogether(t *testing.T) {
	w := threeDevices(t)
	w.template(`{"op":"set","key":"options.natEnabled","template":"true","priority":2}`)
	w.template(`{"op":"set","key":"options.relaysEnabled","template":"true","priority":1}`)
	for _, path := range []string{"/templates/1/tags/lima", "/templates/2/tags/lima", "/templates/2/tags/alone"} {
		w.put(Prefix+path, "")
	}
	got := w.get(Prefix + "/overview/tags")
	want := `[{"tag":"alone","devices":0,"templates":[2]},{"tag":"lima","devices":2,"templates":[2,1]},` +
		`{"tag":"mobile","devices":1,"templates":[]}]`
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// The overview that `status --tag` reads was of the whole fleet.
func TestTheOverviewOfATagHadTheTroubleOfTheWholeFleet(t *testing.T) {
	w := threeDevices(t)
	w.lookAt(func(id fleet.DeviceID) *fleet.Snapshot { return w.snapshots[id] }, func(o *view.Options) {
		o.Causes = func(_ fleet.State, s *fleet.Snapshot) []fleet.WaitCause {
			return map[fleet.DeviceID][]fleet.WaitCause{idA: {fleet.WaitFolderStopped}, idB: {fleet.WaitUnreachable}}[s.Device]
		}
	})
	for query, want := range map[string]struct {
		devices, folders int
		trouble          []string
		versions         map[string]int
	}{
		"":            {3, 4, []string{"folderStopped", "unreachable"}, map[string]int{"v1.9.0": 1, "v1.10.0": 1}},
		"?tag=lima":   {2, 4, []string{"folderStopped", "unreachable"}, map[string]int{"v1.9.0": 1, "v1.10.0": 1}},
		"?tag=mobile": {1, 2, []string{"unreachable"}, map[string]int{"v1.10.0": 1}},
		"?q=nas":      {1, 4, []string{"folderStopped"}, map[string]int{"v1.9.0": 1}},
		"?q=office":   {1, 0, nil, map[string]int{}},
	} {
		got := read[api.Overview](w.world, Prefix+"/overview"+query)
		var trouble []string
		for _, one := range got.Trouble {
			trouble = append(trouble, one.Cause)
		}
		if got.Devices != want.devices || got.Folders["all"] != want.folders || !slices.Equal(trouble, want.trouble) ||
			got.Troubled != len(want.trouble) || !maps.Equal(got.Versions, want.versions) {
			t.Errorf("%q: got %d devices, folders %v, trouble %v, versions %v, want %+v", query, got.Devices,
				got.Folders, trouble, got.Versions, want)
		}
	}
}
