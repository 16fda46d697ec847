package httpapi

import (
	"net/http"
	"testing"
	"time"

	"muster/api"
	"muster/internal/fleet"
)

func TestHistoryIsADayOfMinutesOrAMonthOfHours(t *testing.T) {
	w := newWorld(t)
	w.with(func(o *setup) { o.History = w.store })
	if got := w.get(Prefix + "/overview/history"); got != `{"step":60,"points":[]}` {
		t.Errorf("before the first point: %s", got)
	}
	now := time.Now()
	if err := w.store.PutHistoryPoint(t.Context(), fleet.HistoryPoint{At: now, Devices: 5, Online: 3, InSync: 2,
		Waiting:   1,
		NeedBytes: 1 << 40, Problems: 4, Folders: 9, UpToDate: 7, Troubled: 6}); err != nil {
		t.Fatal(err)
	}
	for span, want := range map[string]struct {
		step int
		at   time.Time
	}{"day": {60, now.Truncate(time.Minute)}, "month": {3600, now.Truncate(time.Hour)}} {
		got := read[api.History](w, Prefix+"/overview/history?span="+span)
		if got.Step != want.step || len(got.Points) != 1 || !got.Points[0].At.Equal(want.at) {
			t.Fatalf("%s: got %+v", span, got)
		}
		point := got.Points[0]
		point.At = api.Time{}
		kept := api.HistoryPoint{Devices: 5, Online: 3, InSync: 2, Waiting: 1, NeedBytes: 1 << 40, Problems: 4, Folders: 9,
			UpToDate: 7, Troubled: 6}
		if point != kept {
			t.Errorf("%s: got %+v", span, point)
		}
	}
	w.problem(http.StatusUnprocessableEntity, call{method: http.MethodGet, path: Prefix + "/overview/history?span=year"})
}

func TestHistoryOfAFolderIsThatOfTheFolder(t *testing.T) {
	w := newWorld(t)
	w.with(func(o *setup) { o.History = w.store })
	now := time.Now()
	if err := w.store.PutFolderFigures(t.Context(), fleet.FolderHistoryEdit{
		Minutes: []fleet.FolderPoint{{Folder: "photos/old", At: now.Truncate(time.Minute),
			FolderFigures: fleet.FolderFigures{Devices: 3, UpToDate: 2, NeedBytes: 700, GlobalBytes: 1 << 40}}},
	}); err != nil {
		t.Fatal(err)
	}
	const path = Prefix + "/folders/photos%2Fold/history"
	got := read[api.FolderHistory](w, path)
	if got.Step != 60 || len(got.Points) != 1 || !got.Points[0].At.Equal(now.Truncate(time.Minute)) {
		t.Fatalf("got %+v", got)
	}
	got.Points[0].At = api.Time{}
	want := api.FolderHistoryPoint{Devices: 3, UpToDate: 2, NeedBytes: 700, GlobalBytes: 1 << 40}
	if got.Points[0] != want {
		t.Errorf("got %+v, want %+v", got.Points[0], want)
	}
	w.problem(http.StatusUnprocessableEntity, call{method: http.MethodGet, path: path + "?span=year"})
	w.problem(http.StatusNotFound, call{method: http.MethodGet, path: Prefix + "/folders/nothing/history"})
}
