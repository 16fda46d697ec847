package httpapi

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"muster/internal/engine/event"
	"muster/internal/fleet"
)

// narrow is the size of the buffers of connections in these tests: what is not read soon stops the writer.
const narrow = 4 << 10

// guestbook notes which connections a server has open, by the address of the client.
type guestbook struct {
	mu   sync.Mutex
	open map[string]bool
}

func (g *guestbook) note(conn net.Conn, state http.ConnState) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if state == http.StateClosed {
		delete(g.open, conn.RemoteAddr().String())
	} else {
		g.open[conn.RemoteAddr().String()] = true
	}
}

func (g *guestbook) has(address string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.open[address]
}

// narrowServer is the API behind connections with small buffers.
func narrowServer(t *testing.T, w *world, hub *event.Hub) (*httptest.Server, *guestbook) {
	t.Helper()
	w.with(func(o *setup) { o.Events = hub })
	w.api.patience = 2 * time.Second // Who reads is never that late, on a busy machine either.
	guests := &guestbook{open: map[string]bool{}}
	server := httptest.NewUnstartedServer(w.api)
	server.Config.ConnState = guests.note
	server.Config.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		if err := conn.(*net.TCPConn).SetWriteBuffer(narrow); err != nil {
			t.Error(err)
		}
		return ctx
	}
	server.Start()
	t.Cleanup(server.Close)
	t.Cleanup(hub.Close) // first
	return server, guests
}

// send opens a connection with a small buffer and sends requests on it, and reads nothing.
func (w *world) send(server *httptest.Server, path string, times int) net.Conn {
	w.t.Helper()
	dialer := net.Dialer{Control: func(_, _ string, raw syscall.RawConn) error {
		return raw.Control(func(fd uintptr) {
			_ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF,
				narrow)
		})
	}}
	conn, err := dialer.DialContext(w.t.Context(), "tcp", server.Listener.Addr().String())
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = conn.Close() })
	request := fmt.Sprintf("GET %s%s HTTP/1.1\r\nHost: localhost\r\nX-API-Key: %s\r\n\r\n", Prefix, path,
		w.tokens[fleet.RoleViewer])
	if _, err := io.WriteString(conn, strings.Repeat(request, times)); err != nil {
		w.t.Fatal(err)
	}
	return conn
}

// Clients that ask and read nothing, large answers, many answers and event streams, lose their connections; others are
// served meanwhile.
func TestReadersThatReadNothingAreGone(t *testing.T) {
	w := newWorld(t)
	hub := event.NewHub(event.Options{})
	server, guests := narrowServer(t, w, hub)
	idle := map[string]string{}
	for path, times := range map[string]int{"/openapi.json": 1, "/devices": 2000, "/events": 1} {
		for range 7 {
			idle[w.send(server, path, times).LocalAddr().String()] = path
		}
	}
	reader := bufio.NewReader(w.open(server, "", "").Body)
	deadline := time.Now().Add(time.Minute)
	for n := 0; len(idle) > 0; n++ {
		publish(t, hub, event.TypeStatus, idA, fmt.Sprint(n, strings.Repeat("x", narrow)))
		lineWith(t, reader, `data: {"id":`) // an event reaches who reads
		if resp, err := http.Get(server.URL + "/healthz"); err != nil || resp.StatusCode != http.StatusOK ||
			resp.Body.Close() != nil {
			t.Fatalf("others are not served: %v", err)
		}
		maps.DeleteFunc(idle, func(address, _ string) bool { return !guests.has(address) })
		if time.Now().After(deadline) {
			t.Fatalf("%d connections that read nothing are still there: %v", len(idle), slices.Sorted(maps.Values(idle)))
		}
		runtime.Gosched()
	}
}

// A client that takes its time, but reads on, gets the whole of a large answer.
func TestASlowReaderGetsEverything(t *testing.T) {
	w := newWorld(t)
	server, _ := narrowServer(t, w, event.NewHub(event.Options{}))
	w.api.patience = time.Minute // for a piece: the machine may be busy
	want := w.get(Prefix + "/openapi.json")
	conn := w.send(server, "/openapi.json", 1)
	resp, err := http.ReadResponse(bufio.NewReaderSize(conn, 16), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil || strings.TrimSpace(string(body)) != strings.TrimSpace(want) {
		t.Errorf("got %d of %d bytes, %v", len(body), len(want), err)
	}
}

// A stream that was cut for its slowness goes on after the last event that its reader has got.
func TestASlowReaderGoesOnWhereItWasCut(t *testing.T) {
	w := newWorld(t)
	hub := event.NewHub(event.Options{Events: 64})
	server, guests := narrowServer(t, w, hub)
	conn := w.send(server, "/events", 1)
	for !guests.has(conn.LocalAddr().String()) { // a connection that is not there yet was not cut
		runtime.Gosched()
	}
	published := 0
	send := func() {
		published++
		publish(t, hub, event.TypeStatus, idA, fmt.Sprint(published, strings.Repeat("x", narrow)))
	}
	for deadline := time.Now().Add(time.Minute); published < 10 || guests.has(conn.LocalAddr().String()); send() {
		if time.Now().After(deadline) {
			t.Fatal("the stream is not cut")
		}
		runtime.Gosched()
	}
	var last string
	lines := bufio.NewReader(conn)
	for {
		line, err := lines.ReadString('\n')
		if err != nil { // in the middle of an event, perhaps
			break
		}
		if id, ok := strings.CutPrefix(line, "id: "); ok {
			last = strings.TrimSpace(id)
		}
	}
	if last == "" {
		t.Fatal("the slow reader has no ID to come back with")
	}
	again := bufio.NewReader(w.open(server, "", last).Body)
	if first := lineWith(t, again, "event:"); first != "missed" && first != "status" {
		t.Errorf("it goes on with %s", first)
	}
}

func TestEventStreamsPerTokenAreBounded(t *testing.T) {
	w, _, server := streamed(t)
	w.setup.events().streams.most = 2
	first := w.open(server, "", "")
	w.open(server, "", "")
	p := w.problem(http.StatusTooManyRequests, call{method: http.MethodGet, path: Prefix + "/events",
		role: fleet.RoleViewer})
	if !strings.Contains(p.Detail, "2 event streams") || !strings.Contains(p.Hint, "Close some") {
		t.Errorf("got %+v", p)
	}
	if got := w.statusOfEvents(server, fleet.RoleAdmin); got != http.StatusOK {
		t.Errorf("another token got %d", got)
	}
	_ = first.Body.Close()
	for deadline := time.Now().Add(time.Minute); w.statusOfEvents(server,
		fleet.RoleViewer) != http.StatusOK; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatal("a stream that ended keeps its place")
		}
	}
}

// statusOfEvents opens a stream and closes it.
func (w *world) statusOfEvents(server *httptest.Server, role fleet.Role) int {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, server.URL+Prefix+"/events", nil)
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("X-API-Key", w.tokens[role])
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}
