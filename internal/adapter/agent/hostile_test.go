package agent

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"muster/internal/adapter/tunnel"
	"muster/test/wait"
)

// safeBuffer is written by a log and read by a test.
type safeBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func TestWhatIsNotOnTheListNeverReachesTheDaemon(t *testing.T) {
	t.Parallel()
	d, m := newFakeDaemon(t, nil), newFakeManager(t, tunnel.ALPN)
	var log safeBuffer
	a := started(t, d, m, func(o *Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	a.told.limit.SetLimit(1e9)
	c := m.accept()
	for _, one := range []struct{ method, target string }{
		{"GET", "/"}, {"GET", "/rest"}, {"GET", "/rest/"}, {"GET", "/index.html"}, {"GET", "/metrics/"},
		{"GET", "/rest/metrics"}, {"GET", "/system/status"}, {"GET", "/rest/system/browse?current=/"},
		{"GET", "/rest/debug/support"},
		{"POST", "/rest/system/shutdown"}, {"PUT", "/rest/system/upgrade"},
		{"POST", "/rest/system/upgrade?to=x"}, {"POST", "/rest/system/reset"},
		{"GET", "/rest/db/override?folder=x"}, {"GET", "/rest/db/browse?folder=x"}, {"POST", "/rest/db/prio?folder=x&file=y"},
		{"GET", "/rest/db/need?folder=x"}, {"GET", "/rest/db/need?folder=x&perpage=1001"},
		{"GET", "/rest/folder/errors?folder=x&perpage=0"}, {"GET", "/rest/db/remoteneed?folder=x&device=y&perpage=-1"},
		{"POST", "/rest/system/error"}, {"POST", "/rest/system/config"}, {"DELETE", "/rest/config"},
		{"PATCH", "/rest/config"}, {"DELETE", "/rest/config/gui"}, {"POST", "/rest/noauth/auth/password"},
		{"HEAD", "/rest/system/status"}, {"OPTIONS", "/rest/config"}, {"TRACE", "/rest/config"}, {"get", "/rest/config"},
		{"GET", "/rest/../rest/config"}, {"GET", "/rest/system/../config"}, {"GET", "/rest/./config"},
		{"GET", "/rest//config"},
		{"GET", "/rest/config/"}, {"GET", "/REST/config"}, {"GET", "/rest/Config"},
		{"PUT", "/rest/config/devices/%2e%2e"}, {"PUT", "/rest/config/devices/a%2Fb"}, {"PUT", "/rest/config/devices/%2f"},
		{"DELETE", "/rest/config/folders/.."}, {"DELETE", "/rest/config/folders/"}, {"PATCH", "/rest/config/devices/x/y"},
		{"GET", "/rest/%2e%2e/config"}, {"GET", "/rest%2fconfig"}, {"GET", "/rest/config%00"},
		{"GET", "/rest/config?x=1"}, {"GET", "/rest/db/status?folder=a&folder=b"}, {"GET", "/rest/db/status?folder=%zz"},
		{"GET", "/rest/events?timeout=86400"}, {"GET", "/rest/events?timeout=-1"}, {"GET", "/rest/events?timeout=x"},
		{"GET", "/rest/config;x"}, {"GET", "/rest/events?since=1;limit=2"}, {"GET", "/rest/" + strings.Repeat("a", 10_000)},
		{"POST", tunnel.HelloPath}, {"GET", tunnel.StatusPath}, {"GET", "/agent/v1/../../rest/config"},
	} {
		if status, code, text := c.ask(one.method, one.target, nil, nil); status != http.StatusForbidden ||
			code != tunnel.ErrorForbidden {
			t.Errorf("%s %s: got %d %s: %s", one.method, shortened(one.target), status, code, text)
		}
	}
	if got := d.requests(); len(got) > 0 {
		t.Errorf("the daemon was asked %+v", got)
	}
	for _, want := range []string{"/rest/system/shutdown", "a%2Fb", "PATCH"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log does not name %s", want)
		}
	}
	if strings.Contains(log.String(), "key one") {
		t.Error("the log has the daemon's key")
	}
}

// A manager that told one thing and another in turn, or wrote without end, filled the disk of the agent's machine.
func TestAManagerFilledTheAgentsLog(t *testing.T) {
	t.Parallel()
	d, m := newFakeDaemon(t, nil), newFakeManager(t, tunnel.ALPN)
	var log safeBuffer
	a := started(t, d, m, func(o *Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	a.told.limit.SetLimit(0)
	a.forwarder.writes.limit.SetLimit(0)
	c := m.accept()
	long := strings.Repeat("ä", 2000)
	for n := range 200 {
		c.tell(tunnel.Status{State: tunnel.State(long), Message: fmt.Sprint(n, long), Hint: long})
		c.ask("PATCH", "/rest/config/options", strings.NewReader("{}"), nil)
	}
	a.told.limit.SetLimit(1e9)
	c.ask("GET", "/rest/system/browse", nil, nil)
	text := log.String()
	if statuses := strings.Count(text, "how it stands"); statuses != 20 {
		t.Errorf("%d statuses are logged", statuses)
	}
	if writes := strings.Count(text, "PATCH"); writes != 100 {
		t.Errorf("%d writes are logged", writes)
	}
	if !strings.Contains(text, "left out\" count=180\n") {
		t.Error("the log does not say how many statuses were left out")
	}
	if len(text) > 64<<10 || strings.Contains(text, "\\x") {
		t.Errorf("the log has %d bytes, or half a character", len(text))
	}
	if now := a.Report(); len(now.Message)+len(now.Hint)+len(now.State) > 700 {
		t.Errorf("the report has %d bytes of message", len(now.Message))
	}
}

// rawManager speaks HTTP/2 frame by frame.
type rawManager struct {
	t      testing.TB
	conn   net.Conn
	framer *http2.Framer
	header bytes.Buffer
	coder  *hpack.Encoder
	next   uint32
	mu     sync.Mutex
	status map[uint32]string // of streams; "reset" too
	ended  chan struct{}
}

func newRawManager(t testing.TB, conn net.Conn) *rawManager {
	t.Helper()
	r := &rawManager{t: t, conn: conn, framer: http2.NewFramer(conn, conn), next: 1, status: map[uint32]string{},
		ended: make(chan struct{})}
	r.framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	r.coder = hpack.NewEncoder(&r.header)
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	if err := r.framer.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	go r.read()
	return r
}

func (r *rawManager) read() {
	defer close(r.ended)
	for {
		frame, err := r.framer.ReadFrame()
		if err != nil {
			return
		}
		r.mu.Lock()
		switch f := frame.(type) {
		case *http2.MetaHeadersFrame:
			r.status[f.StreamID] = f.PseudoValue("status")
		case *http2.RSTStreamFrame:
			r.status[f.StreamID] = "reset"
		}
		r.mu.Unlock()
	}
}

// open begins a request with these fields, and gives its stream.
func (r *rawManager) open(end bool, fields ...string) (uint32, error) {
	r.header.Reset()
	for i := 0; i < len(fields); i += 2 {
		_ = r.coder.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	id := r.next
	r.next += 2
	return id, r.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: r.header.Bytes(),
		EndHeaders: true, EndStream: end})
}

// wait gives what became of a stream, "closed" where the connection ended.
func (r *rawManager) wait(id uint32) string {
	deadline := time.Now().Add(testLimit)
	for tick := time.NewTicker(5 * time.Millisecond); ; <-tick.C {
		r.mu.Lock()
		status := r.status[id]
		r.mu.Unlock()
		if status != "" {
			return status
		}
		select {
		case <-r.ended:
			return "closed"
		default:
		}
		if time.Now().After(deadline) {
			r.t.Fatal("the agent does not answer")
		}
	}
}

func TestAbsoluteAddressesUpgradesAndTunnelsAreRefused(t *testing.T) {
	t.Parallel()
	d, other := newFakeDaemon(t, nil), newFakeDaemon(t, nil)
	host := other.server.Listener.Addr().String()
	raw := func(log io.Writer) *rawManager {
		m := newFakeManager(t, tunnel.ALPN)
		started(t, d, m, func(o *Options) { o.Log = slog.New(slog.NewTextHandler(log, nil)) })
		return newRawManager(t, m.accept().conn)
	}
	get := func(path string, more ...string) []string {
		return append([]string{":method", "GET", ":scheme", "http", ":authority", host, ":path", path}, more...)
	}
	for name, fields := range map[string][]string{
		"absolute":         get("http://" + host + "/rest/config"),
		"no slash":         get("rest/config"),
		"asterisk":         {":method", "OPTIONS", ":scheme", "http", ":authority", host, ":path", "*"},
		"connect":          {":method", "CONNECT", ":authority", host},
		"extended connect": {":method", "CONNECT", ":protocol", "websocket", ":scheme", "http", ":path", "/rest/config"},
		"upgrade":          get("/rest/config", "connection", "upgrade", "upgrade", "websocket"),
		"transfer coding":  get("/rest/config", "transfer-encoding", "chunked"),
		"line end":         get("/rest/config\r\nHost: evil"),
		"not escaped":      get("/rest/config%zz"),
		"two slashes":      get("//rest/config"),
		"upper case":       get("/rest/config", "X-Upper", "x"),
	} {
		var log safeBuffer
		r := raw(&log)
		id, err := r.open(true, fields...)
		if err != nil {
			t.Fatal(err)
		}
		switch status := r.wait(id); status {
		case "200":
			t.Errorf("%s: it was answered", name)
		case "400": // the library answers, and tells its handler nothing
			continue
		case "closed", "reset", "403", "404", "405", "431", "501":
		default:
			t.Errorf("%s: got %s", name, status)
		}
		malformed := name == "line end" || name == "upper case" // the library reads no field of those
		if !malformed && !strings.Contains(log.String(), "not answered by the daemon") {
			t.Errorf("%s: it is not logged: %s", name, log.String())
		}
	}
	// Another host's name changes nothing: the daemon is asked by its own.
	r := raw(io.Discard)
	id, err := r.open(true, get("/rest/config")...)
	if err != nil {
		t.Fatal(err)
	}
	if status := r.wait(id); status != "200" {
		t.Errorf("with another authority: got %s", status)
	}
	if got := d.requests(); len(got) != 1 || got[0].host != d.server.Listener.Addr().String() {
		t.Errorf("the daemon was asked %+v", got)
	}
	if len(other.requests()) > 0 {
		t.Error("another host was reached")
	}
}

// heap is what is in use after what is not was freed.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}

// endless gives a number of bytes without having them.
type endless struct{ left int64 }

func (e *endless) Read(p []byte) (int, error) {
	if e.left <= 0 {
		return 0, io.EOF
	}
	n := min(int64(len(p)), e.left)
	e.left -= n
	return int(n), nil
}

func TestLargeBodiesOfBothSidesTakeNoMemory(t *testing.T) {
	const gigabyte = 1 << 30
	d := newFakeDaemon(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			_, _ = io.Copy(w, &endless{gigabyte})
		}
	})
	m := newFakeManager(t, tunnel.ALPN)
	started(t, d, m, nil)
	c := m.accept()
	before := heap()
	most := uint64(0)
	for name, body := range map[string]io.Reader{
		"without a length": &endless{gigabyte},
		"with a length":    struct{ io.Reader }{&endless{gigabyte}},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://agent/rest/config", body)
		if err != nil {
			t.Fatal(err)
		}
		if name == "with a length" {
			r.ContentLength = gigabyte
		}
		answer, err := c.Do(r)
		if err == nil {
			answer.Body.Close()
			if answer.StatusCode != http.StatusRequestEntityTooLarge {
				t.Errorf("%s: got %d", name, answer.StatusCode)
			}
		}
		most = max(most, heap())
	}
	for _, got := range d.requests() {
		if got.body > 16<<20 {
			t.Errorf("the daemon got %d bytes", got.body)
		}
	}
	if status, _, text := c.ask(http.MethodGet, "/rest/system/status", nil, nil); status != 0 {
		t.Errorf("an answer without end came as %d with %d bytes", status, len(text))
	}
	most = max(most, heap())
	const bound = 16 << 20
	if most > before+bound {
		t.Errorf("memory in use went from %d to %d bytes", before, most)
	}
	if status, _, text := c.ask(http.MethodPatch, "/rest/config/options", strings.NewReader("{}"), nil); status != 200 {
		t.Errorf("afterwards: got %d: %s", status, text)
	}
}

// A manager that opens streams and resets them at once has the server do work for nothing (CVE-2023-44487).
func TestThousandsOfStreamsTakeNoMemory(t *testing.T) {
	release := make(chan struct{})
	var asked, most atomic.Int64 // requests of the daemon at a time
	d := newFakeDaemon(t, func(w http.ResponseWriter, r *http.Request) {
		if now := asked.Add(1); now > most.Load() {
			most.Store(now)
		}
		defer asked.Add(-1)
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	m := newFakeManager(t, tunnel.ALPN)
	started(t, d, m, nil)
	defer close(release)
	for name, reset := range map[string]bool{"held open": false, "reset at once": true} {
		r := newRawManager(t, m.accept().conn)
		before, goroutines := heap(), runtime.NumGoroutine()
		open := func() (uint32, error) {
			return r.open(true, ":method", "GET", ":scheme", "http", ":authority", "x", ":path", "/rest/events?since=0")
		}
		if _, err := open(); err != nil { // The connection may end with what follows, before any of that is passed on.
			t.Fatal(err)
		}
		wait.For(t, "the daemon is asked", func() bool { return asked.Load() > 0 })
		for range 5_000 {
			id, err := open()
			if err == nil && reset {
				err = r.framer.WriteRSTStream(id, http2.ErrCodeCancel)
			}
			if err != nil {
				break // the agent closed the connection
			}
		}
		if after, now := heap(), runtime.NumGoroutine(); after > before+16<<20 || now > goroutines+20*maxStreams {
			t.Errorf("%s: %d bytes became %d, %d goroutines %d", name, before, after, goroutines, now)
		}
		r.conn.Close()
	}
	if n := most.Load(); n == 0 || n > 4*maxStreams { // what was reset may be open a moment longer
		t.Errorf("the daemon was asked %d times at once", n)
	}
	m.accept().hello() // it comes back
}
