package notify

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"muster/internal/fleet"
)

var example = Message{ID: "ID1", Type: fleet.NoticeProblem, ProblemID: "ID1", Kind: fleet.WaitOutOfSync,
	DeviceID: deviceID("a"), Label: "nas", Folder: "photos",
	Reason: "3 files are missing", Next: "look there", Since: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC),
	At: time.Date(2026, 11, 20, 12, 10, 0, 0, time.UTC)}

func webhook(t *testing.T, address, secret string) *Webhook {
	t.Helper()
	w, err := NewWebhook(address, fleet.NewSecret(secret))
	if err != nil {
		t.Fatal(err)
	}
	w.now = func() time.Time { return time.Unix(1_700_000_000, 0) }
	return w
}

func TestAMessageIsPostedAndSigned(t *testing.T) {
	raw := []byte("0123456789abcdef")
	for name, c := range map[string]struct {
		secret string
		key    []byte
	}{
		"text":     {"a long secret", []byte("a long secret")},
		"base64":   {"whsec_" + base64.StdEncoding.EncodeToString(raw), raw},
		"unsigned": {"", nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got *http.Request
			var body []byte
			s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				got = r.Clone(context.Background())
				body, _ = io.ReadAll(r.Body)
			}))
			defer s.Close()
			if err := webhook(t, s.URL+"/hook?x=1", c.secret).Send(context.Background(), example); err != nil {
				t.Fatal(err)
			}
			if got.Method != "POST" || got.URL.String() != "/hook?x=1" || got.Header.Get("Content-Type") != "application/json" {
				t.Errorf("%s %s, %v", got.Method, got.URL, got.Header)
			}
			want := `{"id":"ID1","type":"problem","problemID":"ID1","kind":"outOfSync","deviceID":"` +
				string(example.DeviceID) + `","label":"nas","folder":"photos",` +
				`"reason":"3 files are missing","next":"look there","since":"2026-11-20T12:00:00Z","at":"2026-11-20T12:10:00Z"}`
			if string(body) != want {
				t.Errorf("got %s\nwant %s", body, want)
			}
			signature := ""
			if c.key != nil {
				mac := hmac.New(sha256.New, c.key)
				mac.Write([]byte("ID1.1700000000." + want))
				signature = "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
			}
			if h := got.Header; h.Get("Webhook-Id") != "ID1" || h.Get("Webhook-Timestamp") != "1700000000" ||
				h.Get("Webhook-Signature") != signature {
				t.Errorf("headers %v, want signature %q", h, signature)
			}
		})
	}
}

func TestAnAnswerSaysWhoseFaultItIs(t *testing.T) {
	for status, want := range map[int]string{
		200: "", 201: "", 204: "", 299: "",
		400: "rejected", 409: "rejected", 413: "rejected", 422: "rejected",
		401: "later", 403: "failed", 404: "failed", 405: "failed", 410: "failed", 429: "later", 500: "failed", 502: "failed",
		503: "later",
		301: "failed", 302: "failed", 307: "failed",
	} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			var asked atomic.Int64
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				w.Header().Set("Location", "/elsewhere")
				if want == "later" {
					w.Header().Set("Retry-After", "77")
				}
				w.WriteHeader(status)
			}))
			defer s.Close()
			err := webhook(t, s.URL, "").Send(context.Background(), example)
			var rejected *RejectedError
			var later *LaterError
			got := ""
			switch {
			case errors.As(err, &rejected):
				got = "rejected"
			case errors.As(err, &later):
				if got = "later"; later.After != 77*time.Second {
					t.Errorf("later by %s", later.After)
				}
			case err != nil:
				got = "failed"
			}
			if got != want || asked.Load() != 1 {
				t.Errorf("got %q (%v) after %d requests, want %q", got, err, asked.Load(), want)
			}
		})
	}
}

func TestNothingOfTheURLIsTold(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	address := s.URL + "/T0KEN/path?key=T0KEN"
	s.Close()
	w := webhook(t, address, "")
	err := w.Send(context.Background(), example)
	if err == nil || strings.Contains(err.Error()+w.Name(), "T0KEN") {
		t.Errorf("%v, %s", err, w.Name())
	}
	other := webhook(t, address+"2", "")
	if w.Name() == other.Name() || w.Name() != webhook(t, address, "x").Name() {
		t.Errorf("names: %s, %s", w.Name(), other.Name())
	}
}

func TestAnEndlessAnswerIsCutOff(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for chunk := make([]byte, 1<<20); ; {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	}))
	defer s.Close()
	if err := webhook(t, s.URL, "").Send(context.Background(), example); err != nil {
		t.Errorf("got %v", err)
	}
}

func TestReceiversAreChecked(t *testing.T) {
	for _, address := range []string{"", "hooks.example.org", "ftp://hooks.example.org/", "https://",
		"https://hooks.example.org/\x00"} {
		if _, err := NewWebhook(address, fleet.Secret{}); fleet.CodeOf(err) != fleet.CodeInvalid {
			t.Errorf("%q: %v", address, err)
		}
	}
	for _, secret := range []string{"whsec_", "whsec_%%"} {
		if _, err := NewWebhook("https://hooks.example.org/",
			fleet.NewSecret(secret)); fleet.CodeOf(err) != fleet.CodeInvalid {
			t.Errorf("secret %q: %v", secret, err)
		}
	}
}

// The whole way: a receiver that is down, comes back on the same address, and gets what waited.
func TestAReceiverThatComesBackGetsWhatWaited(t *testing.T) {
	arrived := make(chan Message, 10)
	var down atomic.Bool
	down.Store(true)
	tried := make(chan struct{}, 100)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { tried <- struct{}{} }()
		if down.Load() {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		var m Message
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
			t.Error(err)
		}
		arrived <- m
	}))
	defer s.Close()
	src, d := newSource(), newDisk()
	k := Key{Device: deviceID("a"), Kind: fleet.WaitFailed}
	src.begin(k)
	start(t, Options{Source: src, Store: d, Senders: []Sender{webhook(t, s.URL, "secret")}, After: time.Millisecond,
		Every: 10 * time.Millisecond})
	<-tried
	src.end(k)
	down.Store(false)
	for _, want := range []fleet.NoticeType{fleet.NoticeProblem, fleet.NoticeResolved} {
		select {
		case m := <-arrived:
			if m.Type != want || m.DeviceID != k.Device {
				t.Errorf("got %+v, want %s", m, want)
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("%s did not arrive in 30 s", want)
		}
	}
}
