package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// tagServer lists as many tags as it was told to, and has a stream of events.
type tagServer struct {
	tags    atomic.Int64
	happens chan string   // written to the stream
	asked   chan struct{} // one for the lists that were asked for since it was read
}

func (s *tagServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !strings.HasSuffix(r.URL.Path, "/events") {
		select {
		case s.asked <- struct{}{}:
		default:
		}
		all := []string{}
		for i := range s.tags.Load() {
			all = append(all, fmt.Sprintf("tag%d", i))
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(all)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprint(w, "id: 1\n\n")
	_ = http.NewResponseController(w).Flush()
	for {
		select {
		case text := <-s.happens:
			fmt.Fprint(w, text)
			_ = http.NewResponseController(w).Flush()
		case <-r.Context().Done():
			return
		}
	}
}

func TestWatchShowsAgainAfterEventsAndEndsWithCtrlC(t *testing.T) {
	fake := &tagServer{happens: make(chan string), asked: make(chan struct{}, 1)}
	fake.tags.Store(1)
	server := httptest.NewServer(fake)
	t.Cleanup(server.Close)
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	out, printed := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		ended <- Run(ctx, []string{"tag", "list", "--watch", "-o", "name", "--server", server.URL, "--token", "x"},
			Streams{In: strings.NewReader(""), Out: printed, Err: io.Discard}, "test")
		_ = printed.Close()
	}()
	lines := bufio.NewScanner(out)
	expect := func(want ...string) {
		t.Helper()
		for _, line := range want {
			if !lines.Scan() || lines.Text() != line {
				t.Fatalf("got %q, want %q", lines.Text(), line)
			}
		}
	}
	expect("tag0")
	fake.tags.Store(2)
	fake.happens <- "id: 2\ndata: {\"id\":2,\"type\":\"device\"}\n\n"
	expect("", "tag0", "tag1")

	// Nothing is printed again where nothing differs.
	select {
	case <-fake.asked:
	default:
	}
	fake.happens <- "id: 3\ndata: {\"id\":3,\"type\":\"device\"}\n\n"
	<-fake.asked
	fake.tags.Store(3)
	fake.happens <- "id: 4\ndata: {\"id\":4,\"type\":\"device\"}\n\n"
	expect("", "tag0", "tag1", "tag2")
	interrupt()
	for lines.Scan() {
		t.Errorf("got %q after the end", lines.Text())
	}
	if code := <-ended; code != exitInterrupted {
		t.Errorf("got %d", code)
	}
}

func TestWatchEndsWhenTheServerIsAway(t *testing.T) {
	code, out, _ := run(t, "tag", "list", "--watch", "--server", "http://127.0.0.1:1", "--token", "x")
	if code != exitUnreachable || out != "" {
		t.Errorf("got %d %q", code, out)
	}
}

func TestQuietPrintsNothingButErrors(t *testing.T) {
	fake := &tagServer{}
	server := httptest.NewServer(fake)
	t.Cleanup(server.Close)
	code, out, errs := run(t, "tag", "list", "--quiet", "--server", server.URL, "--token", "x")
	if code != exitDone || out != "" || errs != "" {
		t.Errorf("got %d %q %q", code, out, errs)
	}
	code, out, errs = run(t, "tag", "list", "--quiet", "--server", "http://127.0.0.1:1", "--token", "x")
	if code != exitUnreachable || out != "" || errs == "" {
		t.Errorf("got %d %q %q", code, out, errs)
	}
}
