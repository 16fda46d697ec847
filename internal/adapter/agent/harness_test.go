package agent

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"muster/internal/adapter/tunnel"
	"muster/internal/fleet"
)

const testLimit = time.Minute

// certificateFor makes a certificate that signed itself.
func certificateFor(t testing.TB, name string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{name},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

func writePEM(t testing.TB, path, kind string, der []byte) {
	t.Helper()
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
}

// asked is a request that reached the daemon.
type asked struct {
	method, target, host string
	header               http.Header
	body                 int64
}

// fakeDaemon answers as a daemon's API, with a home of its own.
type fakeDaemon struct {
	t      testing.TB
	home   string
	device tls.Certificate
	api    tls.Certificate
	server *httptest.Server
	answer http.HandlerFunc // after the request was noted; nil: an empty object

	mu   sync.Mutex
	seen []asked
}

func newFakeDaemon(t testing.TB, answer http.HandlerFunc) *fakeDaemon {
	t.Helper()
	d := &fakeDaemon{t: t, home: t.TempDir(), device: certificateFor(t, "syncthing"), api: certificateFor(t, "host"),
		answer: answer}
	writePEM(t, filepath.Join(d.home, certFile), "CERTIFICATE", d.device.Certificate[0])
	key, err := x509.MarshalPKCS8PrivateKey(d.device.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	writePEM(t, filepath.Join(d.home, keyFile), "PRIVATE KEY", key)
	writePEM(t, filepath.Join(d.home, apiCertFile), "CERTIFICATE", d.api.Certificate[0])
	d.start("key one")
	t.Cleanup(func() { d.server.Close() })
	return d
}

// start listens on a port of its own, and writes that and the key into the configuration.
func (d *fakeDaemon) start(key string) {
	d.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		d.mu.Lock()
		d.seen = append(d.seen, asked{r.Method, r.RequestURI, r.Host, r.Header.Clone(), n})
		d.mu.Unlock()
		if r.Header.Get("X-API-Key") != key {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		if d.answer != nil {
			d.answer(w, r)
			return
		}
		_, _ = io.WriteString(w, "{}")
	}))
	d.server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	d.server.TLS = &tls.Config{Certificates: []tls.Certificate{d.api}}
	d.server.StartTLS()
	d.configure(d.server.Listener.Addr().String(), key)
}

// configure replaces config.xml as a daemon does.
func (d *fakeDaemon) configure(address, key string) {
	d.t.Helper()
	text := fmt.Sprintf(`<configuration><device id="%s" name="laptop"></device><gui enabled="true" tls="false">`+
		`<address>%s</address><apikey>%s</apikey></gui></configuration>`, fleet.DeviceIDOf(sum(d.device)), address, key)
	path := filepath.Join(d.home, configFile)
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		d.t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		d.t.Fatal(err)
	}
}

func (d *fakeDaemon) requests() []asked {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.seen
}

// fakeManager accepts connections of agents.
type fakeManager struct {
	t        testing.TB
	own      tls.Certificate
	listener net.Listener
	conns    chan *tls.Conn
}

func newFakeManager(t testing.TB, protocol string) *fakeManager {
	t.Helper()
	m := &fakeManager{t: t, own: certificateFor(t, "muster")}
	m.listen("127.0.0.1:0", protocol)
	return m
}

func (m *fakeManager) listen(address, protocol string) {
	m.t.Helper()
	var err error
	if m.listener, err = net.Listen("tcp", address); err != nil {
		m.t.Fatal(err)
	}
	m.conns = make(chan *tls.Conn, 1)
	config := &tls.Config{Certificates: []tls.Certificate{m.own}, NextProtos: []string{protocol},
		ClientAuth: tls.RequireAnyClientCert, MinVersion: tls.VersionTLS13}
	listener, conns := m.listener, m.conns
	m.t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			plain, err := listener.Accept()
			if err != nil {
				return
			}
			conn := tls.Server(plain, config)
			if conn.Handshake() != nil {
				plain.Close()
				continue
			}
			conns <- conn
		}
	}()
}

func (m *fakeManager) fingerprint() string { return fmt.Sprintf("sha256:%x", sum(m.own)) }

// tunnelled is a connection of an agent, as the manager uses it.
type tunnelled struct {
	*http.Client
	t    testing.TB
	conn *tls.Conn
}

func (m *fakeManager) accept() *tunnelled {
	m.t.Helper()
	select {
	case conn := <-m.conns:
		m.t.Cleanup(func() { conn.Close() })
		return &tunnelled{&http.Client{Transport: over(conn), Timeout: testLimit,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}, m.t, conn}
	case <-time.After(testLimit):
		m.t.Fatal("no agent connected")
		return nil
	}
}

// over speaks HTTP/2 on one connection that is there already.
func over(conn net.Conn) *http.Transport {
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	once := make(chan net.Conn, 1)
	once <- struct{ net.Conn }{conn}
	return &http.Transport{Protocols: &protocols, DialContext: func(context.Context, string, string) (net.Conn, error) {
		select {
		case c := <-once:
			return c, nil
		default:
			return nil, net.ErrClosed
		}
	}}
}

// ask makes a request with a target as it is given, and gives the status, the code of the agent, and the body.
func (c *tunnelled) ask(method, target string, body io.Reader, header http.Header) (int, string, string) {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.t.Context(), method, "http://agent/", body)
	if err != nil {
		c.t.Fatal(err)
	}
	path, query, hasQuery := strings.Cut(target, "?")
	r.URL.Opaque = path // sent as it is
	r.URL.RawQuery, r.URL.ForceQuery = query, hasQuery && query == ""
	if header != nil {
		r.Header = header
	}
	answer, err := c.Do(r)
	if err != nil {
		return 0, "", err.Error()
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, "", err.Error()
	}
	return answer.StatusCode, answer.Header.Get(tunnel.ErrorHeader), string(text)
}

func (c *tunnelled) tell(status tunnel.Status) {
	c.t.Helper()
	text, err := json.Marshal(status)
	if err != nil {
		c.t.Fatal(err)
	}
	if code, _, body := c.ask(http.MethodPut, tunnel.StatusPath, bytes.NewReader(text), nil); code != 204 {
		c.t.Fatalf("the agent answered its status with %d: %s", code, body)
	}
}

func (c *tunnelled) hello() tunnel.Hello {
	c.t.Helper()
	_, _, text := c.ask(http.MethodGet, tunnel.HelloPath, nil, nil)
	var hello tunnel.Hello
	if err := json.Unmarshal([]byte(text), &hello); err != nil {
		c.t.Fatalf("%v: %s", err, text)
	}
	return hello
}

// started is an agent that runs until the test ends.
func started(t testing.TB, d *fakeDaemon, m *fakeManager, change func(*Options)) *Agent {
	t.Helper()
	o := Options{Server: m.listener.Addr().String(), Home: d.home, Fingerprints: []string{m.fingerprint()},
		Version: "test", Log: slog.New(slog.DiscardHandler), Proxy: noProxy}
	if change != nil {
		change(&o)
	}
	a, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = a.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	return a
}

func sum(c tls.Certificate) [32]byte { return sha256.Sum256(c.Certificate[0]) }

func fleetPrint(c tls.Certificate) string { return fleet.CertificateOf(c.Leaf).Fingerprint }

func publicKeyPrint(c *x509.Certificate) string {
	return fmt.Sprintf("sha256:%x", sha256.Sum256(c.RawSubjectPublicKeyInfo))
}

func noProxy(*http.Request) (*url.URL, error) { return nil, nil }
