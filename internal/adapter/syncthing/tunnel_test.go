package syncthing

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"muster/internal/fleet"
)

// agentTunnel is a tunnel whose far end is a handler. Its answers come piece by piece, as over a network.
type agentTunnel struct {
	handler http.HandlerFunc

	mu    sync.Mutex
	asked []string // method, path, and the API key where one was sent
}

func (a *agentTunnel) RoundTrip(r *http.Request) (*http.Response, error) {
	a.mu.Lock()
	a.asked = append(a.asked, strings.TrimSpace(r.Method+" "+r.URL.RequestURI()+" "+r.Header.Get(apiKeyHeader)))
	a.mu.Unlock()
	reader, writer := io.Pipe()
	w := &pipeWriter{header: http.Header{}, body: writer, began: make(chan int, 1)}
	go func() {
		a.handler(w, r)
		w.WriteHeader(http.StatusOK)
		_ = writer.CloseWithError(r.Context().Err()) // nil: the answer is whole
	}()
	stop := context.AfterFunc(r.Context(), func() { _ = writer.CloseWithError(r.Context().Err()) })
	select {
	case status := <-w.began:
		return &http.Response{StatusCode: status, Header: w.header, ContentLength: -1,
			Body: closing{reader, func() { stop(); _ = reader.Close() }}}, nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

type pipeWriter struct {
	header http.Header
	body   io.Writer
	once   sync.Once
	began  chan int
}

func (w *pipeWriter) Header() http.Header { return w.header }
func (w *pipeWriter) WriteHeader(status int) {
	w.once.Do(func() { w.began <- status })
}
func (w *pipeWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(p)
}

type closing struct {
	io.Reader
	close func()
}

func (c closing) Close() error { c.close(); return nil }

const tunnelled = fleet.DeviceID("FVYRMQV-XE2YEID-ALCPSU7-XLBS6XO-EFGD5RS-A6MJWYQ-CEWDRPE-Q2JCAQI")

// byAgent is a client of a daemon that is reached by its agent.
func byAgent(t *testing.T, l Limits, tunnel *agentTunnel) *Client {
	t.Helper()
	c := New(Target{Device: tunnelled, Address: "192.0.2.7:50000", Introduced: fleet.ByAgent,
		APIKey: fleet.NewSecret(testKey), Pin: "sha256:of-another-certificate"},
		Options{Limits: l, Agent: func(id fleet.DeviceID) (http.RoundTripper, error) {
			if id != tunnelled {
				t.Errorf("the tunnel of %s is asked for", id)
			}
			return tunnel, nil
		}})
	t.Cleanup(c.Close)
	return c
}

// answers is a daemon with a status and one more path.
func answers(path string, answer http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case path:
			answer(w, r)
		case statusPath:
			fmt.Fprintf(w, `{"myID":%q,"startTime":"now"}`, tunnelled)
		default:
			http.NotFound(w, r)
		}
	}
}

func TestADaemonIsReachedThroughItsTunnelWithoutKeyAndPin(t *testing.T) {
	t.Parallel()
	tunnel := &agentTunnel{handler: answers("/rest/config", func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			_, _ = io.WriteString(w, `{"version":37}`)
		}
	})}
	c := byAgent(t, Limits{}, tunnel)
	if !c.Keep() {
		t.Fatal("it is not kept")
	}
	for range 2 {
		if got, err := c.Config(t.Context()); err != nil || string(got) != `{"version":37}` {
			t.Fatalf("got %s, %v", got, err)
		}
	}
	if err := c.Write(t.Context(), http.MethodPut, "/rest/config", []byte("{}")); err != nil {
		t.Fatal(err)
	}
	want := "[GET /rest/system/status GET /rest/config GET /rest/config PUT /rest/config]"
	if got := fmt.Sprint(tunnel.asked); got != want {
		t.Errorf("got %s, want %s: no key, and who answers is asked once", got, want)
	}
	if shown, proven := c.Shown(); proven || shown.Fingerprint != "" {
		t.Errorf("a certificate is shown: %+v", shown)
	}
}

func TestAForgedIDBehindATunnelReadsAndWritesNothing(t *testing.T) {
	t.Parallel()
	forged := fleet.DeviceIDOf([32]byte{1})
	tunnel := &agentTunnel{handler: func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"myID":%q}`, forged)
	}}
	c := byAgent(t, Limits{}, tunnel)
	for name, call := range map[string]func() error{
		"read": func() error { _, err := c.Config(t.Context()); return err },
		"poll": func() error { _, err := c.Events(t.Context(), 0, 1, 0); return err },
		"write": func() error {
			return c.Write(t.Context(), http.MethodPut, "/rest/config", []byte("{}"))
		},
	} {
		if err := call(); fleet.CodeOf(err) != fleet.CodeWrongDevice {
			t.Errorf("%s: got %v", name, err)
		}
	}
	for _, asked := range tunnel.asked {
		if asked != "GET "+statusPath {
			t.Errorf("it was asked %s", asked)
		}
	}
}

// A new connection of the same agent proves nothing about the daemon behind it.
func TestAnotherTunnelIsProvenAnew(t *testing.T) {
	t.Parallel()
	handler := answers("/rest/config", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") })
	first, second := &agentTunnel{handler: handler}, &agentTunnel{handler: handler}
	now := first
	c := byAgent(t, Limits{}, nil)
	c.agent = func(fleet.DeviceID) (http.RoundTripper, error) { return now, nil }
	for range 2 {
		if _, err := c.Config(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	now = second
	if _, err := c.Config(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(first.asked) != 3 || len(second.asked) != 2 {
		t.Errorf("got %v and %v", first.asked, second.asked)
	}
}

func TestAnswersThroughATunnelHaveTheSameLimits(t *testing.T) {
	t.Parallel()
	limits := Limits{ConfigBytes: 1 << 20}
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		want   fleet.Code
		text   string
	}{
		"no answer": {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
			fleet.CodeUnavailable, "too slow"},
		"half an answer": {func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "{")
			<-r.Context().Done()
		}, fleet.CodeUnavailable, "too slow"},
		"without end": {func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 64<<10)); err != nil {
					return
				}
			}
		}, fleet.CodeUnbelievable, "larger than"},
		"deep": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, strings.Repeat(`{"a":`, 1000)+"1"+strings.Repeat("}", 1000))
		}, fleet.CodeUnbelievable, "nested"},
		"a redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://other.example/", http.StatusTemporaryRedirect)
		}, fleet.CodeUnbelievable, "redirects"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			limits := limits
			if test.text == "too slow" {
				limits = hurried(limits)
			}
			c := byAgent(t, limits, &agentTunnel{handler: answers("/rest/config", test.answer)})
			_, err := c.Config(t.Context())
			if fleet.CodeOf(err) != test.want || !strings.Contains(err.Error(), test.text) {
				t.Errorf("got %v, want %s", err, test.text)
			}
		})
	}
}

// What an agent says itself keeps its meaning.
func TestWhatTheAgentSaysComesThrough(t *testing.T) {
	t.Parallel()
	said := &fleet.Error{Code: fleet.CodeRejected, Message: "the device's agent lets nothing change its daemon"}
	c := byAgent(t, Limits{}, nil)
	c.agent = func(fleet.DeviceID) (http.RoundTripper, error) { return saying{said}, nil }
	err := c.Write(t.Context(), http.MethodPut, "/rest/config", []byte("{}"))
	if fleet.CodeOf(err) != fleet.CodeRejected || !errors.Is(err, said) {
		t.Errorf("got %v", err)
	}
}

type saying struct{ err error }

func (s saying) RoundTrip(*http.Request) (*http.Response, error) { return nil, s.err }

// A broken poll is never repeated by itself: events may be missing.
func TestABrokenPollThroughATunnelIsNotRepeated(t *testing.T) {
	t.Parallel()
	tunnel := &agentTunnel{}
	broken := false
	tunnel.handler = answers("/rest/events", func(w http.ResponseWriter, _ *http.Request) {
		if broken {
			w.(*pipeWriter).body.(*io.PipeWriter).CloseWithError(io.ErrUnexpectedEOF)
		}
		_, _ = io.WriteString(w, "[]")
	})
	c := byAgent(t, Limits{}, tunnel)
	c.Keep()
	if _, err := c.Events(t.Context(), 0, 1, 0); err != nil {
		t.Fatal(err)
	}
	broken = true
	before := len(tunnel.asked)
	if _, err := c.Events(t.Context(), 0, 1, 0); fleet.CodeOf(err) != fleet.CodeUnavailable {
		t.Errorf("got %v", err)
	}
	if len(tunnel.asked) != before+1 {
		t.Errorf("it was asked %v", tunnel.asked[before:])
	}
}

// A daemon that was started anew between two polls was not noticed: the agent sent the next poll over a new connection,
// and the events of the new run had smaller numbers.
func TestARestartBehindATunnelEndsThePoll(t *testing.T) {
	t.Parallel()
	run := "1"
	handler := answers("/rest/events", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "[]") })
	tunnel := &agentTunnel{handler: func(w http.ResponseWriter, r *http.Request) {
		if run != "" {
			w.Header().Set(fleet.DaemonRunHeader, run)
		}
		handler(w, r)
	}}
	c := byAgent(t, Limits{}, tunnel)
	if !c.Keep() {
		t.Fatal("it is not kept")
	}
	poll := func() error { _, err := c.Events(t.Context(), 0, 1, 0); return err }
	status := func() error { _, err := c.Status(t.Context()); return err }
	for _, step := range []struct {
		name  string
		run   string
		ask   func() error
		wants error
	}{
		{"the first poll", "1", poll, nil},
		{"the same run", "1", poll, nil},
		{"another run", "2", poll, fleet.ErrReconnected},
		{"before the status", "2", poll, fleet.ErrReconnected},
		{"its status", "2", status, nil},
		{"after the status", "2", poll, nil},
		{"a status of the next run", "3", status, nil},
		{"the poll of the next run", "3", poll, nil},
		{"an answer of the agent itself", "", poll, nil}, // It ended the poll, and the agent's own error was hidden.
		{"a run that began before that answer", "4", poll, fleet.ErrReconnected},
	} {
		run = step.run
		if err := step.ask(); !errors.Is(err, step.wants) {
			t.Fatalf("%s: got %v, want %v", step.name, err, step.wants)
		}
	}
	old := byAgent(t, Limits{}, tunnel)
	old.Keep()
	for run = ""; len(tunnel.asked) < 24; { // An older agent does not tell it.
		if _, err := old.Events(t.Context(), 0, 1, 0); err != nil {
			t.Fatal(err)
		}
	}
}
