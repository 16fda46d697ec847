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
	w.with(func(o *Options) { o.History = w.store })
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
