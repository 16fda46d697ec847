// Package sinks_test checks that a sink gets everything although it and Muster are killed.
//
//muster:needs daemons
package sinks_test

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"sync"
	"testing"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
	"muster/internal/stsim"
	"muster/test/server"
	"muster/test/simulated"
	"muster/test/wait"
)

func TestMain(m *testing.M) {
	server.Main()
	m.Run()
}

// document is what the test reads of a document.
type document struct {
	Event struct {
		ID      string
		Dataset string
		Action  string
	}
	Muster struct{ Hash, Subject, State string }
	Host   struct{ ID string }
}

// store is as much of Elasticsearch as a bulk request needs. It fails when it is told to.
type store struct {
	t *testing.T

	mu     sync.Mutex
	fails  bool
	there  map[string]document
	order  []string // IDs as they came first
	asked  int
	doubly int // documents that were sent again
}

func (s *store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	if s.fails {
		panic(http.ErrAbortHandler) // as when it is killed
	}
	zip, err := gzip.NewReader(r.Body)
	if err != nil || r.URL.Path != "/_bulk" {
		s.t.Error(r.URL, err)
		return
	}
	var items []map[string]map[string]int
	lines := bufio.NewScanner(zip)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		var action struct {
			Create struct {
				ID string `json:"_id"`
			}
		}
		var d document
		if err := json.Unmarshal(lines.Bytes(), &action); err != nil || !lines.Scan() {
			s.t.Errorf("the action is %q: %v", lines.Text(), err)
			return
		}
		if err := json.Unmarshal(lines.Bytes(), &d); err != nil || d.Event.ID != action.Create.ID {
			s.t.Errorf("the document is %q: %v", lines.Text(), err)
			return
		}
		status := http.StatusCreated
		if _, again := s.there[d.Event.ID]; again {
			status, s.doubly = http.StatusConflict, s.doubly+1
		} else {
			s.there[d.Event.ID], s.order = d, append(s.order, d.Event.ID)
		}
		items = append(items, map[string]map[string]int{"create": {"status": status}})
	}
	if err := json.NewEncoder(w).Encode(map[string]any{"errors": true, "items": items}); err != nil {
		s.t.Error(err)
	}
}

func (s *store) failing(fails bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fails = fails
}

func (s *store) has(want func(document) bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.there {
		if want(d) {
			return true
		}
	}
	return false
}

// audited returns all entries of the audit, oldest first.
func audited(t *testing.T, s *server.Server) (entries []api.AuditEntry) {
	t.Helper()
	err := s.Client.EachAudit(t.Context(), client.AuditSearch{Oldest: true}, func(e api.AuditEntry) error {
		entries = append(entries, e)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

// Muster and the log store are killed again and again while people change the fleet. In the end the store has each
// entry of the audit since the sink was added once, in order, and what happened to the device.
func TestALogStoreHasEachEntryOnceAlthoughBothAreKilled(t *testing.T) {
	t.Parallel()
	is := &store{t: t, there: map[string]document{}}
	listener := httptest.NewServer(is)
	t.Cleanup(listener.Close)
	o := server.Options{NotifyAllowLocal: true}
	s := server.Start(t, o)
	d := simulated.Start(t, stsim.Options{Count: 1}).Daemons()[0]
	s.Register(d.ID(), d.APIKey(), d.Host(), d.Port())
	s.WaitConnection(d.ID(), fleet.Online)
	put := api.PutSink{Kind: new("elasticsearch"), Address: &listener.URL}
	if _, _, err := s.Client.PutSink(t.Context(), "siem", put); err != nil {
		t.Fatal(err)
	}
	for round := range 4 {
		is.failing(round%2 == 0)
		asked := is.count()
		for i := range 5 {
			if _, err := s.Client.TagDevice(t.Context(), string(d.ID()), fmt.Sprintf("r%d-%d", round, i)); err != nil {
				t.Fatal(err)
			}
		}
		wait.Until(t, func() string {
			if is.count() == asked {
				return "the sink was not asked again"
			}
			return ""
		})
		s.Kill()
		s.WaitEnd()
		o.Home = s.Home
		s = server.Start(t, o)
	}
	is.failing(false)
	s.WaitConnection(d.ID(), fleet.Online)
	d.Stop()
	s.WaitConnection(d.ID(), fleet.Unreachable)
	wait.Until(t, func() string {
		if !is.has(func(one document) bool {
			return one.Host.ID == string(d.ID()) && one.Event.Dataset == "muster.problems" && one.Muster.State == "unreachable"
		}) {
			return "the store does not have that the device went offline"
		}
		return ""
	})
	wait.Until(t, func() string {
		states, err := s.Client.Sinks(t.Context())
		if err != nil || len(states) != 1 || states[0].Waiting > 0 || states[0].Trouble != "" {
			return fmt.Sprintf("%+v, %v", states, err)
		}
		return ""
	})
	is.wantAudit(t, audited(t, s))
}

func (s *store) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

// wantAudit compares the hashes of the store with the entries since the sink was added.
func (s *store) wantAudit(t *testing.T, entries []api.AuditEntry) {
	t.Helper()
	begins := slices.IndexFunc(entries, func(e api.AuditEntry) bool { return e.What == "sink.put" })
	if begins < 0 {
		t.Fatal("the audit has no entry about the sink")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var hashes, want []string
	for _, id := range s.order {
		if d := s.there[id]; d.Event.Dataset == "muster.audit" {
			hashes = append(hashes, d.Muster.Hash)
		}
	}
	for _, e := range entries[begins:] {
		want = append(want, e.Hash)
	}
	hashes = hashes[:min(len(hashes), len(want))] // later ones came since the audit was read
	if len(want) < 21 || !slices.Equal(hashes, want) {
		t.Errorf("the store has %d entries of the audit in its order, want %d", len(hashes), len(want))
	}
	t.Logf("%d documents in %d requests, %d of them were sent again", len(s.there), s.asked, s.doubly)
}

// A syslog server gets the audit in frames, and a file has the same records.
func TestASyslogServerAndAFileHaveTheAudit(t *testing.T) {
	t.Parallel()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	s := server.Start(t, server.Options{NotifyAllowLocal: true})
	for name, put := range map[string]api.PutSink{
		"archive": {Kind: new("file"), Streams: []string{"audit"}},
		"syslog":  {Kind: new("syslog"), Address: new("tcp://" + listener.Addr().String()), Streams: []string{"audit"}},
	} {
		if _, _, err := s.Client.PutSink(t.Context(), name, put); err != nil {
			t.Fatal(err)
		}
	}
	template := s.Template("set", "options.maxSendKbps", "250")
	connection, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connection.Close() }()
	var length int
	if _, err := fmt.Fscanf(connection, "%d <110>1 ", &length); err != nil || length < 100 {
		t.Errorf("the frame begins with %d: %v", length, err)
	}
	wait.Until(t, func() string {
		text, err := os.ReadFile(s.Home + "/sinks/archive.jsonl")
		if err != nil {
			return err.Error()
		}
		for line := range slices.Values(linesOf(text)) {
			var d document
			if err := json.Unmarshal(line, &d); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			if d.Event.Action == "template.create" && d.Muster.Subject == fmt.Sprint(template) {
				return ""
			}
		}
		return "the file does not have the template"
	})
}

func linesOf(text []byte) (lines [][]byte) {
	for len(text) > 0 {
		end := slices.Index(text, '\n')
		if end < 0 {
			return lines // it is being written
		}
		lines, text = append(lines, text[:end]), text[end+1:]
	}
	return lines
}

// A sink may not lead to this machine unless a flag of the server allows it.
func TestASinkLeadsNotToTheServersOwnMachine(t *testing.T) {
	t.Parallel()
	listener := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was asked") }))
	t.Cleanup(listener.Close)
	s := server.Start(t, server.Options{})
	put := api.PutSink{
		Kind:    new("http"),
		Address: &listener.URL,
		Headers: map[string]string{"Authorization": "Bearer hidden"},
	}
	sink, _, err := s.Client.PutSink(t.Context(), "near", put)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(sink)
	if err != nil || slices.Contains(sink.Headers, "Bearer hidden") || len(sink.Headers) != 1 {
		t.Errorf("the answer is %s, %v", text, err)
	}
	if err := s.Client.TestSink(t.Context(), "near"); fleet.CodeOf(err) != fleet.CodeInvalid {
		t.Error(err)
	}
	wait.Until(t, func() string {
		overview, err := s.Client.Overview(context.WithoutCancel(t.Context()))
		if err != nil {
			return err.Error()
		}
		for _, one := range overview.Impairments {
			if one.Part == string(fleet.PartSinks) {
				return ""
			}
		}
		return "the status does not have the sink that takes nothing"
	})
}
