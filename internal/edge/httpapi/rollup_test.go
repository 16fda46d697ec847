package httpapi

import (
	"maps"
	"reflect"
	"testing"

	"muster/api"
)

func TestTheOverviewCountsDevicesByVersion(t *testing.T) {
	w := threeDevices(t)
	want := map[string]int{"v1.9.0": 1, "v1.10.0": 1}
	if got := read[api.Overview](w.world, Prefix+"/overview").Versions; !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := mostOf(map[string]int{"a": 1, "b": 3, "c": 2, "d": 2}, 2); !maps.Equal(got, map[string]int{"b": 3, "c": 2}) {
		t.Errorf("the two largest are %v", got)
	}
}

func TestOneAnswerHasTheNumbersOfEveryFolder(t *testing.T) {
	w := threeDevices(t)
	got := read[[]api.FolderOverview](w.world, Prefix+"/overview/folders")
	want := []api.FolderOverview{
		{Folder: "a", Label: "Photos", State: "unknown", Devices: api.FolderCounts{"all": 2, "upToDate": 1, "unknown": 1}},
		{Folder: "b", State: "behind", Devices: api.FolderCounts{"all": 2, "behind": 1, "unknown": 1}, NeedBytes: 1400},
		{Folder: "c", State: "stopped", Devices: api.FolderCounts{"all": 1, "stopped": 1}, NeedBytes: 5},
		{Folder: "d", State: "unknown", Devices: api.FolderCounts{"all": 1, "unknown": 1}},
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
