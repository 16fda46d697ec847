package syncthing

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"muster/internal/fleet"
)

const testKey = "the-api-key"

// fake is something that answers at an address: a GUI with a certificate, and a sync port with another.
type fake struct {
	t       *testing.T
	ID      fleet.DeviceID
	Pin     string
	Address string // of the API
	Sync    string // of the sync protocol, as announced
	tls     *tls.Config

	mu       sync.Mutex
	handlers map[string]http.HandlerFunc
	seen     []string // method and path of every request, with "+key" when it had one
	hosts    []string
	dials    int
	silentID bool // no X-Syncthing-Id, as a daemon with a GUI user behaves
}

type fakeOptions struct {
	plain    bool // speak no TLS
	silentID bool
	curves   []tls.CurveID // of the key exchanges; nil: the usual ones
}

func newFake(t *testing.T, o fakeOptions) *fake {
	t.Helper()
	device := newCertificate(t)
	f := &fake{t: t, ID: fleet.DeviceIDOf(sha256.Sum256(device.Certificate[0])), handlers: map[string]http.HandlerFunc{},
		silentID: o.silentID}
	server := httptest.NewUnstartedServer(http.HandlerFunc(f.serve))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			f.mu.Lock()
			f.dials++
			f.mu.Unlock()
		}
	}
	if o.plain {
		server.Start()
	} else {
		gui := newCertificate(t)
		f.Pin = fmt.Sprintf("sha256:%x", sha256.Sum256(gui.Certificate[0]))
		server.TLS = &tls.Config{Certificates: []tls.Certificate{gui}, CurvePreferences: o.curves}
		server.StartTLS()
		f.tls = server.TLS
	}
	t.Cleanup(server.Close)
	f.Address = server.Listener.Addr().String()
	f.Sync = syncPort(t, device, syncALPN)
	f.answer("/rest/system/status", fmt.Sprintf(`{"myID":%q,"startTime":"now"}`, f.ID))
	f.answer("/rest/noauth/health", `{"status":"OK"}`)
	f.answer("/rest/system/version", `{"version":"v1.0.0"}`)
	f.answer("/rest/config", `{"version":36}`)
	return f
}

func (f *fake) handle(path string, h http.HandlerFunc) {
	f.mu.Lock()
	f.handlers[path] = h
	f.mu.Unlock()
}

func (f *fake) answer(path, body string) {
	f.handle(path, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) })
}

func (f *fake) serve(w http.ResponseWriter, r *http.Request) {
	key := ""
	if r.Header.Get("X-API-Key") != "" {
		key = "+key"
	}
	f.mu.Lock()
	f.seen = append(f.seen, r.Method+" "+r.URL.Path+key)
	f.hosts = append(f.hosts, r.Host)
	h, id := f.handlers[r.URL.Path], string(f.ID)
	f.mu.Unlock()
	if !f.silentID {
		w.Header().Set("X-Syncthing-Id", id)
	}
	if h == nil {
		http.Error(w, "404 page not found", http.StatusNotFound)
		return
	}
	h(w, r)
}

func (f *fake) requests() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.seen...)
}

func (f *fake) dialled() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.dials
}

func (f *fake) target() Target {
	return Target{Device: f.ID, APIKey: fleet.NewSecret(testKey), Address: f.Address, Introduced: fleet.ByPerson}
}

func newClient(t *testing.T, target Target, l Limits) *Client {
	t.Helper()
	c := New(target, Options{Limits: l})
	c.Keep()
	t.Cleanup(c.Close)
	return c
}

func newCertificate(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()),
		Subject:   pkix.Name{CommonName: "syncthing"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// syncPort answers TLS handshakes with a device certificate, as a daemon's sync port does.
func syncPort(t *testing.T, device tls.Certificate, protocol string) string {
	t.Helper()
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{device},
		NextProtos: []string{protocol}})
	if err != nil {
		t.Fatal(err)
	}
	return "tcp://" + acceptAll(t, l, func(c net.Conn) { _ = c.(*tls.Conn).Handshake() })
}

// acceptAll serves every connection until the test ends, and gives the address.
func acceptAll(t *testing.T, l net.Listener, serve func(net.Conn)) string {
	var running sync.WaitGroup
	conns := make(chan net.Conn, 100)
	running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				close(conns)
				return
			}
			conns <- c
			running.Go(func() {
				defer c.Close()
				serve(c)
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		for c := range conns {
			_ = c.Close()
		}
		running.Wait()
	})
	return l.Addr().String()
}

func wantCode(t *testing.T, err error, code fleet.Code) *fleet.Error {
	t.Helper()
	var e *fleet.Error
	if !errors.As(err, &e) || e.Code != code {
		t.Fatalf("got %v (%s), want %s", err, fleet.CodeOf(err), code)
	}
	if e.Message == "" || (e.Hint == "" && code != fleet.CodeNotFound) {
		t.Fatalf("%s tells the person too little: %q, %q", code, e.Message, e.Hint)
	}
	if strings.Contains(err.Error(), testKey) {
		t.Fatalf("the key is in the error: %v", err)
	}
	return e
}

func wantNoKey(t *testing.T, fakes ...*fake) {
	t.Helper()
	for _, f := range fakes {
		for _, r := range f.requests() {
			if strings.HasSuffix(r, "+key") {
				t.Fatalf("the key was sent: %v", f.requests())
			}
		}
	}
}

func portOf(t *testing.T, address string) string {
	t.Helper()
	if u, err := url.Parse(address); err == nil && u.Port() != "" {
		return u.Port()
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	return port
}
