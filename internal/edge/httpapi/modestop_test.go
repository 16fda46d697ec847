package httpapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"muster/api"
	"muster/internal/fleet"
)

// stopsOf is what each stop is of.
func stopsOf(stops []api.ModeStop) (of []string) {
	for _, stop := range stops {
		of = append(of, stop.Scope+" "+stop.Tag+stop.DeviceID)
	}
	return of
}

// stopped is a server with stops of tags, of a device that carries the first tag, of the fleet and of the server.
func stopped(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.view.Mode = fleet.ModeObserve
	w.device(idA, "alpha")
	w.device(idB, "beta")
	w.want(http.StatusOK, call{method: http.MethodPut, path: Prefix + "/devices/" + string(idA) + "/tags/a.b"})
	scopes := []fleet.ModeScope{{}, {Tag: "a.b"}, {Tag: "b"}, {Tag: "c"}, {Device: idA}, {Device: idB}}
	for _, scope := range scopes {
		if _, err := w.store.SwitchMode(fleet.WithActor(t.Context(), "anna"), scope, fleet.ModePaused); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

func TestStopsAreListedInPagesAndByDevice(t *testing.T) {
	w := stopped(t)
	want := []string{"server ", "fleet ", "tag a.b", "tag b", "tag c", "device " + string(idA), "device " + string(idB)}
	for limit := range len(want) + 1 {
		path, got := fmt.Sprintf("%s/stops?limit=%d", Prefix, limit+1), []string(nil)
		for path != "" {
			resp := w.do(call{method: http.MethodGet, path: path})
			var page []api.ModeStop
			if err := json.NewDecoder(resp.Body).Decode(&page); err != nil || len(page) > limit+1 {
				t.Fatalf("%s: %d stops, %v", path, len(page), err)
			}
			got, path = append(got, stopsOf(page)...), ""
			if link := nextLink.FindStringSubmatch(resp.Header.Get("Link")); link != nil {
				path = link[1]
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("in pages of %d: got %q, want %q", limit+1, got, want)
		}
	}
	one := read[[]api.ModeStop](w, Prefix+"/stops?device="+string(idA))
	if got := stopsOf(one); !slices.Equal(got, []string{"server ", "fleet ", "tag a.b", "device " + string(idA)}) {
		t.Errorf("got %q for one device", got)
	}
	for tag, want := range map[string][]string{
		"a.b":  {"server ", "fleet ", "tag a.b", "device " + string(idA)},
		"b":    {"server ", "fleet ", "tag b"},
		"none": {"server ", "fleet "},
	} {
		if got := stopsOf(read[[]api.ModeStop](w, Prefix+"/stops?tag="+tag)); !slices.Equal(got, want) {
			t.Errorf("got %q for the tag %s, want %q", got, tag, want)
		}
	}
	if tag := one[2]; tag.Devices != 1 || tag.By != "anna" || tag.Since == nil || one[3].Label != "alpha" {
		t.Errorf("got %+v and %+v", tag, one[3])
	}
	w.want(http.StatusUnprocessableEntity, call{method: http.MethodGet, path: Prefix + "/stops?after=nothing"})
	w.want(http.StatusNotFound, call{method: http.MethodGet, path: Prefix + "/stops?device=" + string(idC)})
}

func TestTheOverviewShowsTheFirstStopsOfMany(t *testing.T) {
	w := stopped(t)
	for i := range 2 * maxOverviewStops {
		scope := fleet.ModeScope{Tag: fleet.Tag(fmt.Sprintf("t%03d", i))}
		if _, err := w.store.SwitchMode(t.Context(), scope, fleet.ModePaused); err != nil {
			t.Fatal(err)
		}
	}
	got := read[api.Overview](w, Prefix+"/overview")
	if len(got.Stops) != maxOverviewStops || got.StopCount != 2*maxOverviewStops+7 || got.Stops[0].Scope != "server" {
		t.Errorf("%d stops of %d, the first is %+v", len(got.Stops), got.StopCount, got.Stops[0])
	}
}
