package httpapi

import (
	"net/http"
	"strings"
	"testing"

	"muster/api"
	"muster/internal/fleet"
)

// filteredWorld has three devices: a is online and in sync, b online and held, c unreachable and unknown.
func filteredWorld(t *testing.T) *world {
	w := newWorld(t)
	w.fakes.states = map[fleet.DeviceID]fleet.State{
		idA: {Connection: fleet.Online, Configuration: fleet.ConfigInSync},
		idB: {Connection: fleet.Online, Configuration: fleet.ConfigHeld},
		idC: {Connection: fleet.Unreachable, Configuration: fleet.ConfigUnknown},
	}
	for id, label := range map[fleet.DeviceID]string{idA: "a one", idB: "b two", idC: "c three"} {
		w.device(id, label)
	}
	w.put(Prefix+"/devices/"+string(idA)+"/tags/site", "")
	w.put(Prefix+"/devices/"+string(idC)+"/tags/site", "")
	return w
}

func TestStatesArePickedByTheirFilters(t *testing.T) {
	w := filteredWorld(t)
	names := map[string]string{string(idA): "a", string(idB): "b", string(idC): "c"}
	for query, want := range map[string]string{
		"":                        "abc",
		"?connection=online":      "ab",
		"?connection=unreachable": "c",
		"?connection=keyRefused":  "",
		"?configuration=held":     "b",
		"?configuration=held&configuration=unknown": "bc",
		"?connection=online&configuration=held":     "b",
		"?connection=online&tag=site":               "a",
		"?configuration=unknown&q=THREE":            "c",
		"?connection=online&q=three":                "",
		"?connection=online&limit=1":                "a",
	} {
		got := ""
		for _, state := range read[[]api.ListedState](w, Prefix+"/states"+query) {
			got += names[state.DeviceID]
		}
		if got != want {
			t.Errorf("states%s: got %q, want %q", query, got, want)
		}
	}
	for query, want := range map[string]string{
		"connection=onlien": "online", "configuration=online": "inSync", "connection=": "unreachable",
		"connection=online,unreachable": "online",
		"tag=":                          "tag", "limit=0": "limit",
	} {
		problem := w.problem(http.StatusUnprocessableEntity, call{method: http.MethodGet, path: Prefix + "/states?" + query})
		if !strings.Contains(problem.Detail, want) {
			t.Errorf("%s: got %+v, want what may stand there", query, problem)
		}
	}
}

func TestAPageOfPickedStatesLeadsToTheNext(t *testing.T) {
	w := filteredWorld(t)
	link := w.do(call{method: http.MethodGet, path: Prefix + "/states?connection=online&limit=1"}).Header.Get("Link")
	if !strings.Contains(link, "connection=online") || !strings.Contains(link, "after=") {
		t.Errorf("got the link %s", link)
	}
}

// What is picked decides whether a list is the same: a device that leaves it changes its ETag.
func TestPickedStatesThatDidNotChangeAreNotSentAgain(t *testing.T) {
	w := filteredWorld(t)
	path := Prefix + "/states?connection=online"
	etag := w.do(call{method: http.MethodGet, path: path}).Header.Get("ETag")
	again := call{method: http.MethodGet, path: path, header: with("If-None-Match", etag)}
	w.fakes.states[idC] = fleet.State{Connection: fleet.NotFound, Configuration: fleet.ConfigUnknown}
	if got := w.do(again).StatusCode; got != http.StatusNotModified {
		t.Errorf("got %d, want %d", got, http.StatusNotModified)
	}
	w.fakes.states[idB] = fleet.State{Connection: fleet.NotFound, Configuration: fleet.ConfigUnknown}
	w.want(http.StatusOK, again)
}
