package httpapi

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"muster/api"
	"muster/client"
	"muster/internal/edge/auth"
	"muster/internal/engine/event"
	"muster/internal/fleet"
)

// streamed is a world behind a real listener, with a hub and quick heartbeats.
func streamed(t *testing.T) (w *world, hub *event.Hub, server *httptest.Server) {
	t.Helper()
	w = newWorld(t)
	hub = event.NewHub(event.Options{Tags: func(id fleet.DeviceID) []fleet.Tag {
		if id == idA {
			return []fleet.Tag{"x"}
		}
		return nil
	}})
	w.with(func(o *setup) { o.Events = hub })
	w.setup.events().streaming.heartbeat = 5 * time.Millisecond
	server = httptest.NewServer(w.api)
	t.Cleanup(server.Close)
	t.Cleanup(hub.Close) // first
	return w, hub, server
}

func (w *world) open(server *httptest.Server, query, lastID string) *http.Response {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, server.URL+Prefix+"/events"+query, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+w.tokens[fleet.RoleViewer])
	if lastID != "" {
		r.Header.Set("Last-Event-ID", lastID)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

func publish(t *testing.T, hub *event.Hub, kind event.Type, device fleet.DeviceID, data any) {
	t.Helper()
	if err := hub.Publish(kind, device, data); err != nil {
		t.Fatal(err)
	}
}

// lineWith reads on to a line that begins so.
func lineWith(t *testing.T, lines *bufio.Reader, prefix string) string {
	t.Helper()
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("%v before a line with %q", err, prefix)
		}
		if strings.HasPrefix(line, prefix) {
			return strings.TrimSpace(strings.TrimPrefix(line, prefix))
		}
	}
}

func TestEventsStreamToProxiesAndBrowsers(t *testing.T) {
	w, hub, server := streamed(t)
	resp := w.open(server, "", "")
	for name, want := range map[string]string{"Content-Type": "text/event-stream", "X-Accel-Buffering": "no",
		"Cache-Control": "no-store", "Content-Encoding": ""} {
		if got := resp.Header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	lines := bufio.NewReader(resp.Body)
	if retry := lineWith(t, lines, "retry:"); retry != "2000" {
		t.Errorf("retry is %s", retry)
	}
	lineWith(t, lines, "id:") // to come back with before there was an event
	publish(t, hub, event.TypeDevice, idA, map[string]string{"text": "two\nlines"})
	id := lineWith(t, lines, "id:")
	for strings.TrimSpace(id) == "" {
		id = lineWith(t, lines, "id:")
	}
	if kind := lineWith(t, lines, "event:"); kind != "device" {
		t.Errorf("the event is %q", kind)
	}
	data := lineWith(t, lines, "data:")
	for _, want := range []string{`"type":"device"`, `"device":"` + string(idA) + `"`, `"tags":["x"]`,
		`"data":{"text":"two\nlines"}`} {
		if !strings.Contains(data, want) {
			t.Errorf("%s is not in %s", want, data)
		}
	}
	lineWith(t, lines, ": still here")
}

// collect follows until n events came.
func (w *world) collect(server *httptest.Server, filter client.EventFilter, after int64, n int) (got []api.Event,
	last int64) {
	w.t.Helper()
	c, err := client.New(server.URL, w.tokens[fleet.RoleViewer])
	if err != nil {
		w.t.Fatal(err)
	}
	enough := errors.New("enough")
	last, err = c.Events(w.t.Context(), filter, after, func(e api.Event) error {
		if got = append(got, e); len(got) == n {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) {
		w.t.Fatalf("got %v after %d events", err, len(got))
	}
	return got, last
}

func TestEventsGoOnWhereAReaderLeft(t *testing.T) {
	w, hub, server := streamed(t)
	publish(t, hub, event.TypeDevice, idA, 1)
	publish(t, hub, event.TypeFolder, idA, 2)
	publish(t, hub, event.TypeDevice, idB, 3)
	publish(t, hub, event.TypeRollout, "", 4)

	first, last := w.collect(server, client.EventFilter{}, 1, 2) // 1 is none of this process: what is missing is said
	if first[0].Type != "missed" || string(first[1].Data) != "1" {
		t.Fatalf("got %+v", first)
	}
	rest, _ := w.collect(server, client.EventFilter{}, last, 3)
	if string(rest[0].Data) != "2" || string(rest[2].Data) != "4" {
		t.Errorf("got %+v", rest)
	}
	for name, one := range map[string]struct {
		filter client.EventFilter
		want   string
	}{
		"type":         {client.EventFilter{Types: []string{"folder"}}, "2"},
		"types":        {client.EventFilter{Types: []string{"rollout", "folder"}}, "2"},
		"device":       {client.EventFilter{Devices: []string{strings.ToLower(string(idB))}}, "3"},
		"tag":          {client.EventFilter{Tags: []string{"x"}}, "2"},
		"tag and type": {client.EventFilter{Tags: []string{"x"}, Types: []string{"folder"}}, "2"},
	} {
		t.Run(name, func(t *testing.T) {
			if got, _ := w.in(t).collect(server, one.filter, last, 1); string(got[0].Data) != one.want {
				t.Errorf("got %s, want %s", got[0].Data, one.want)
			}
		})
	}
	// In the query too, for a page that opens a stream after it has read the state; the header counts for more.
	lines := bufio.NewReader(w.open(server, "?after="+strconv.FormatInt(last+1, 10), "").Body)
	if data := lineWith(t, lines, "data:"); !strings.Contains(data, `"data":3`) {
		t.Errorf("got %s", data)
	}
	lines = bufio.NewReader(w.open(server, "?after=7", strconv.FormatInt(last+2, 10)).Body)
	if data := lineWith(t, lines, "data:"); !strings.Contains(data, `"data":4`) {
		t.Errorf("got %s", data)
	}
}

func TestEventsRefuseWhatTheyDoNotKnow(t *testing.T) {
	w, _, server := streamed(t)
	_ = server
	for name, query := range map[string]string{"type": "?type=nothing", "device": "?device=abc", "tag": "?tag=",
		"after": "?after=x", "negative": "?after=-1"} {
		t.Run(name, func(t *testing.T) {
			p := w.in(t).problem(http.StatusUnprocessableEntity,
				call{method: http.MethodGet, path: Prefix + "/events" + query})
			if len(p.Errors) == 0 || !strings.HasPrefix(p.Errors[0].Location, "query.") {
				t.Errorf("got %+v", p)
			}
		})
	}
	w.problem(http.StatusUnprocessableEntity, call{method: http.MethodGet, path: Prefix + "/events",
		header: http.Header{"Last-Event-Id": {"x"}}})
	w.want(http.StatusOK, call{method: http.MethodHead, path: Prefix + "/events"})
}

func TestAStreamEndsWithTheServerTheTokenAndItsTime(t *testing.T) {
	for name, end := range map[string]func(w *world, hub *event.Hub){
		"server": func(_ *world, hub *event.Hub) { hub.Close() },
		"token": func(w *world, _ *event.Hub) {
			w.want(http.StatusNoContent, call{method: http.MethodDelete, path: Prefix + "/tokens/viewer"})
		},
		"time": func(*world, *event.Hub) {},
	} {
		t.Run(name, func(t *testing.T) {
			w, hub, server := streamed(t)
			if name == "time" {
				w.setup.events().streaming.life = 20 * time.Millisecond
			}
			resp := w.open(server, "", "")
			lineWith(t, bufio.NewReader(resp.Body), "retry:")
			end(w, hub)
			if _, err := io.Copy(io.Discard, resp.Body); err != nil {
				t.Errorf("the stream ends with %v", err)
			}
		})
	}
}

// door lets a viewer in until a moment, and answers otherwise afterwards.
type door struct {
	until time.Time
	then  func() (auth.Principal, error)
}

var doorkeeper = auth.Principal{Name: "nora", Role: fleet.RoleViewer}

func (d door) Authenticate(*http.Request) (auth.Principal, error) {
	if time.Now().Before(d.until) {
		return doorkeeper, nil
	}
	return d.then()
}

func TestAStreamEndsWithinTwoSecondsOfItsCredential(t *testing.T) {
	scoped, author := doorkeeper, doorkeeper
	scoped.Scope, author.Role = fleet.ScopeOf([]fleet.Tag{"in"}), fleet.RoleAuthor
	refuse := func(why string) func() (auth.Principal, error) {
		return func() (auth.Principal, error) { return auth.Principal{}, errors.New(why) }
	}
	for what, then := range map[string]func() (auth.Principal, error){
		"deleted":       refuse("this token was deleted"),
		"disabled":      refuse("the user is disabled"),
		"another scope": func() (auth.Principal, error) { return scoped, nil },
		"another role":  func() (auth.Principal, error) { return author, nil },
	} {
		for name, busy := range map[string]bool{"busy": true, "quiet": false} {
			synctest.Test(t, func(t *testing.T) {
				hub := event.NewHub(event.Options{})
				over := time.Now().Add(time.Minute + 300*time.Millisecond)
				made := setup{Options: Options{Log: slog.New(slog.DiscardHandler), Auth: door{over, then}}, Events: hub}
				made.server()
				events, err := hub.Subscribe(event.Filter{}, event.Latest)
				if err != nil {
					t.Fatal(err)
				}
				var ended time.Time
				out := httptest.NewRecorder()
				go func() {
					asked := httptest.NewRequestWithContext(t.Context(), http.MethodGet, Prefix+"/events", nil)
					made.events().stream(out, &request{who: doorkeeper, Request: asked}, events)
					ended = time.Now()
				}()
				for range 150 {
					if busy {
						publish(t, hub, event.TypeStatus, idA, 1)
					}
					<-time.After(time.Second)
				}
				hub.Close()
				synctest.Wait()
				if ended.Before(over) || ended.After(over.Add(2*time.Second)) {
					t.Errorf("%s, %s: the stream ended %v later", what, name, ended.Sub(over))
				}
			})
		}
	}
}

func TestAReaderThatIsGoneLeavesNothingBehind(t *testing.T) {
	w := newWorld(t)
	hub := event.NewHub(event.Options{Subscribers: 1})
	defer hub.Close()
	w.with(func(o *setup) { o.Events = hub })
	server := httptest.NewServer(w.api)
	defer server.Close()
	for range 5 { // each needs the place of the one before
		ctx, cancel := context.WithCancel(t.Context())
		c, err := client.New(server.URL, w.tokens[fleet.RoleViewer])
		if err != nil {
			t.Fatal(err)
		}
		for {
			if _, err = c.Events(ctx, client.EventFilter{}, 1,
				func(api.Event) error { cancel(); return nil }); fleet.CodeOf(err) != fleet.CodeTooMany {
				break
			}
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v", err)
		}
	}
}
