package tunnel

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"muster/internal/fleet"
)

// rawAgent speaks HTTP/2 frame by frame.
type rawAgent struct {
	*http2.Framer
	conn  net.Conn
	ended chan struct{} // closed when the manager has closed the connection

	mu      sync.Mutex // guards what is written, and encoder
	text    bytes.Buffer
	encoder *hpack.Encoder
}

// misbehaviour is what an agent does with a request of the manager, other than for its hello and status.
type misbehaviour func(a *rawAgent, stream uint32)

// raw connects an agent whose hello is fine, unless instead is given, and which does what it likes with the rest.
func (m *manager) raw(hello, rest misbehaviour) *rawAgent {
	m.t.Helper()
	conn := m.dial(certificateOf(m.t))
	a := m.rawOn(conn, hello, rest)
	return a
}

func (m *manager) rawOn(conn net.Conn, hello, rest misbehaviour) *rawAgent {
	m.t.Helper()
	a := &rawAgent{Framer: http2.NewFramer(conn, conn), conn: conn, ended: make(chan struct{})}
	a.encoder = hpack.NewEncoder(&a.text)
	a.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	a.AllowIllegalWrites = true
	if _, err := io.ReadFull(conn, make([]byte, len(http2.ClientPreface))); err != nil {
		m.t.Fatal(err)
	}
	if err := a.WriteSettings(); err != nil {
		m.t.Fatal(err)
	}
	go a.serve(hello, rest)
	return a
}

func (a *rawAgent) serve(hello, rest misbehaviour) {
	defer close(a.ended)
	defer a.conn.Close()
	for {
		frame, err := a.ReadFrame()
		if err != nil {
			return
		}
		switch f := frame.(type) {
		case *http2.PingFrame:
			if !f.IsAck() {
				a.mu.Lock()
				_ = a.WritePing(true, f.Data)
				a.mu.Unlock()
			}
		case *http2.SettingsFrame:
			if !f.IsAck() {
				a.mu.Lock()
				_ = a.WriteSettingsAck()
				a.mu.Unlock()
			}
		case *http2.MetaHeadersFrame:
			switch path := f.PseudoValue("path"); {
			case path == HelloPath && hello == nil:
				a.answer(f.StreamID, "{}")
			case path == HelloPath:
				go hello(a, f.StreamID)
			case path == StatusPath:
				a.answer(f.StreamID, "")
			default:
				go rest(a, f.StreamID)
			}
		}
	}
}

func (a *rawAgent) headers(stream uint32, end bool, fields ...string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.text.Reset()
	for i := 0; i+1 < len(fields); i += 2 {
		_ = a.encoder.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	block, first := a.text.Bytes(), true
	for {
		piece := block[:min(len(block), 16<<10)]
		block = block[len(piece):]
		var err error
		if first {
			err = a.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: piece, EndStream: end,
				EndHeaders: len(block) == 0})
		} else {
			err = a.WriteContinuation(stream, len(block) == 0, piece)
		}
		if first = false; err != nil || len(block) == 0 {
			return
		}
	}
}

func (a *rawAgent) data(stream uint32, end bool, p []byte) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.WriteData(stream, end, p)
}

func (a *rawAgent) answer(stream uint32, text string) {
	a.headers(stream, false, ":status", "200")
	_ = a.data(stream, true, []byte(text))
}

// endless sends until the connection is closed.
func endless(send func() error) {
	for send() == nil {
	}
}

func (a *rawAgent) wantEnd(t testing.TB) {
	t.Helper()
	select {
	case <-a.ended:
	case <-time.After(within):
		t.Fatal("the connection is still open")
	}
}

// What no agent does ends its tunnel, with a reason, and nothing else.
func TestAHostileAgentCostsOnlyItself(t *testing.T) {
	t.Parallel()
	log.SetOutput(io.Discard) // HTTP/2 complains there; the server's own goes to its log at the level debug
	locked := func(a *rawAgent, write func() error) func() error {
		return func() error {
			a.mu.Lock()
			defer a.mu.Unlock()
			return write()
		}
	}
	for name, test := range map[string]struct {
		hello misbehaviour
		want  string // the reason that is counted; on a slow machine the hello is late before a flood is large
	}{
		"a flood of pings": {func(a *rawAgent, _ uint32) {
			endless(locked(a, func() error { return a.WritePing(true, [8]byte{1}) }))
		}, "flood or protocol"},
		"a flood of settings": {func(a *rawAgent, _ uint32) {
			endless(locked(a, func() error { return a.WriteSettingsAck() }))
		}, ""},
		"a flood of unknown frames": {func(a *rawAgent, _ uint32) {
			endless(locked(a, func() error { return a.WriteRawFrame(0xbe, 0, 0, make([]byte, 1000)) }))
		}, "flood or protocol"},
		"a flood of window updates": {func(a *rawAgent, _ uint32) {
			endless(locked(a, func() error { return a.WriteWindowUpdate(0, 1) }))
		}, ""},
		"a flood of resets": {func(a *rawAgent, s uint32) {
			endless(locked(a, func() error { return a.WriteRSTStream(s, http2.ErrCodeCancel) }))
		}, ""},
		"100,000 streams of its own": {func(a *rawAgent, _ uint32) {
			for n := range uint32(100_000) {
				a.headers(2*n+2, false, ":status", "200")
			}
		}, ""},
		"a promise": {func(a *rawAgent, s uint32) {
			_ = a.WritePushPromise(http2.PushPromiseParam{StreamID: s, PromiseID: 2, EndHeaders: true})
		}, "protocol"},
		"a continuation of nothing": {func(a *rawAgent, s uint32) { _ = a.WriteContinuation(s, true, nil) }, "protocol"},
		"data without a header":     {func(a *rawAgent, s uint32) { _ = a.data(s, true, []byte("{}")) }, "protocol"},
		"data of no stream":         {func(a *rawAgent, _ uint32) { _ = a.data(0, true, []byte("{}")) }, "protocol"},
		"an endless hello": {func(a *rawAgent, s uint32) {
			a.headers(s, false, ":status", "200")
			endless(func() error { return a.data(s, false, make([]byte, 8<<10)) })
		}, ""},
		"a header without end": {func(a *rawAgent, s uint32) {
			a.headers(s, false, ":status", "200", "x", strings.Repeat("x", 4<<20))
		}, ""},
		"thousands of provisional answers": {func(a *rawAgent, s uint32) {
			for range 100_000 {
				a.headers(s, false, ":status", "103", "link", strings.Repeat("x", 1000))
			}
		}, ""},
		"no HTTP/2": {func(a *rawAgent, _ uint32) {
			_, _ = io.WriteString(a.conn, strings.Repeat("HTTP/1.1 200 OK\r\n", 99))
		}, "protocol"},
		"a hello of 100 levels": {func(a *rawAgent, s uint32) {
			a.answer(s, strings.Repeat(`{"name":`, 1000)+`""`+strings.Repeat("}", 1000))
		}, "protocol"},
		"a hello of another type": {func(a *rawAgent, s uint32) { a.answer(s, `{"apiPort":"none"}`) }, "protocol"},
		"an error":                {func(a *rawAgent, s uint32) { a.headers(s, true, ":status", "500") }, "protocol"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := startManager(t, accept)
			other := certificateOf(t)
			m.agent(other, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "fine") })
			bystander := m.untilAccepted(idOf(other))
			m.raw(test.hello, nil).wantEnd(t)
			m.until("counted", func() bool {
				ended := int64(0)
				for _, n := range m.Counts().Ended {
					ended += n
				}
				return ended == 1
			})
			n := int64(0)
			for reason := range strings.SplitSeq(test.want, " or ") {
				n += m.Counts().Ended[reason]
			}
			if test.want != "" && n != 1 {
				t.Errorf("want it to end by %s, got %v", test.want, m.Counts().Ended)
			}
			if _, text, err := get(t, bystander, "/rest/"); err != nil || text != "fine" {
				t.Errorf("another device answers %q, %v", text, err)
			}
		})
	}
}

// An agent that resets every request, at any moment of it, takes no place and no memory.
func TestResetsTakeNoPlaces(t *testing.T) {
	t.Parallel()
	m := startManager(t, accept)
	conn := m.dial(certificateOf(t))
	turn := make(chan int, 1)
	m.rawOn(conn, nil, func(a *rawAgent, s uint32) {
		if n := <-turn; n%3 > 0 {
			a.headers(s, false, ":status", "200")
			if n%3 > 1 {
				_ = a.data(s, false, []byte("half"))
			}
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		_ = a.WriteRSTStream(s, http2.ErrCodeInternal)
	})
	var tunnel *Tunnel
	m.until("accepted", func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		if len(m.asked) == 0 {
			return false
		}
		var err error
		tunnel, err = m.Connected(m.asked[0].Device)
		return err == nil
	})
	for n := range 10 * maxStreams {
		turn <- n
		if _, _, err := get(t, tunnel, "/rest/"); err == nil {
			t.Fatal("a request that was reset is answered")
		}
	}
	if len(tunnel.streams) != 0 {
		t.Errorf("%d places are still taken", len(tunnel.streams))
	}
}

func TestThoseThatAreNotAcceptedAreBounded(t *testing.T) {
	t.Parallel()
	m := startManager(t, haveWaiting)
	var certificate tls.Certificate
	var last *fakeAgent
	for range 6 {
		certificate = certificateOf(t)
		last = m.agent(certificate, nil)
		last.wantState(t, Waiting)
	}
	one := m.agent(certificateOf(t), nil)
	one.wantEnd(t)
	m.until("counted", func() bool { return m.Counts().Ended["crowded"] == 1 })
	m.Tell(idOf(certificate), Status{State: Accepted})
	last.wantState(t, Accepted) // it is told after it left its place
	m.agent(certificateOf(t), nil).wantState(t, Waiting)
}

// The ID is the digest of the certificate: its dates say nothing, and no other certificate is the device.
func TestACertificateIsItsDevice(t *testing.T) {
	t.Parallel()
	m := startManager(t, haveWaiting)
	ended, other := newCertificate(t, time.Now().AddDate(-1, 0, 0)), certificateOf(t)
	m.agent(ended, nil).wantState(t, Waiting)
	m.agent(other, nil).wantState(t, Waiting)
	for _, certificate := range []fleet.DeviceID{idOf(ended), idOf(other)} {
		if info, there := m.Info(certificate); !there || info.Status.State != Waiting {
			t.Errorf("%s: got %+v", certificate.Short(), info)
		}
	}
	m.Tell(idOf(ended), Status{State: Accepted})
	m.untilAccepted(idOf(ended))
	if _, err := m.Connected(idOf(other)); err == nil {
		t.Error("one certificate gives the rights of another")
	}
}

// The answers that an agent gives itself have a meaning of their own.
func TestAnswersOfTheAgentItself(t *testing.T) {
	t.Parallel()
	m, certificate := startManager(t, accept), certificateOf(t)
	m.agent(certificate, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(ErrorHeader, r.URL.Query().Get("code"))
		http.Error(w, "because\u202e of that", http.StatusForbidden)
	})
	tunnel := m.untilAccepted(idOf(certificate))
	for _, test := range []struct {
		method, code string
		want         fleet.Code
	}{
		{http.MethodPut, ErrorObserve, fleet.CodeRejected}, {http.MethodPut, ErrorForbidden, fleet.CodeRejected},
		{http.MethodGet, ErrorForbidden, fleet.CodeNotFound}, {http.MethodPut, ErrorTooLarge, fleet.CodeRejected},
		{http.MethodGet, ErrorTooLarge, fleet.CodeUnbelievable}, {http.MethodGet, ErrorUnreachable, fleet.CodeUnavailable},
		{http.MethodPut, ErrorUnreachable, fleet.CodeUnavailable}, {http.MethodGet, "new", fleet.CodeUnbelievable},
	} {
		request, err := http.NewRequestWithContext(t.Context(), test.method, "https://agent/rest/x?code="+test.code, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := tunnel.RoundTrip(request)
		if err == nil {
			_ = response.Body.Close()
		}
		var told *fleet.Error
		if !errors.As(err, &told) || told.Code != test.want || told.Hint == "" ||
			!strings.HasSuffix(told.Message, ": because of that") {
			t.Errorf("%s %s: got %#v", test.method, test.code, err)
		}
	}
	if len(tunnel.streams) != 0 {
		t.Errorf("%d places are still taken", len(tunnel.streams))
	}
}

func TestAHelloIsKeptShortAndPrintable(t *testing.T) {
	t.Parallel()
	var hello Hello
	text := `{"name":"` + strings.Repeat("ä\\u0007", 5000) + `","apiPort":99999,"key":"` +
		strings.Repeat("k", 5000) + `"}`
	if err := json.Unmarshal([]byte(text), &hello); err != nil {
		t.Fatal(err)
	}
	if got := hello.bounded(); len(got.Name) > maxHelloText || strings.Trim(got.Name, "ä") != "" || got.APIPort != 0 ||
		got.Key != "" {
		t.Errorf("got %+v", got)
	}
}

// Answers that nobody reads fill the windows of their tunnel and nothing more.
func TestAnswersThatAreNotReadTakeBoundedMemory(t *testing.T) {
	m, certificate := startManager(t, accept), certificateOf(t)
	m.agent(certificate, func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := w.Write(make([]byte, 64<<10)); err != nil {
				return
			}
		}
	})
	tunnel := m.untilAccepted(idOf(certificate))
	before := heap()
	var bodies []io.Closer
	for range maxStreams {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://agent/rest/", nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := tunnel.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		bodies = append(bodies, response.Body)
	}
	if grown := heap() - before; grown > 8<<20 {
		t.Errorf("%d KiB were taken, want at most the windows and the far end's buffers", grown>>10)
	}
	for _, body := range bodies {
		_ = body.Close()
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse) //nolint:gosec // far from its end
}
