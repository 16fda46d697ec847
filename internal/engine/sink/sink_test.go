package sink

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"muster/internal/fleet"
	"muster/test/wait"
)

// memory is a store with one sink.
type memory struct {
	mu      sync.Mutex
	sinks   []fleet.Sink
	cursor  fleet.SinkCursor
	refused []fleet.SinkRefusal
	log     []fleet.LogEntry
	audit   []fleet.AuditEntry
}

func (m *memory) Sinks() []fleet.Sink {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.sinks
}

func (m *memory) SinkCursors(context.Context) (map[string]fleet.SinkCursor, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	cursors := map[string]fleet.SinkCursor{}
	for _, one := range m.sinks {
		cursors[one.Name] = m.cursor
	}
	return cursors, nil
}

func (m *memory) SinkWaits(context.Context, int) (map[string]int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	waits := map[string]int64{}
	for _, one := range m.sinks {
		for _, e := range m.log {
			if e.Number > m.cursor.Log {
				waits[one.Name]++
			}
		}
	}
	return waits, nil
}

func (m *memory) AdvanceSink(_ context.Context, _ string, from fleet.SinkCursor, by fleet.SinkProgress) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cursor.Log != from.Log || m.cursor.Audit != from.Audit {
		return nil
	}
	c := &m.cursor
	c.Log, c.Audit, c.Sent, c.Dead = by.Log, by.Audit, c.Sent+by.Sent, c.Dead+int64(len(by.Refused))
	c.Lost, c.Gaps = c.Lost-by.Reported, c.Gaps+by.Reported
	m.refused = append(m.refused, by.Refused...)
	return nil
}

func (m *memory) LogEntries(_ context.Context, q fleet.LogQuery) (found []fleet.LogEntry, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range m.log {
		if e.Number > q.After && len(found) < q.Limit {
			found = append(found, e)
		}
	}
	return found, nil
}

func (m *memory) LogBounds(context.Context) (first, last int64, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.log) == 0 {
		return 0, 0, nil
	}
	return m.log[0].Number, m.log[len(m.log)-1].Number, nil
}

func (m *memory) Audit(_ context.Context, q fleet.AuditQuery) (found []fleet.AuditEntry, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !q.Oldest && len(m.audit) > 0 {
		return m.audit[len(m.audit)-1:], nil
	}
	for _, e := range m.audit {
		if e.ID > q.After && len(found) < q.Limit {
			found = append(found, e)
		}
	}
	return found, nil
}

// await waits until the cursor is as it should be.
func (m *memory) await(t *testing.T, want func(c fleet.SinkCursor) bool) {
	t.Helper()
	wait.Until(t, func() string {
		m.mu.Lock()
		defer m.mu.Unlock()
		if want(m.cursor) {
			return ""
		}
		return fmt.Sprintf("the cursor is %+v", m.cursor)
	})
}

// filled has a log of n entries of three devices, and as many entries of the audit.
func filled(kind fleet.SinkKind, address string, n int) *memory {
	m := &memory{sinks: []fleet.Sink{{Name: "one", Kind: kind, Address: address, Index: "muster-events",
		Streams: fleet.SinkStreams, Headers: map[string]fleet.Secret{"Authorization": fleet.NewSecret("Bearer key")}}}}
	for i := range int64(n) {
		m.log = append(m.log, fleet.LogEntry{
			Number: 10 + i,
			At:     time.UnixMilli(1e12 + i),
			Device: fleet.DeviceIDOf(
				[32]byte{byte(i % 3)},
			),
			Label:  "nas",
			Folder: "photos",
			Kind:   fleet.LogFolder,
			State:  "stopped",
			Reason: "the disk is gone",
		})
		m.audit = append(m.audit, fleet.AuditEntry{ID: 1 + i, At: time.UnixMilli(1e12 + i), Who: "anna", What: "device.put",
			Subject: "nas", Hash: fmt.Sprintf("%064d", i)})
	}
	return m
}

func runs(t *testing.T, m *memory, change ...func(*Options)) *Sinks {
	t.Helper()
	o := Options{Store: m, Folder: t.TempDir(), Log: slog.New(slog.DiscardHandler)}
	for _, c := range change {
		c(&o)
	}
	s := New(o)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Run(ctx) }()
	t.Cleanup(func() { stop(); <-done })
	return s
}

// unpacked returns the body of a request as sinks send it.
func unpacked(t *testing.T, r *http.Request) string {
	t.Helper()
	if r.Method != http.MethodPost || r.Header.Get("Content-Encoding") != "gzip" ||
		r.Header.Get("Authorization") != "Bearer key" {
		t.Errorf("the request is %s with %v", r.Method, r.Header)
	}
	zip, err := gzip.NewReader(r.Body)
	if err != nil {
		t.Error(err)
		return ""
	}
	text, err := io.ReadAll(zip)
	if err != nil {
		t.Error(err)
	}
	return string(text)
}

func idOf(t *testing.T, line string) string {
	t.Helper()
	var d document
	if err := json.Unmarshal([]byte(line), &d); err != nil || d.Event.ID == "" || d.At.IsZero() || d.Message == "" {
		t.Errorf("the line is %q: %v", line, err)
	}
	return d.Event.ID
}

// A receiver that fails, and one that is left alone as it asks, gets each entry in the end, in order.
func TestEachEntryArrivesAtAReceiverThatFails(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var got []string
	requests := 0
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		text := unpacked(t, r)
		if requests++; requests%2 == 1 {
			w.Header().Set("Retry-After", "1")
			http.Error(w, "not now", http.StatusServiceUnavailable)
			return
		}
		for line := range strings.Lines(text) {
			got = append(got, idOf(t, line))
		}
	}))
	t.Cleanup(receiver.Close)
	m := filled(fleet.SinkHTTP, receiver.URL+"/in", 700)
	s := runs(t, m)
	m.await(t, func(c fleet.SinkCursor) bool { return c.Log == 709 && c.Audit == 700 && c.Sent == 1400 })
	mu.Lock()
	defer mu.Unlock()
	last := map[byte]int{}
	for _, id := range got {
		if at, _, isLog := strings.Cut(id, "-"); isLog {
			n, _ := strconv.Atoi(at)
			of := id[len(id)-1]
			if n <= last[of] {
				t.Errorf("entry %d of a device came after %d", n, last[of])
			}
			last[of] = n
		}
	}
	if len(got) != 1400 {
		t.Errorf("%d entries arrived", len(got))
	}
	states, err := s.States(t.Context())
	if err != nil || len(states) != 1 || states[0].Waiting != 0 || states[0].Trouble != "" {
		t.Errorf("got %+v, %v", states, err)
	}
}

// An entry that a receiver does not take keeps no other one back, and is a dead letter. A batch that is too large for
// it is sent in parts.
func TestOneEntryThatIsRefusedKeepsNoOtherBack(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	got := map[string]int{}
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		text := unpacked(t, r)
		switch {
		case strings.Count(text, "\n") > 100:
			w.WriteHeader(http.StatusRequestEntityTooLarge)
			return
		case strings.Contains(text, `"sequence":42}`) && strings.Contains(text, "muster.sync"):
			http.Error(w, "this one is wrong", http.StatusBadRequest)
			return
		}
		for line := range strings.Lines(text) {
			if id := idOf(t, line); !strings.HasPrefix(id, "trial-") { // asks whether everything is refused
				got[id]++
			}
		}
	}))
	t.Cleanup(receiver.Close)
	m := filled(fleet.SinkHTTP, receiver.URL, 150)
	runs(t, m)
	m.await(t, func(c fleet.SinkCursor) bool { return c.Audit == 150 && c.Log == 159 && c.Dead == 1 && c.Sent == 299 })
	mu.Lock()
	defer mu.Unlock()
	if len(got) != 299 {
		t.Errorf("%d entries arrived", len(got))
	}
	if one := m.refused[0]; one.Number != 42 || one.Stream != fleet.StreamSync ||
		!strings.Contains(one.Reason, "this one is wrong") {
		t.Errorf("the dead letter is %+v", one)
	}
}

// The documents are in Elasticsearch once, however often they are sent; some are refused for now, and one for good.
func TestElasticsearchHasEachDocumentOnce(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	there := map[string]string{}
	asked := map[string]int{}
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.URL.Path != "/es/_bulk" || r.Header.Get("Content-Type") != "application/x-ndjson" {
			t.Errorf("the request is for %s, %v", r.URL, r.Header)
		}
		all := strings.Split(strings.TrimSuffix(unpacked(t, r), "\n"), "\n")
		var items []string
		for i := 0; i+1 < len(all); i += 2 {
			var action struct {
				Create struct {
					Index string `json:"_index"`
					ID    string `json:"_id"`
				}
			}
			if err := json.Unmarshal([]byte(all[i]), &action); err != nil || action.Create.Index != "muster-events" {
				t.Errorf("the action is %q: %v", all[i], err)
			}
			id := action.Create.ID
			if got := idOf(t, all[i+1]); got != id {
				t.Errorf("document %q has the ID %q", got, id)
			}
			asked[id]++
			status := http.StatusCreated
			switch {
			case strings.Contains(all[i+1], `"sequence":13}`):
				status = http.StatusBadRequest
			case asked[id] == 1 && len(asked)%3 == 0:
				status = http.StatusTooManyRequests
			case there[id] != "":
				status = http.StatusConflict
			default:
				there[id] = all[i+1]
			}
			items = append(items, fmt.Sprintf(`{"create":{"_id":%q,"status":%d,"error":{"type":"x"}}}`, id, status))
		}
		_, _ = fmt.Fprintf(w, `{"took":1,"errors":true,"items":[%s]}`, strings.Join(items, ","))
	}))
	t.Cleanup(receiver.Close)
	m := filled(fleet.SinkElastic, receiver.URL+"/es", 60)
	runs(t, m)
	m.await(t, func(c fleet.SinkCursor) bool { return c.Log == 69 && c.Audit == 60 })
	m.mu.Lock() // as after a crash before the cursor was stored
	m.cursor.Log, m.cursor.Audit, m.cursor.Sent = 40, 30, 0
	m.mu.Unlock()
	m.await(t, func(c fleet.SinkCursor) bool { return c.Log == 69 && c.Audit == 60 && c.Sent > 0 })
	mu.Lock()
	defer mu.Unlock()
	if len(there) != 118 || m.cursor.Dead != 2 {
		t.Errorf("%d documents are there, %d dead letters", len(there), m.cursor.Dead)
	}
}

// What answers every request with 200 is no Elasticsearch.
func TestAnAnswerThatNamesNoDocumentsIsTrouble(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{"a page": "<html>", "an error inside": `{"error":"no"}`, "nothing": ""} {
		receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, answer)
		}))
		m := filled(fleet.SinkElastic, receiver.URL, 1)
		s := New(Options{Store: m, Log: slog.New(slog.DiscardHandler)})
		if err := s.Try(t.Context(), m.sinks[0]); err == nil || !strings.Contains(err.Error(), "no Elasticsearch") {
			t.Errorf("%s: %v", name, err)
		}
		receiver.Close()
	}
}

// A receiver that is set up wrongly refuses everything. Nothing is passed over then, and people see why.
func TestASinkThatRefusesEverythingIsTroubleAndLosesNothing(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]fleet.SinkKind{
		`{"errors":true,"items":[{"create":{"status":403,"error":{"reason":"no right to write"}}}]}`: fleet.SinkElastic,
		`{"errors":true,"items":[{"create":{"status":400,"error":{"reason":"no such field"}}}]}`:     fleet.SinkElastic,
		"incorrect index": fleet.SinkHTTP,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if kind == fleet.SinkHTTP {
					w.WriteHeader(http.StatusBadRequest)
				}
				_, _ = io.WriteString(w, name+" for Bearer key-of-the-sink")
			}))
			t.Cleanup(receiver.Close)
			m := filled(kind, receiver.URL, 1)
			m.cursor.Audit = -1
			m.sinks[0].Headers["Authorization"] = fleet.NewSecret("Bearer key-of-the-sink")
			if kind == fleet.SinkElastic {
				receiver.Config.Handler = http.HandlerFunc(
					func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, name) },
				)
			}
			s := runs(t, m)
			wait.For(t, "the sink is in trouble", func() bool { return len(s.Troubles()) > 0 })
			states, err := s.States(t.Context())
			if err != nil || states[0].Dead != 0 || states[0].Waiting != 1 ||
				strings.Contains(states[0].Trouble, "key-of-the-sink") {
				t.Errorf("got %+v, %v", states, err)
			}
		})
	}
}

func TestASinkIsToldHowMuchItLost(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var got []document
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		for line := range strings.Lines(unpacked(t, r)) {
			var d document
			if err := json.Unmarshal([]byte(line), &d); err != nil {
				t.Error(err)
			}
			got = append(got, d)
		}
	}))
	t.Cleanup(receiver.Close)
	m := filled(fleet.SinkHTTP, receiver.URL, 2)
	m.cursor.Lost = 7
	runs(t, m)
	m.await(t, func(c fleet.SinkCursor) bool { return c.Sent == 4 && c.Lost == 0 && c.Gaps == 7 })
	mu.Lock()
	defer mu.Unlock()
	if len(got) != 5 || got[0].Event.Action != "gap" || got[0].Muster.Lost != 7 {
		t.Errorf("arrived is %+v", got)
	}
}

func TestASinkGetsOnlyItsStreams(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var got strings.Builder
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		got.WriteString(unpacked(t, r))
	}))
	t.Cleanup(receiver.Close)
	m := filled(fleet.SinkHTTP, receiver.URL, 20)
	m.sinks[0].Streams, m.cursor.Audit = []fleet.SinkStream{fleet.StreamChanges}, -1
	m.log[7].Kind, m.log[7].State = fleet.LogOrder, "rescan"
	runs(t, m)
	m.await(t, func(c fleet.SinkCursor) bool { return c.Log == 29 })
	mu.Lock()
	defer mu.Unlock()
	if text := got.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, `"sequence":17}`) ||
		m.cursor.Sent != 1 {
		t.Errorf("arrived is %q, the cursor %+v", text, m.cursor)
	}
}

// Nothing is sent to an address that is refused, and no redirect leads elsewhere.
func TestNoSinkLeadsToAnAddressThatIsRefused(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was asked") }))
	t.Cleanup(elsewhere.Close)
	receiver := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	t.Cleanup(receiver.Close)
	m := filled(fleet.SinkHTTP, receiver.URL, 1)
	s := New(Options{Store: m, Log: slog.New(slog.DiscardHandler)})
	if err := s.Try(t.Context(), m.sinks[0]); err == nil || !strings.Contains(err.Error(), "redirect") {
		t.Error(err)
	}
	s.o.Refuse = func(ip netip.Addr) string {
		if ip.IsLoopback() {
			return "this machine"
		}
		return ""
	}
	near := fleet.Sink{Kind: fleet.SinkSyslog, Address: "tcp://" + elsewhere.Listener.Addr().String()}
	for _, one := range []fleet.Sink{m.sinks[0], near} {
		if err := s.Try(t.Context(), one); err == nil || !strings.Contains(err.Error(), "--notify-allow-local") {
			t.Error(one.Kind, err)
		}
	}
}

func TestOTLPTakesRecordsAndMayRefuseSome(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	bodies := 0
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		var body struct {
			ResourceLogs []struct {
				ScopeLogs []struct{ LogRecords []otlpRecord }
			}
		}
		if err := json.Unmarshal([]byte(unpacked(t, r)), &body); err != nil || r.URL.Path != "/v1/logs" {
			t.Error(r.URL, err)
			return
		}
		records := body.ResourceLogs[0].ScopeLogs[0].LogRecords
		for _, one := range records {
			nanos, err := strconv.ParseInt(one.TimeUnixNano, 10, 64)
			if err != nil || nanos < 1e18 || one.Body.StringValue == "" || one.SeverityNumber == 0 {
				t.Errorf("the record is %+v", one)
			}
			if strings.Contains(one.Attributes[2].Value.StringValue, `"sequence":12}`) {
				_, _ = io.WriteString(w, `{"partialSuccess":{"rejectedLogRecords":"1","errorMessage":"too old"}}`)
				return
			}
		}
		bodies += len(records)
	}))
	t.Cleanup(receiver.Close)
	m := filled(fleet.SinkOTLP, receiver.URL, 8)
	m.cursor.Audit = -1
	runs(t, m)
	m.await(t, func(c fleet.SinkCursor) bool { return c.Log == 17 && c.Dead == 1 && c.Sent == 7 })
	if !strings.Contains(m.refused[0].Reason, "too old") {
		t.Errorf("refused is %+v", m.refused)
	}
}

// frame reads a message in the frames of RFC 6587.
func frame(from *bufio.Reader) (string, error) {
	length, err := from.ReadString(' ')
	if err != nil {
		return "", err
	}
	n, err := strconv.Atoi(strings.TrimSpace(length))
	if err != nil {
		return "", err
	}
	text := make([]byte, n)
	_, err = io.ReadFull(from, text)
	return string(text), err
}

// A syslog server that closes the connection gets again what was sent last.
func TestASyslogServerThatEndsTheConnectionGetsTheLastBatchAgain(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	to, err := newSyslog(fleet.Sink{Address: "tcp://" + listener.Addr().String()}, &net.Dialer{})
	if err != nil {
		t.Fatal(err)
	}
	defer to.close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	m := filled(fleet.SinkSyslog, "", 2)
	first, second := ofLog(m.log[0]), ofAudit(m.audit[1])
	send := func(r record) {
		t.Helper()
		if refused, err := to.send(ctx, []record{r}); err != nil || len(refused) > 0 {
			t.Fatal(refused, err)
		}
	}
	accept := func() (net.Conn, *bufio.Reader) {
		t.Helper()
		connection, err := listener.Accept()
		if err != nil {
			t.Fatal(err)
		}
		return connection, bufio.NewReader(connection)
	}
	send(first)
	connection, from := accept()
	text, err := frame(from)
	if err != nil || !strings.HasPrefix(text, "<132>1 2001-09-09T01:46:40.000Z ") ||
		!strings.Contains(text, " muster - sync - {") {
		t.Fatalf("got %q, %v", text, err)
	}
	_ = connection.Close()
	wait.For(t, "the end of the connection is seen", to.ended)
	send(second)
	_, from = accept()
	again, err := frame(from)
	if err != nil || again != text {
		t.Errorf("got %q, %v", again, err)
	}
	if next, err := frame(
		from,
	); err != nil || !strings.HasPrefix(next, "<110>1 ") ||
		!strings.Contains(next, " muster - audit - {") {
		t.Errorf("got %q, %v", next, err)
	}
}

func TestAFileIsPutAsideAndHasNoHalfLine(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "sinks", "one.jsonl")
	to := &file{path: path, limit: 1000}
	send := func(text string) {
		t.Helper()
		if _, err := to.send(t.Context(), []record{{json: []byte(text)}}); err != nil {
			t.Fatal(err)
		}
	}
	send("first")
	to.close()
	written, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(written, "half a li"...), 0o600); err != nil {
		t.Fatal(err)
	}
	send("second")
	if text, err := os.ReadFile(path); err != nil || string(text) != "first\nsecond\n" {
		t.Errorf("the file has %q, %v", text, err)
	}
	for i := range 9 {
		send(fmt.Sprint(i, strings.Repeat("x", 1200)))
	}
	to.close()
	all, err := filepath.Glob(path + "*")
	if err != nil || len(all) != 1+fileKeeps {
		t.Errorf("there are %v, %v", all, err)
	}
	newest, err := os.ReadFile(path + ".1")
	if err != nil || !bytes.HasPrefix(newest, []byte("7x")) {
		t.Errorf("%.20q was put aside last, %v", newest, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info, err)
	}
	if err := os.Rename(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	send("anew")
	if text, err := os.ReadFile(path); err != nil || string(text) != "anew\n" {
		t.Errorf("the file has %q, %v", text, err)
	}
}

// A sink that is changed or removed is sent to no more.
func TestASinkThatIsRemovedGetsNothingMore(t *testing.T) {
	t.Parallel()
	var asked sync.WaitGroup
	asked.Add(1)
	var once sync.Once
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		once.Do(asked.Done)
		w.WriteHeader(http.StatusBadGateway)
	}))
	t.Cleanup(receiver.Close)
	m := filled(fleet.SinkHTTP, receiver.URL, 3)
	s := runs(t, m)
	asked.Wait()
	m.mu.Lock()
	m.sinks = nil
	m.mu.Unlock()
	wait.For(t, "the sink has no runner", func() bool { return len(s.running()) == 0 })
	if states, err := s.States(t.Context()); err != nil || len(states) != 0 {
		t.Error(states, err)
	}
}

func (s *Sinks) running() map[string]*runner {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string]*runner{}
	for name, r := range s.runners {
		all[name] = r
	}
	return all
}
