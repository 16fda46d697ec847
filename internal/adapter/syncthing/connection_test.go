package syncthing

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"muster/internal/fleet"
)

// hold makes the event stream hang until released, and says when a poll has arrived.
func hold(f *fake) (arrived chan struct{}, release chan string) {
	arrived, release = make(chan struct{}, 10), make(chan string, 10)
	f.handle("/rest/events", func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush() // as daemons do: the header at once, the body when there are events
		arrived <- struct{}{}
		select {
		case body := <-release:
			_, _ = io.WriteString(w, body)
		case <-r.Context().Done():
		}
	})
	return arrived, release
}

func TestAtRestThereIsOneConnection(t *testing.T) {
	f := newFake(t, fakeOptions{})
	f.answer("/rest/events", "[]")
	c := newClient(t, f.target(), Limits{})
	for range 5 {
		if _, err := c.Status(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Events(t.Context(), 0, 0, 0); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Config(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if f.dialled() != 1 {
		t.Fatalf("%d connections", f.dialled())
	}
}

func TestWhatCannotWaitDoesNotWaitForThePollAndDoesNotCutIt(t *testing.T) {
	f := newFake(t, fakeOptions{})
	arrived, release := hold(f)
	c := newClient(t, f.target(), Limits{})
	got := make(chan error, 1)
	go func() {
		events, err := c.Events(t.Context(), 0, 0, 50*time.Second)
		if err == nil && (len(events) != 1 || events[0].ID != 7) {
			err = errors.New("not the event that was sent")
		}
		got <- err
	}()
	<-arrived
	for range 3 {
		if err := c.Write(t.Context(), "PATCH", "/rest/config", []byte(`{}`)); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Config(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if f.dialled() != 7 {
		t.Fatalf("%d connections, want the kept one and six that were not kept", f.dialled())
	}
	release <- `[{"id":7,"type":"ConfigSaved","data":{}}]`
	if err := <-got; err != nil {
		t.Fatal(err)
	}
}

func TestOneSecondConnectionAtATime(t *testing.T) {
	f := newFake(t, fakeOptions{})
	entered, leave := make(chan struct{}, 2), make(chan struct{})
	f.handle("/rest/config", func(http.ResponseWriter, *http.Request) {
		entered <- struct{}{}
		<-leave
	})
	c := newClient(t, f.target(), Limits{})
	first := make(chan error, 1)
	go func() { first <- c.Write(t.Context(), "PUT", "/rest/config", []byte(`{}`)) }()
	<-entered
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err := c.Write(ctx, "PUT", "/rest/config", []byte(`{}`))
	if !errors.Is(err, context.DeadlineExceeded) || fleet.CodeOf(err) != fleet.CodeUnavailable {
		t.Fatalf("a second write beside the first: %v", err)
	}
	close(leave)
	if err := <-first; err != nil {
		t.Fatal(err)
	}
	if n := len(entered); n != 0 {
		t.Fatal("the second write was sent")
	}
}

func TestAConnectionThatTheDaemonClosedIsReplacedForReadsOnly(t *testing.T) {
	f := newFake(t, fakeOptions{})
	f.answer("/rest/events", "[]")
	c := newClient(t, f.target(), Limits{})
	idle := func() {
		t.Helper()
		if _, err := c.Status(t.Context()); err != nil {
			t.Fatal(err)
		}
		cn := <-c.kept
		_ = cn.tcp.Close() // as good as closed by the daemon: nothing more comes
		c.kept <- cn
	}
	idle()
	if _, err := c.Version(t.Context()); err != nil {
		t.Fatalf("a read: %v", err)
	}
	idle()
	_, err := c.Events(t.Context(), 0, 0, 0)
	wantCode(t, err, fleet.CodeUnavailable)
	idle()
	if _, err := c.Version(t.Context()); err != nil {
		t.Fatalf("a read: %v", err)
	}
	sent := len(f.requests())
	_, err = c.Events(t.Context(), 0, 0, 0)
	if wantCode(t, err, fleet.CodeUnavailable); !errors.Is(err, fleet.ErrReconnected) || len(f.requests()) != sent {
		t.Fatalf("the poll on the connection that the read opened: %v, %v", err, f.requests()[sent:])
	}
	if _, err := c.Status(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Events(t.Context(), 0, 0, 0); err != nil {
		t.Fatalf("the poll after the status: %v", err)
	}
}

func TestAWriteIsNeverSentTwice(t *testing.T) {
	f := newFake(t, fakeOptions{})
	f.handle("/rest/config", func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			_ = c.Close()
		}
	})
	c := newClient(t, f.target(), Limits{})
	err := c.Write(t.Context(), "PUT", "/rest/config", []byte(`{}`))
	if e := wantCode(t, err, fleet.CodeUnavailable); !contains(e.Message, "whether the change arrived is not known") {
		t.Errorf("message %q", e.Message)
	}
	writes := 0
	for _, r := range f.requests() {
		if strings.HasPrefix(r, "PUT") {
			writes++
		}
	}
	if writes != 1 {
		t.Fatalf("sent %d times", writes)
	}
}

func TestASessionIsOneConnectionAndDoesNotWriteOnAStaleOne(t *testing.T) {
	f := newFake(t, fakeOptions{})
	c := newClient(t, f.target(), Limits{})
	s, err := c.Session(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := s.Config(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := s.Write(t.Context(), "PUT", "/rest/config", []byte(`{}`)); err != nil {
			t.Fatal(err)
		}
	}
	if f.dialled() != 1 {
		t.Fatalf("%d connections", f.dialled())
	}
	s.conn.lastUsed = time.Now().Add(-2 * freshFor)
	if err := s.Write(t.Context(), "PUT", "/rest/config", []byte(`{}`)); err != nil {
		t.Fatal(err)
	}
	if f.dialled() != 2 {
		t.Fatalf("%d connections, want a new one for a write after a pause", f.dialled())
	}
	s.Close()
	s.Close()
}

func TestCancellingEndsACallAtOnce(t *testing.T) {
	f := newFake(t, fakeOptions{})
	arrived, _ := hold(f)
	c := newClient(t, f.target(), Limits{})
	ctx, cancel := context.WithCancel(t.Context())
	got := make(chan error, 1)
	go func() { _, err := c.Events(ctx, 0, 0, time.Hour); got <- err }()
	<-arrived
	cancel()
	if err := <-got; !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	if _, err := c.Version(t.Context()); err != nil {
		t.Fatalf("the next call: %v", err)
	}
}

func TestCloseKeepsNoConnection(t *testing.T) {
	f := newFake(t, fakeOptions{})
	c := newClient(t, f.target(), Limits{})
	for want := 1; want <= 2; want++ {
		if _, err := c.Status(t.Context()); err != nil {
			t.Fatal(err)
		}
		c.Close()
		if cn := <-c.kept; cn != nil {
			t.Fatal("a connection is kept after Close")
		}
		c.kept <- nil
	}
}

func TestADaemonThatClosesAfterEveryAnswerIsNotTrustedWithTheKeyOnTheNext(t *testing.T) {
	f := newFake(t, fakeOptions{})
	f.handle("/rest/noauth/health", func(w http.ResponseWriter,
		_ *http.Request) {
		w.Header().Set("Connection", "close")
	})
	_, err := newClient(t, f.target(), Limits{}).Status(t.Context())
	wantCode(t, err, fleet.CodeUnbelievable)
	wantNoKey(t, f)
}

func TestWrites(t *testing.T) {
	f := newFake(t, fakeOptions{})
	c := newClient(t, f.target(), Limits{})
	for name, k := range map[string]struct {
		status int
		code   fleet.Code
	}{
		"done": {200, ""}, "done, nothing to say": {204, ""}, "refused": {400, fleet.CodeRejected},
		"not there":   {404, fleet.CodeRejected},
		"not allowed": {405, fleet.CodeRejected}, "its own fault": {500, fleet.CodeUnavailable},
		"key refused":   {403, fleet.CodeKeyRefused},
		"led elsewhere": {307, fleet.CodeUnbelievable},
	} {
		t.Run(name, func(t *testing.T) {
			var method, body, contentType string
			f.handle("/rest/config/folders", func(w http.ResponseWriter, r *http.Request) {
				b, _ := io.ReadAll(r.Body)
				method, body, contentType = r.Method, string(b), r.Header.Get("Content-Type")
				w.WriteHeader(k.status)
				if k.status != 204 {
					_, _ = io.WriteString(w, "folder \x1b[31mhas empty path\n")
				}
			})
			err := c.Write(t.Context(), "PUT", "/rest/config/folders", []byte(`[{"id":"ü"}]`))
			if k.code == "" && err != nil {
				t.Fatal(err)
			}
			if k.code != "" {
				e := wantCode(t, err, k.code)
				if k.code == fleet.CodeRejected && !contains(e.Message, "has empty path") || contains(e.Message, "\x1b") {
					t.Errorf("message %q", e.Message)
				}
			}
			if method != "PUT" || body != `[{"id":"ü"}]` || contentType != "application/json" {
				t.Errorf("the daemon got %s %s as %s", method, body, contentType)
			}
		})
	}
	for _, path := range []string{"/rest/config x", "/rest/config\r\nX: y", "/other", "/rest/ü", ""} {
		if err := c.Write(t.Context(), "PUT", path, nil); fleet.CodeOf(err) != fleet.CodeInternal {
			t.Errorf("path %q: %v", path, err)
		}
	}
}

// A daemon that stands still takes new connections for a while, as its system does that for it.
func TestADaemonThatStandsStillIsNotAskedAgain(t *testing.T) {
	f := newFake(t, fakeOptions{})
	c := newClient(t, f.target(), Limits{})
	if _, err := c.Status(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.handle("/rest/system/status", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	limits := hurried(*c.limits)
	c.limits = &limits
	_, err := c.Status(t.Context())
	wantCode(t, err, fleet.CodeUnavailable)
	if f.dialled() != 1 {
		t.Errorf("%d connections", f.dialled())
	}
}

func TestHowLongAnAnswerMayTake(t *testing.T) {
	l := Limits{}.withDefaults()
	for want, k := range map[time.Duration]*call{
		15 * time.Second: {method: http.MethodGet},
		30 * time.Second: {method: http.MethodPatch},
		65 * time.Second: {method: http.MethodGet, wait: 50 * time.Second},
	} {
		if got := l.answerTo(k); got != want {
			t.Errorf("%s %s: %s, want %s", k.method, k.wait, got, want)
		}
	}
}
