package stsim

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"muster/internal/core/stconfig"
)

// ask sends a request that may fail.
func ask(t *testing.T, d *Daemon, method, path, body string, limit time.Duration) (*http.Response, []byte, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, d.URL()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-API-Key", d.APIKey())
	request.Header.Set("Accept-Encoding", "identity")
	response, err := client(t, d.farm).Do(request)
	if err != nil {
		return nil, nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response, text, err
}

func TestFaultsSpoilAnswers(t *testing.T) {
	const other = "P56IOI7-MZJNU2Y-IQGDREY-DM2MGTI-MGL3BXN-PQ6W5BM-TBBZ4TJ-XZWICQ2"
	parse := func(t *testing.T, text []byte) stconfig.Value {
		t.Helper()
		v, err := stconfig.Parse(text)
		if err != nil {
			t.Fatalf("%v: %.200s", err, text)
		}
		return v
	}
	for name, c := range map[string]struct {
		faults Faults
		check  func(t *testing.T, r *http.Response, text []byte)
	}{
		"another device": {Faults{MyID: other}, func(t *testing.T, r *http.Response, text []byte) {
			if got := parse(t, text).Get("myID").Str(); got != other || r.Header.Get("X-Syncthing-Id") != other {
				t.Errorf("myID %s, header %s", got, r.Header.Get("X-Syncthing-Id"))
			}
		}},
		"wrong types": {Faults{WrongTypes: true}, func(t *testing.T, _ *http.Response, text []byte) {
			if v := parse(t, text); v.Get("uptime").Kind() != stconfig.String || v.Get("myID").Kind() != stconfig.Number {
				t.Errorf("got %s", v.JSON())
			}
		}},
		"negative numbers": {Faults{Negative: true}, func(t *testing.T, _ *http.Response, text []byte) {
			if v := parse(t, text); integerOf(v.Get("alloc")) >= 0 || integerOf(v.Get("cpuPercent")) >= 0 {
				t.Errorf("got %s", v.JSON())
			}
		}},
		"HTML in texts": {Faults{Script: true}, func(t *testing.T, _ *http.Response, text []byte) {
			if v := parse(t, text); !strings.Contains(v.Get("tilde").Str(), "<script>") {
				t.Errorf("got %s", v.JSON())
			}
		}},
		"a page": {Faults{HTML: true}, func(t *testing.T, r *http.Response, text []byte) {
			if !strings.HasPrefix(r.Header.Get("Content-Type"), "text/html") || json.Valid(text) {
				t.Errorf("got %s", text)
			}
		}},
		"a redirect": {Faults{Redirect: "https://evil.invalid/"}, func(t *testing.T, r *http.Response, _ []byte) {
			if r.StatusCode != http.StatusTemporaryRedirect || r.Header.Get("Location") != "https://evil.invalid/" {
				t.Errorf("got %d to %s", r.StatusCode, r.Header.Get("Location"))
			}
		}},
		"a status": {Faults{Status: 503}, func(t *testing.T, r *http.Response, _ []byte) {
			if r.StatusCode != 503 {
				t.Errorf("got %d", r.StatusCode)
			}
		}},
		"a huge body": {Faults{HugeBody: 5 << 20}, func(t *testing.T, _ *http.Response, text []byte) {
			if len(text) < 5<<20 {
				t.Errorf("got %d bytes", len(text))
			}
		}},
		"a bomb": {Faults{GzipBomb: 20 << 20}, func(t *testing.T, r *http.Response, text []byte) {
			unpacked, err := gzip.NewReader(bytes.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			n, err := io.Copy(io.Discard, unpacked)
			if err != nil || n != 20<<20 || len(text) > 1<<20 || r.Header.Get("Content-Encoding") != "gzip" {
				t.Errorf("%d bytes unpack to %d, %v", len(text), n, err)
			}
		}},
		"deep nesting": {Faults{Deep: 1000}, func(t *testing.T, _ *http.Response, text []byte) {
			if !bytes.HasPrefix(text, bytes.Repeat([]byte("["), 1000)) {
				t.Errorf("got %.50s", text)
			}
		}},
		"drops": {Faults{Drip: time.Microsecond}, func(t *testing.T, _ *http.Response, text []byte) {
			if got := parse(t, text).Get("myID").Str(); got == "" {
				t.Errorf("got %s", text)
			}
		}},
		"elsewhere": {Faults{Status: 500, Paths: []string{"/rest/config"}}, func(t *testing.T, r *http.Response, _ []byte) {
			if r.StatusCode != 200 {
				t.Errorf("got %d", r.StatusCode)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			d := startDaemon(t, V2)
			d.SetFaults(c.faults)
			r, text, err := ask(t, d, "GET", "/rest/system/status", "", time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			c.check(t, r, text)
			d.SetFaults(Faults{})
			if got := get(t, d, "/rest/system/status").Get("myID").Str(); got != string(d.ID()) {
				t.Errorf("healed, it says it is %s", got)
			}
		})
	}
}

func TestFaultsSpoilConnections(t *testing.T) {
	for name, faults := range map[string]Faults{
		"refuse": {Refuse: true}, "hang": {Hang: true}, "delay": {Delay: time.Hour}, "cut": {Cut: 10},
		"drip": {Drip: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			d := startDaemon(t, V1)
			d.SetFaults(faults)
			if _, text, err := ask(t, d, "GET", "/rest/system/status", "", 200*time.Millisecond); err == nil {
				t.Errorf("got %s, want no whole answer", text)
			}
			d.SetFaults(Faults{})
			get(t, d, "/rest/system/status")
		})
	}
}

func TestALostAnswerIsAWriteThatWasDone(t *testing.T) {
	d := startDaemon(t, V2)
	d.SetFaults(Faults{LoseAnswer: true})
	if _, text, err := ask(t, d, "PATCH", "/rest/config/options", `{"maxSendKbps":9}`, time.Minute); err == nil {
		t.Fatalf("got %s, want no answer", text)
	}
	if got := get(t, d, "/rest/config/options").Get("maxSendKbps").Str(); got != "9" {
		t.Errorf("maxSendKbps is %s, want 9", got)
	}
}

func TestAFailedWriteIsNotDone(t *testing.T) {
	d := startDaemon(t, V2)
	d.SetFaults(Faults{WriteStatus: 500})
	if status, _ := call(t, d, "PATCH", "/rest/config/options", `{"maxSendKbps":9}`); status != 500 {
		t.Fatalf("got %d, want 500", status)
	}
	if got := get(t, d, "/rest/config/options").Get("maxSendKbps").Str(); got != "0" {
		t.Errorf("maxSendKbps is %s, want 0", got)
	}
}

func TestEventsFloodAndFall(t *testing.T) {
	d := startDaemon(t, V2)
	d.SetFaults(Faults{Flood: 50, Backwards: true})
	for range 3 { // without end, and at once
		events := get(t, d, "/rest/events?since=100&timeout=3600")
		if events.Len() != 50 {
			t.Fatalf("got %d events, want 50", events.Len())
		}
		for i := range events.Len() - 1 {
			if a, b := integerOf(events.At(i).Get("id")), integerOf(events.At(i+1).Get("id")); a <= b {
				t.Fatalf("number %d comes before %d", a, b)
			}
		}
	}
}

func TestCountersTellWhatWasAsked(t *testing.T) {
	d := startDaemon(t, V1)
	get(t, d, "/rest/system/ping")
	get(t, d, "/rest/system/ping?x=1")
	if status, _ := call(t, d, "PATCH", "/rest/config/options", `{}`); status != 200 {
		t.Fatal(status)
	}
	request, err := http.NewRequest("GET", d.URL()+"/rest/system/status", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client(t, d.farm).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	c := d.Counters()
	if c.ByRoute["GET /rest/system/ping"] != 2 || c.Requests != 4 || c.Writes != 1 || c.Forbidden != 1 ||
		c.Accepted != 4 || c.Silent != 0 {
		t.Errorf("got %+v", c)
	}
	d.ResetCounters()
	if c := d.Counters(); c.Requests != 0 || c.Writes != 0 || len(c.ByRoute) != 0 {
		t.Errorf("after the reset: %+v", c)
	}
}

func TestUnknownVersionsAreRefused(t *testing.T) {
	_, err := New(Options{Versions: []Version{"v0.14"}})
	if err == nil || !strings.Contains(err.Error(), "v0.14") || errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
