package syncthing

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"muster/internal/fleet"
)

// tight are limits of size that a test reaches quickly.
var tight = Limits{HeaderBytes: 16 << 10, SmallBytes: 64 << 10, ConfigBytes: 4 << 20, EventsBytes: 4 << 20, Depth: 50}

// hurried gives limits of time, too. An honest answer may be later than that on a busy machine.
func hurried(l Limits) Limits {
	l.Answer, l.Body, l.Grace, l.MinRate = 400*time.Millisecond, time.Second, 300*time.Millisecond, 1<<20
	return l
}

func contains(s, part string) bool { return strings.Contains(s, part) }

// forever writes until the other side has had enough.
func forever(w http.ResponseWriter, chunk []byte, pause time.Duration) {
	for {
		if _, err := w.Write(chunk); err != nil {
			return
		}
		if pause > 0 {
			w.(http.Flusher).Flush()
			<-time.After(pause)
		}
	}
}

func TestHostileAnswers(t *testing.T) {
	raw := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			c, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				return
			}
			defer c.Close()
			_, _ = io.WriteString(c, text)
		}
	}
	text := func(body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }
	}
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	_, _ = z.Write(make([]byte, 10<<20))
	_ = z.Close()
	var elsewhere atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	t.Cleanup(other.Close)

	for name, c := range map[string]struct {
		answer http.HandlerFunc
		code   fleet.Code
	}{
		"a body without end": {func(w http.ResponseWriter, _ *http.Request) { forever(w, make([]byte, 64<<10), 0) },
			fleet.CodeUnbelievable},
		"ten gigabytes announced": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "10737418240")
			_, _ = w.Write([]byte("{"))
		}, fleet.CodeUnbelievable},
		"a byte now and then": {func(w http.ResponseWriter,
			_ *http.Request) {
			forever(w, []byte(" "), 20*time.Millisecond)
		}, fleet.CodeUnavailable},
		"no answer at all": {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
			fleet.CodeUnavailable},
		"a connection that just closes": {raw(""), fleet.CodeUnavailable},
		"half an answer":                {raw("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"), fleet.CodeUnavailable},
		"half a header":                 {raw("HTTP/1.1 200 OK\r\nContent-Le"), fleet.CodeUnbelievable},
		"no HTTP":                       {raw("SSH-2.0-OpenSSH_9.2p1\r\n"), fleet.CodeUnbelievable},
		"a long header": {raw("HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 1<<20)),
			fleet.CodeUnbelievable},
		"many headers": {raw("HTTP/1.1 200 OK\r\n" + strings.Repeat("X: y\r\n", 1<<18)),
			fleet.CodeUnbelievable},
		"provisional answers only": {raw(strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 1000)),
			fleet.CodeUnbelievable},
		"another protocol": {raw("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"),
			fleet.CodeUnbelievable},
		"a compressed answer": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(bomb.Bytes())
		}, fleet.CodeUnbelievable},
		"a redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		}, fleet.CodeUnbelievable},
		"deep nesting":            {text(strings.Repeat("[", 60) + strings.Repeat("]", 60)), fleet.CodeUnbelievable},
		"very deep nesting":       {text(strings.Repeat(`{"a":`, 12_000)), fleet.CodeUnbelievable},
		"HTML":                    {text("<!doctype html><title>Router</title>"), fleet.CodeUnbelievable},
		"nothing":                 {text(""), fleet.CodeUnbelievable},
		"a list":                  {text("[]"), fleet.CodeUnbelievable},
		"null":                    {text("null"), fleet.CodeUnbelievable},
		"no ID":                   {text(`{"uptime":1}`), fleet.CodeUnbelievable},
		"an ID of another type":   {text(`{"myID":1}`), fleet.CodeUnbelievable},
		"a number as text":        {text(`{"myID":"%ID","uptime":"1"}`), fleet.CodeUnbelievable},
		"a fraction for a count":  {text(`{"myID":"%ID","uptime":1.5}`), fleet.CodeUnbelievable},
		"a count beyond 64 bits":  {text(`{"myID":"%ID","alloc":99999999999999999999}`), fleet.CodeUnbelievable},
		"a negative counter":      {text(`{"myID":"%ID","goroutines":-1}`), fleet.CodeUnbelievable},
		"a negative percentage":   {text(`{"myID":"%ID","cpuPercent":-0.1}`), fleet.CodeUnbelievable},
		"a text with a zero byte": {text(`{"myID":"%ID","tilde":"a\u0000b"}`), fleet.CodeUnbelievable},
		"a very long text": {text(`{"myID":"%ID","tilde":"` + strings.Repeat("x", 5000) + `"}`),
			fleet.CodeUnbelievable},
		"two documents": {text(`{"myID":"%ID"}{}`), fleet.CodeUnbelievable},
		"an error of its own": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "boom", 500) },
			fleet.CodeUnavailable},
		"not found": {func(w http.ResponseWriter, _ *http.Request) { http.NotFound(w, nil) },
			fleet.CodeUnbelievable},
		"a teapot": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) },
			fleet.CodeUnbelievable},
		"no content": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) },
			fleet.CodeUnbelievable},
		"a wrong key": {func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "CSRF Error",
				http.StatusForbidden)
		}, fleet.CodeKeyRefused},
		"a wrong key, GUI user": {func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "Not Authorized",
				http.StatusUnauthorized)
		}, fleet.CodeKeyRefused},
		"a refused host": {func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "Host check error", http.StatusForbidden)
		}, fleet.CodeUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t, fakeOptions{})
			f.handle("/rest/system/status", func(w http.ResponseWriter, r *http.Request) {
				c.answer(&withID{w, string(f.ID)}, r)
			})
			client := newClient(t, f.target(), tight)
			patient := client.limits
			if slow := name == "a byte now and then" || name == "no answer at all"; slow {
				limits := hurried(*patient)
				client.limits = &limits
			}
			_, err := client.Status(t.Context())
			client.limits = patient
			wantCode(t, err, c.code)
			if len(err.Error()) > 1500 {
				t.Errorf("the error is %d bytes long", len(err.Error()))
			}
			if client.knownPin() != "" {
				t.Error("its certificate was pinned")
			}
			f.answer("/rest/system/status", fmt.Sprintf(`{"myID":%q}`, f.ID))
			if _, err := client.Status(t.Context()); err != nil {
				t.Errorf("after it mended its ways: %v", err)
			}
		})
	}
	if n := elsewhere.Load(); n > 0 {
		t.Fatalf("%d redirects were followed", n)
	}
}

// withID puts the daemon's ID where a case says %ID.
type withID struct {
	http.ResponseWriter
	id string
}

func (w *withID) Write(b []byte) (int, error) {
	return w.ResponseWriter.Write(bytes.ReplaceAll(b, []byte("%ID"), []byte(w.id)))
}
func (w *withID) Flush() { w.ResponseWriter.(http.Flusher).Flush() }
func (w *withID) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return w.ResponseWriter.(http.Hijacker).Hijack()
}

func TestHostileAnswersWithoutTheKeyEither(t *testing.T) {
	f := newFake(t, fakeOptions{})
	f.handle("/rest/noauth/health", func(w http.ResponseWriter, _ *http.Request) { forever(w, make([]byte, 64<<10), 0) })
	_, err := newClient(t, f.target(), tight).Status(t.Context())
	wantCode(t, err, fleet.CodeUnbelievable)
	wantNoKey(t, f)
}

func TestARedirectWithoutTheKeyEndsItBeforeTheKey(t *testing.T) {
	f := newFake(t, fakeOptions{plain: true})
	f.handle("/rest/noauth/health", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://"+r.Host, http.StatusTemporaryRedirect) // as a daemon with useTLS answers plain HTTP
	})
	_, err := newClient(t, f.target(), tight).Status(t.Context())
	wantCode(t, err, fleet.CodeUnbelievable)
	wantNoKey(t, f)
}

func TestHostileEvents(t *testing.T) {
	for name, body := range map[string]string{
		"no list":                 `{}`,
		"no number":               `[{"type":"ConfigSaved"}]`,
		"a negative number":       `[{"id":-1,"type":"ConfigSaved"}]`,
		"no type":                 `[{"id":1}]`,
		"a number as text":        `[{"id":"1","type":"ConfigSaved"}]`,
		"a summary without data":  `[{"id":1,"type":"FolderSummary"}]`,
		"a summary of no folder":  `[{"id":1,"type":"FolderSummary","data":{"summary":{}}}]`,
		"a state of another type": `[{"id":1,"type":"StateChanged","data":{"folder":"a","to":7}}]`,
		"a folder with a zero":    `[{"id":1,"type":"StateChanged","data":{"folder":"a\u0000","to":"idle"}}]`,
		"more than it can hold":   "[" + eventsOf(1001) + "]",
		"too deep": `[{"id":1,"type":"X","data":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) +
			`}]`,
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t, fakeOptions{})
			f.answer("/rest/events", body)
			_, err := newClient(t, f.target(), Limits{}).Events(t.Context(), 0, 0, 0)
			wantCode(t, err, fleet.CodeUnbelievable)
		})
	}
}

// Summaries that cannot be true cost what they say of their folder, and not the events beside them.
func TestSummariesThatAreNotBelieved(t *testing.T) {
	for name, summary := range map[string]string{
		"a negative count": `{"needBytes":-5}`,
		"negative errors":  `{"errors":-1}`,
		"10^300 bytes":     `{"globalBytes":1` + strings.Repeat("0", 300) + `}`,
		"8 EiB":            `{"globalBytes":9223372036854775807}`,
		"a fraction":       `{"needFiles":0.5}`,
		"a text":           `"x"`,
		"a long state":     `{"state":"` + strings.Repeat("idle", 100) + `"}`,
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := parseSummary("a", []byte(summary), &DefaultLimits); fleet.CodeOf(err) != fleet.CodeUnbelievable {
				t.Errorf("read alone: %v", err)
			}
			events, err := parseEvents([]byte(`[{"id":1,"type":"FolderSummary","data":{"folder":"a","summary":`+summary+`}},
				{"id":2,"type":"FolderSummary","data":{"folder":"b","summary":{"globalFiles":3}}}]`), &DefaultLimits)
			if err != nil || len(events) != 2 || events[0].Summary != nil || events[0].Error == "" ||
				events[1].Summary == nil || events[1].Summary.GlobalFiles != 3 {
				t.Errorf("read from events: %+v, %v", events, err)
			}
		})
	}
}

func TestLongTextsOfAFolderAreCut(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	summary, err := parseSummary("a", []byte(`{"state":"error","error":"a\u0000\n`+long+`","watchError":"`+long+
		`","stateChanged":"`+long+`","remoteSequence":{"`+long+`":1}}`), &DefaultLimits)
	if err != nil || len(summary.Error) != maxErrorBytes || len(summary.WatchError) != maxErrorBytes ||
		!strings.HasPrefix(summary.Error, "a  xxx") || !summary.StateChanged.IsZero() || summary.Indexes.Len() != 0 {
		t.Errorf("%v, error of %d bytes, %+.300v", err, len(summary.Error), summary)
	}
	items, count, err := parseFailedItems(
		[]byte(list(1300, `{"path":"`+long[:5000]+`","error":"`+long[:5000]+`"}`)[:12<<20] +
			`"}]`),
	)
	if err != nil || count < 1000 || len(items) == 0 || len(items) > maxItems {
		t.Errorf("%d items of %d, %v", len(items), count, err)
	}
	size := 0
	for _, item := range items {
		size += item.Size()
	}
	if size > maxItemsKept {
		t.Errorf("%d bytes of items are kept", size)
	}
}

// eventsOf are so many small ones.
func eventsOf(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(`{"id":%d,"type":"DeviceConnected","data":{"id":"x"}}`, i+1))
	}
	return strings.Join(all, ",")
}

func list(n int, member string) string { return "[" + strings.Repeat(member+",", n-1) + member + "]" }

func TestTheLargestAnswersOfHealthyDaemonsAreBelieved(t *testing.T) {
	many := list(40_000, `{"path":"a/long/way/to/{some},[file]","error":"permission denied"}`)
	offers := list(
		5000,
		`{"deviceID":"P56IOI7-MZJNU2Y-IQGDREY-DM2MGTI-MGL3BXN-PQ6W5BM-TBBZ4TJ-XZWICQ2","folderID":"abcde-fghij"}`,
	)
	events, err := parseEvents([]byte(`[`+eventsOf(995)+`,
		{"id":996,"type":"ConfigSaved","data":{"devices":`+list(50_000, `{"deviceID":"P56IOI7","addresses":["dynamic"],"paused":false}`)+`}},
		{"id":997,"type":"FolderErrors","data":{"folder":"a","errors":`+many+`}},
		{"id":998,"type":"FolderErrors","data":{"folder":"a","errors":null}},
		{"id":999,"type":"PendingFoldersChanged","data":{"removed":[{"folderID":"a"}]}},
		{"id":1000,"type":"PendingFoldersChanged","data":{"added":`+offers+`}}]`), &DefaultLimits)
	if err != nil || len(events) != 1000 {
		t.Fatalf("%d events, %v", len(events), err)
	}
	first := fleet.FailedItem{Path: "a/long/way/to/{some},[file]", Text: "permission denied"}
	if e := events[996]; e.Failed != 40_000 || len(e.Items) != maxItems || e.Items[0] != first {
		t.Errorf("%d items failed, of which %d are told: %+v", e.Failed, len(e.Items), e.Items)
	}
	if e := events[997]; e.Failed != 0 || e.Items != nil {
		t.Errorf("without errors: %+v", e)
	}
	if got := string(events[998].Data); got != `{"removed":[{"folderID":"a"}]}` || events[999].Data != nil {
		t.Errorf("of what is pending, %q and %d bytes are kept", got, len(events[999].Data))
	}
}

// Nothing in an answer takes many times its own size, whether while it is read or afterwards.
func TestEventsThatWouldGrowInMemory(t *testing.T) {
	const n = 1_900_000
	for name, body := range map[string]string{
		"errors of a folder": `[{"id":1,"type":"FolderErrors","data":{"folder":"a","errors":` + list(n, "{}") + `}}]`,
		"lists of errors": `[{"id":1,"type":"FolderErrors","data":{"folder":"a"` +
			strings.Repeat(`,"errors":[{},{}]`, 300_000) + `}}]`,
		"what is pending":      `[{"id":1,"type":"PendingDevicesChanged","data":{"added":` + list(n, "{}") + `}}]`,
		"data before the type": `[{"id":1,"data":{"added":` + list(n, "{}") + `},"type":"DeviceConnected"}]`,
		"tiny events":          list(n/2, `{"id":1,"type":"a"}`),
	} {
		t.Run(name, func(t *testing.T) {
			answer := []byte(body)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			events, _ := parseEvents(answer, &DefaultLimits) // refused or not
			runtime.ReadMemStats(&after)
			if allocated := int64(after.TotalAlloc - before.TotalAlloc); allocated > 1<<20+int64(len(answer)) {
				t.Errorf("%d KiB became %d KiB", len(answer)>>10, allocated>>10)
			}
			kept := 0
			for _, e := range events {
				kept += len(e.Data)
			}
			if kept > pendingBytes {
				t.Errorf("%d KiB of %d KiB are kept", kept>>10, len(answer)>>10)
			}
		})
	}
}

func TestManyBigAnswersAreReadAFewAtATime(t *testing.T) {
	const clients, slots, size = 8, 2, 3 << 20
	f := newFake(t, fakeOptions{})
	f.handle("/rest/config", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"a":"`+strings.Repeat("x", size)+`"}`)
	})
	big := make(chan struct{}, slots)
	errs := make(chan error, clients)
	for range clients {
		c := New(f.target(), Options{BigAnswers: big})
		t.Cleanup(c.Close)
		go func() {
			body, err := c.Config(t.Context())
			if err == nil && len(body) != size+8 {
				err = fmt.Errorf("%d bytes", len(body))
			}
			errs <- err
		}()
	}
	for range clients {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	// A held slot holds up who has a big answer, for no longer than its context.
	for range slots {
		big <- struct{}{}
	}
	c := newClient(t, f.target(), Limits{})
	if _, err := c.Status(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.big = big
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := c.Config(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v while no slot was free", err)
	}
}

func TestAPeerThatNeverShakesHands(t *testing.T) {
	address := acceptAll(t, listen(t), func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
	c := newClient(t, Target{Device: newFake(t, fakeOptions{}).ID, Address: address, Introduced: fleet.ByPerson},
		Limits{Handshake: 200 * time.Millisecond})
	_, err := c.Status(t.Context())
	wantCode(t, err, fleet.CodeUnavailable)
}

func TestNothingThere(t *testing.T) {
	l := listen(t)
	address := l.Addr().String()
	_ = l.Close()
	for _, address := range []string{address, "no-such-host.invalid:8384"} {
		_, err := newClient(t, Target{Address: address, Introduced: fleet.ByPerson}, Limits{}).Status(t.Context())
		if e := wantCode(t, err, fleet.CodeUnavailable); !contains(e.Message, address) {
			t.Errorf("%q does not name %s", e.Message, address)
		}
	}
}

func TestNoGoroutineOutlivesItsCall(t *testing.T) {
	f := newFake(t, fakeOptions{})
	c := newClient(t, f.target(), Limits{})
	if _, err := c.Status(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.CloseIdle()
	before := runtime.NumGoroutine()
	f.handle("/rest/events", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	for range 100 {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		_, _ = c.Events(ctx, 0, 0, time.Minute)
		_, _ = c.Version(t.Context())
		cancel()
	}
	c.Close()
	deadline := time.After(time.Minute)
	for runtime.NumGoroutine() > before+20 { // of a hundred rounds: the server needs a moment
		select {
		case <-deadline:
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// deadlines remembers what was set.
type deadlines struct {
	net.Conn
	read time.Time
}

func (d *deadlines) SetReadDeadline(t time.Time) error { d.read = t; return nil }

func TestTheRateOfABodyCountsFromItsFirstByte(t *testing.T) {
	l := Limits{Grace: 10 * time.Second, Body: time.Minute, MinRate: 1000}
	conn, began := &deadlines{}, time.Now().Add(-time.Hour)
	p := &pacedReader{clock: conn, body: strings.NewReader(strings.Repeat("x", 200_000)), wait: 50 * time.Second,
		began: began, limits: &l}
	read := func(n int) { _, _ = io.ReadFull(p, make([]byte, n)) }
	read(1)
	if want := began.Add(time.Minute); !conn.read.Equal(want) {
		t.Fatalf("the first byte of a poll may come until %s, want its wait and the grace, %s", conn.read, want)
	}
	if p.began.Before(began.Add(time.Hour)) {
		t.Fatal("the clock did not start with the first byte")
	}
	read(5000)
	read(1)
	if want := p.began.Add(15001 * time.Millisecond); !conn.read.Equal(want) {
		t.Fatalf("after 5,001 bytes the deadline is %s, want %s", conn.read, want)
	}
	read(150_000)
	read(1)
	if want := p.began.Add(time.Minute); !conn.read.Equal(want) {
		t.Fatalf("after 155,002 bytes the deadline is %s, want the whole body's %s", conn.read, want)
	}
}
