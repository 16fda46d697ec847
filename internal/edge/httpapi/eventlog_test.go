package httpapi

import (
	"bufio"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"muster/api"
	"muster/internal/engine/event"
	"muster/internal/fleet"
)

func openEventLog(w *world) *event.Log {
	w.t.Helper()
	l, err := event.OpenLog(w.t.Context(), event.LogOptions{Store: w.store, Log: slog.New(slog.DiscardHandler),
		Registry: func() *fleet.Registry {
			registry, err := w.store.Registry(context.Background())
			if err != nil {
				w.t.Error(err)
			}
			return registry
		}})
	if err != nil {
		w.t.Fatal(err)
	}
	return l
}

// logEntry tells of a folder that stopped. The reason names another device.
func logEntry(id fleet.DeviceID, label, folder string) fleet.LogEntry {
	return fleet.LogEntry{At: time.Now().UTC().Truncate(time.Millisecond), Device: id, Label: label, Folder: folder,
		Kind: fleet.LogFolder, State: "stopped", Reason: "as on " + string(idB)}
}

// logged is a world with three entries of two devices.
func logged(t *testing.T) (*world, *event.Log) {
	t.Helper()
	w := newWorld(t)
	l := openEventLog(w)
	w.with(func(o *setup) { o.EventLog, o.Events = l, l.Hub })
	w.device(idA, "laptop")
	w.device(idB, "nas")
	l.Add(logEntry(idA, "as it was", "docs"), logEntry(idB, "nas", "docs"),
		fleet.LogEntry{At: time.Now().UTC(), Device: idA, Kind: fleet.LogConnection, State: "unreachable"})
	return w, l
}

func readLog(t *testing.T, text string) (all []api.LogEntry) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestTheEventLogHasWhatIsAskedFor(t *testing.T) {
	w, _ := logged(t)
	for query, want := range map[string][]string{
		"":                                   {"laptop connection", "nas folder", "laptop folder"},
		"?order=oldest":                      {"laptop folder", "nas folder", "laptop connection"},
		"?device=" + string(idB):             {"nas folder"},
		"?folder=docs":                       {"nas folder", "laptop folder"},
		"?kind=connection":                   {"laptop connection"},
		"?kind=connection&kind=folder":       {"laptop connection", "nas folder", "laptop folder"},
		"?tag=none":                          nil,
		"?since=2040-01-01T00:00:00Z":        nil,
		"?until=2040-01-01T00:00:00Z":        {"laptop connection", "nas folder", "laptop folder"},
		"?limit=1":                           {"laptop connection"},
		"?after=" + strconv.Itoa(1<<53):      {"laptop connection", "nas folder", "laptop folder"},
		"?order=oldest&after=" + "1&limit=2": {"laptop folder", "nas folder"},
	} {
		var got []string
		for _, e := range readLog(t, w.get(Prefix+"/events/log"+query)) {
			got = append(got, e.Label+" "+e.Kind)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", query, got, want)
		}
	}
	for _, query := range []string{"?kind=weather", "?after=x", "?after=0", "?since=yesterday", "?limit=0", "?order=any",
		"?device=x"} {
		w.problem(http.StatusUnprocessableEntity, call{method: http.MethodGet, path: Prefix + "/events/log" + query})
	}
}

func TestAnEntryIsASentenceThatNamesDevicesByTheirLabels(t *testing.T) {
	w, _ := logged(t)
	got := readLog(t, w.get(Prefix+"/events/log?device="+string(idA)+"&kind=folder"))
	if want := "as on nas (" + idB.Short() + ")"; len(got) != 1 || got[0].Text != want ||
		got[0].Folder != "docs" ||
		got[0].State != "stopped" ||
		got[0].Label != "laptop" {
		t.Errorf("got %+v", got)
	}
	w.want(http.StatusNoContent, call{method: http.MethodDelete, path: Prefix + "/devices/" + string(idA)})
	got = readLog(t, w.get(Prefix+"/events/log?device="+string(idA)+"&kind=folder"))
	if len(got) != 1 || got[0].Label != "as it was" {
		t.Errorf("of a deleted device got %+v", got)
	}
}

func TestThePagesOfTheEventLogLeadToOneAnother(t *testing.T) {
	w, _ := logged(t)
	path, pages := Prefix+"/events/log?limit=1", 0
	for ; path != ""; pages++ {
		resp := w.do(call{method: http.MethodGet, path: path})
		link, _, _ := strings.Cut(resp.Header.Get("Link"), ">")
		path = strings.TrimPrefix(link, "<")
	}
	if pages != 3 {
		t.Errorf("got %d pages", pages)
	}
}

// A stream that asks for nothing but the log goes on after a restart of the server as if there had been none.
func TestAStreamOfTheLogGoesOnAfterARestart(t *testing.T) {
	w, l := logged(t)
	entries, err := l.Entries(t.Context(), fleet.LogQuery{Oldest: true})
	if err != nil || len(entries) != 3 {
		t.Fatal(entries, err)
	}
	_, _, server := streamed(t)
	server.Config.Handler = w.api
	l = openEventLog(w)
	t.Cleanup(l.Hub.Close)
	w.with(func(o *setup) { o.EventLog, o.Events = l, l.Hub })
	server.Config.Handler = w.api
	l.Add(logEntry(idB, "nas", "after"))
	l.Flush(t.Context())
	resp := w.open(server, "?type=log", strconv.FormatInt(entries[0].Number, 10))
	lines := bufio.NewReader(resp.Body)
	for _, want := range []string{`"folder":"docs"`, `"kind":"connection"`, `"folder":"after"`} {
		if data := lineWith(t, lines, "data:"); !strings.Contains(data, want) || !strings.Contains(data, `"type":"log"`) ||
			!strings.Contains(data, `"number":`) {
			t.Errorf("%s is not in %s", want, data)
		}
	}
}

func TestAScopedCallerHearsOfTheirDevicesOnly(t *testing.T) {
	w := newRoomy(t)
	ctx := fleet.WithScope(t.Context(), fleet.ScopeOf([]fleet.Tag{"in"}))
	s, err := w.hub.Subscribe(event.Filter{Types: []event.Type{event.TypeLog}}, event.Latest)
	if err != nil {
		t.Fatal(err)
	}
	w.eventLog.Flush(t.Context())
	batch, err := s.Next(t.Context())
	if err != nil || len(batch) != 2 {
		t.Fatal(batch, err)
	}
	mine, err := w.setup.events().eventFor(ctx, batch[0])
	if err != nil || mine == nil || strings.Contains(string(mine.Data), hidden) {
		t.Errorf("got %+v, %v", mine, err)
	}
	if other, err := w.setup.events().eventFor(ctx, batch[1]); err != nil || other != nil {
		t.Errorf("got %+v, %v", other, err)
	}
}

// The feed tells the log how rows stand: a folder that stops is an entry, one that scans is none.
func TestTheFeedKeepsWhatHappensToFolders(t *testing.T) {
	w := newWorld(t)
	l := openEventLog(w)
	synctest.Test(t, func(t *testing.T) {
		r := newRowFeed(t)
		r.EventLog = l
		r.FolderStanding = func(_ context.Context, s *fleet.Snapshot, folder string) fleet.FolderStanding {
			return fleet.FolderStanding{Reason: s.Summaries[folder].Error}
		}
		for _, state := range []string{"idle", "scanning", "error", "scanning", "syncing", "idle"} {
			r.mu.Lock()
			r.folders = []fleet.FolderSummary{{Folder: "docs", State: state,
				Error: map[string]string{"error": "folder marker missing"}[state]}}
			r.mu.Unlock()
			r.stand(idA, "")
			time.Sleep(2 * rowPause)
			synctest.Wait()
		}
	})
	entries, err := l.Entries(t.Context(), fleet.LogQuery{Oldest: true})
	var said []string
	for _, e := range entries {
		said = append(said, e.Folder+" "+e.Text())
	}
	if want := []string{"docs folder marker missing", "docs runs again"}; err != nil ||
		!slices.Equal(said, want) {
		t.Errorf("got %q, %v", said, err)
	}
}
