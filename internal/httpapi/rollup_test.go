package httpapi

import (
	"net/http"
	"slices"
	"testing"

	"muster/api"
	"muster/internal/fleet"
)

func TestOneAnswerHasTheNumbersOfEveryFolder(t *testing.T) {
	w := threeDevices(t)
	w.fakes.folders = []fleet.FolderLabel{{Folder: "a", Label: "Photos"}, {Folder: "b"}, {Folder: "c"}, {Folder: "d"}}
	got := read[[]api.FolderOverview](w.world, Prefix+"/overview/folders")
	want := []api.FolderOverview{
		{Folder: "a", Label: "Photos", Devices: 2, InSync: 1, Unknown: 1},
		{Folder: "b", Devices: 2, OutOfSync: 1, Unknown: 1, NeedBytes: 1400},
		{Folder: "c", Devices: 1, InError: 1, NeedBytes: 5},
		{Folder: "d", Devices: 1, Unknown: 1},
	}
	if !slices.Equal(got, want) {
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

func TestOneAnswerHasAllFoldersOfADevice(t *testing.T) {
	w := threeDevices(t)
	got := read[[]api.FolderEvent](w.world, Prefix+"/devices/"+string(idA)+"/folders")
	if len(got) != 3 || got[2].State != fleet.FolderInError || got[2].Error != "no marker" {
		t.Errorf("got %+v", got)
	}
	if none := w.get(Prefix + "/devices/" + string(idC) + "/folders"); none != "[]" {
		t.Errorf("of a device without folders: got %s", none)
	}
	w.problem(http.StatusNotFound, call{method: http.MethodGet,
		path: Prefix + "/devices/" + string(fleet.DeviceIDOf([32]byte{42})) + "/folders"})
}
