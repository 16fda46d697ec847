package notify_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"muster/test/daemon"
)

const secret = "a secret of the receiver"

// message is what a receiver gets, as the manual says it.
type message struct {
	ID        string    `json:"id"`
	Type      string    `json:"type"`
	ProblemID string    `json:"problemID"`
	Kind      string    `json:"kind"`
	DeviceID  string    `json:"deviceID"`
	Label     string    `json:"label"`
	Folder    string    `json:"folder"`
	Reason    string    `json:"reason"`
	Next      string    `json:"next"`
	Since     time.Time `json:"since"`
	At        time.Time `json:"at"`
}

func (m message) String() string {
	return fmt.Sprintf("%s %s %s %s", m.Type, m.Kind, m.Label, m.Folder)
}

// receiver is a webhook at an address that stays the same while it is down.
type receiver struct {
	t       *testing.T
	address string

	mu      sync.Mutex // guards what follows
	server  *http.Server
	taken   func(message) bool // false: it took the message, and nobody hears of it
	arrived []message
	bodies  map[string]string // by ID
	wrong   []string
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{t: t, address: fmt.Sprintf("127.0.0.1:%d", daemon.FreePort(t)), bodies: map[string]string{}}
	r.up(nil)
	t.Cleanup(r.down)
	return r
}

func (r *receiver) url() string { return "http://" + r.address + "/hook" }

func (r *receiver) up(taken func(message) bool) {
	r.t.Helper()
	listener, err := net.Listen("tcp", r.address)
	if err != nil {
		r.t.Fatal(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.taken = taken
	r.server = &http.Server{Handler: r, ReadHeaderTimeout: time.Minute}
	go func(s *http.Server) { _ = s.Serve(listener) }(r.server)
}

func (r *receiver) down() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.server != nil {
		_ = r.server.Close()
		r.server = nil
	}
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return // the sender is gone
	}
	var m message
	if err := json.Unmarshal(body, &m); err != nil {
		r.complain("%q: %v", body, err)
		return
	}
	if why := unsigned(request.Header, body); why != "" || request.Header.Get("Webhook-Id") != m.ID {
		r.complain("%v: %s, Webhook-Id is %q", m, why, request.Header.Get("Webhook-Id"))
	}
	r.mu.Lock()
	r.arrived = append(r.arrived, m)
	if before, again := r.bodies[m.ID]; again && before != string(body) {
		r.wrong = append(r.wrong, fmt.Sprintf("message %s came as %s and as %s", m.ID, before, body))
	}
	r.bodies[m.ID] = string(body)
	taken := r.taken
	r.mu.Unlock()
	if taken != nil && !taken(m) {
		panic(http.ErrAbortHandler) // hangs up
	}
}

// unsigned verifies a signature as any receiver of Standard Webhooks does.
func unsigned(header http.Header, body []byte) string {
	stamp := header.Get("Webhook-Timestamp")
	if _, err := strconv.ParseInt(stamp, 10, 64); err != nil {
		return "the timestamp is " + stamp
	}
	mac := hmac.New(sha256.New, []byte(secret))
	fmt.Fprintf(mac, "%s.%s.%s", header.Get("Webhook-Id"), stamp, body)
	if want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)); header.Get("Webhook-Signature") != want {
		return "the signature is " + header.Get("Webhook-Signature")
	}
	return ""
}

func (r *receiver) complain(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wrong = append(r.wrong, fmt.Sprintf(format, args...))
}

func (r *receiver) messages() []message {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]message(nil), r.arrived...)
}

// distinct are the messages without those that came again.
func (r *receiver) distinct() (all []message, duplicates int) {
	seen := map[string]bool{}
	for _, m := range r.messages() {
		if seen[m.ID] {
			duplicates++
			continue
		}
		seen[m.ID] = true
		all = append(all, m)
	}
	return all, duplicates
}

// has tells whether such a message came.
func (r *receiver) has(what string) bool {
	all, _ := r.distinct()
	for _, m := range all {
		if m.String() == what {
			return true
		}
	}
	return false
}

func (r *receiver) check(ctx context.Context) {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, wrong := range r.wrong {
		r.t.Error(wrong)
	}
	if ctx.Err() != nil {
		r.t.Error(ctx.Err())
	}
}
