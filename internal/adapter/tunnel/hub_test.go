package tunnel

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"muster/internal/fleet"
	"muster/test/wait"
)

// within is how long a test waits for what happens at once.
const within = 30 * time.Second

func newCertificate(t testing.TB, until time.Time) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: until.AddDate(-1, 0, 0), NotAfter: until,
		DNSNames: []string{"syncthing"}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func certificateOf(t testing.TB) tls.Certificate {
	return newCertificate(t, time.Now().AddDate(1, 0, 0))
}

func idOf(c tls.Certificate) fleet.DeviceID { return fleet.DeviceIDOf(sha256.Sum256(c.Certificate[0])) }

// manager is a hub with a listener of its own, and what its callbacks were told.
type manager struct {
	*Hub
	t       testing.TB
	address string
	told    atomic.Int64 // how many devices are registered, as the listener learns

	mu      sync.Mutex
	admit   func(Request) (Status, error)
	asked   []Request
	known   fleet.DeviceID // the one that is registered
	changes map[fleet.DeviceID]int
}

func startManager(t testing.TB, admit func(Request) (Status, error)) *manager {
	t.Helper()
	m := &manager{t: t, admit: admit, changes: map[fleet.DeviceID]int{}}
	m.Hub = New(Options{Known: m.isKnown, Admit: m.admitOne, Changed: m.noteChange,
		Limits: Limits{Waiting: 8, WaitingPerAddress: 6}})
	own := certificateOf(t)
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{own},
		MinVersion: tls.VersionTLS13, NextProtos: []string{ALPN}, ClientAuth: tls.RequireAnyClientCert,
		SessionTicketsDisabled: true})
	if err != nil {
		t.Fatal(err)
	}
	m.address = listener.Addr().String()
	ctx, stop := context.WithCancel(t.Context())
	var serving sync.WaitGroup
	serving.Go(func() { _ = m.Run(ctx) })
	t.Cleanup(func() { stop(); _ = listener.Close(); serving.Wait() })
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				secured := conn.(*tls.Conn)
				if secured.HandshakeContext(ctx) != nil {
					_ = conn.Close()
					return
				}
				m.Serve(secured, func() { m.told.Add(1) })
			})
		}
	})
	return m
}

func (m *manager) isKnown(id fleet.DeviceID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.known == id
}

func (m *manager) admitOne(_ context.Context, r Request) (Status, error) {
	m.mu.Lock()
	m.asked = append(m.asked, r)
	m.mu.Unlock()
	return m.admit(r)
}

func (m *manager) noteChange(id fleet.DeviceID) {
	m.mu.Lock()
	m.changes[id]++
	m.mu.Unlock()
}

// until waits for a condition of the hub.
func (m *manager) until(what string, holds func() bool) {
	m.t.Helper()
	wait.ForState(m.t, func() string { return fmt.Sprintf("want %s; %+v", what, m.Counts()) }, holds)
}

func (m *manager) untilAccepted(id fleet.DeviceID) *Tunnel {
	m.t.Helper()
	var got *Tunnel
	m.until("accepted", func() bool {
		var err error
		got, err = m.Connected(id)
		return err == nil
	})
	return got
}

func accept(Request) (Status, error)      { return Status{State: Accepted}, nil }
func haveWaiting(Request) (Status, error) { return Status{State: Waiting}, nil }

// fakeAgent serves HTTP/2 on a connection that it opened.
type fakeAgent struct {
	conn   net.Conn
	states chan State
	ended  chan struct{}
}

// connect dials as an agent does.
func (m *manager) dial(certificate tls.Certificate) *tls.Conn {
	m.t.Helper()
	conn, err := tls.Dial("tcp", m.address, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{ALPN},
		Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS13})
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func (m *manager) agent(certificate tls.Certificate, rest http.HandlerFunc) *fakeAgent {
	m.t.Helper()
	conn := m.dial(certificate)
	a := &fakeAgent{conn: conn, states: make(chan State, 100), ended: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+HelloPath, func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(Hello{Name: "m\u202ex", System: "linux/amd64", Version: "1", APIPort: 8384, Key: "k"})
	})
	mux.HandleFunc("PUT "+StatusPath, func(w http.ResponseWriter, r *http.Request) {
		var status Status
		if json.NewDecoder(r.Body).Decode(&status) == nil {
			a.states <- status.State
		}
		w.WriteHeader(http.StatusNoContent)
	})
	if rest != nil {
		mux.HandleFunc("/rest/", rest)
	}
	go serveHTTP2(conn, mux, a.ended)
	return a
}

// serveHTTP2 answers requests on one connection until that ends.
func serveHTTP2(conn net.Conn, handler http.Handler, ended chan struct{}) {
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	server := &http.Server{Handler: handler, Protocols: &protocols, ReadHeaderTimeout: within}
	one := &oneConn{conn: &endingConn{Conn: conn, ended: ended}, ended: ended}
	_ = server.Serve(one)
	_ = server.Close()
}

type oneConn struct {
	conn  net.Conn
	given bool
	ended chan struct{}
}

func (o *oneConn) Accept() (net.Conn, error) {
	if o.given {
		<-o.ended
		return nil, net.ErrClosed
	}
	o.given = true
	return o.conn, nil
}
func (o *oneConn) Close() error   { return nil }
func (o *oneConn) Addr() net.Addr { return o.conn.LocalAddr() }

type endingConn struct {
	net.Conn
	ended chan struct{}
	once  sync.Once
}

func (c *endingConn) Close() error {
	c.once.Do(func() { close(c.ended) })
	return c.Conn.Close()
}

func (a *fakeAgent) wantState(t testing.TB, want State) {
	t.Helper()
	select {
	case got := <-a.states:
		if got != want {
			t.Fatalf("the agent is told %q, want %q", got, want)
		}
	case <-time.After(within):
		t.Fatalf("the agent is not told %q", want)
	}
}

func (a *fakeAgent) wantEnd(t testing.TB) {
	t.Helper()
	select {
	case <-a.ended:
	case <-time.After(within):
		t.Fatal("the connection is still open")
	}
}

func get(t testing.TB, tunnel *Tunnel, path string) (int, string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://agent"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := tunnel.RoundTrip(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, string(text), err
}

func TestAnAcceptedDeviceIsReachedThroughItsTunnel(t *testing.T) {
	t.Parallel()
	m, certificate := startManager(t, accept), certificateOf(t)
	a := m.agent(certificate, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.RequestURI) })
	tunnel := m.untilAccepted(idOf(certificate))
	a.wantState(t, Accepted)
	status, text, err := get(t, tunnel, "/rest/db/status?folder=a%2Fb")
	if err != nil || status != http.StatusOK || text != "/rest/db/status?folder=a%2Fb" {
		t.Errorf("got %d, %q, %v", status, text, err)
	}
	info, _ := m.Info(idOf(certificate))
	if info.Hello.Name != "mx" || info.Hello.Key != "" || info.Hello.APIPort != 8384 ||
		info.Address != a.conn.LocalAddr().String() {
		t.Errorf("got %+v", info)
	}
	if c := m.Counts(); c.Tunnels[Accepted] != 1 || c.Received == 0 || c.Sent == 0 {
		t.Errorf("got %+v", c)
	}
	if m.asked[0].Hello.Key != "k" {
		t.Error("the enrol key is not passed on")
	}
	_ = a.conn.Close()
	m.until("gone", func() bool { _, there := m.Info(idOf(certificate)); return !there })
	if _, _, err := get(t, tunnel, "/rest/"); err == nil {
		t.Error("a tunnel that has ended answers")
	}
}

func TestADeviceThatWaitsIsAcceptedOnTheSameConnection(t *testing.T) {
	t.Parallel()
	m, certificate := startManager(t, haveWaiting), certificateOf(t)
	a := m.agent(certificate, func(w http.ResponseWriter, _ *http.Request) {})
	a.wantState(t, Waiting)
	id := idOf(certificate)
	if waiting := m.Waiting(); len(waiting) != 1 || waiting[0].Device != id {
		t.Errorf("got %+v", waiting)
	}
	if _, err := m.Connected(id); fleet.CodeOf(err) != fleet.CodeUnavailable {
		t.Errorf("a device that waits is reached: %v", err)
	}
	m.Tell(id, Status{State: Accepted})
	a.wantState(t, Accepted)
	tunnel := m.untilAccepted(id)
	if _, _, err := get(t, tunnel, "/rest/"); err != nil {
		t.Error(err)
	}
	m.Tell(id, Status{State: Refused, Message: "it was deleted"})
	if _, _, err := get(t, tunnel, "/rest/"); !errors.Is(err, errRefused) {
		t.Errorf("a refused device is reached: %v", err)
	}
	a.wantState(t, Refused)
	a.wantEnd(t)
	m.until("gone", func() bool { return m.Counts().Ended["refused"] == 1 })
}

// What Tell says while Admit still decides is newer than what Admit read.
func TestTellIsNewerThanAnAdmissionUnderWay(t *testing.T) {
	t.Parallel()
	certificate := certificateOf(t)
	var m *manager
	ready := make(chan struct{})
	m = startManager(t, func(r Request) (Status, error) {
		<-ready
		m.Tell(r.Device, Status{State: Accepted})
		return Status{State: Waiting}, nil
	})
	a := m.agent(certificate, nil)
	close(ready)
	a.wantState(t, Accepted)
	m.untilAccepted(idOf(certificate))
}

func TestOfTwoAgentsWithOneCertificateTheLivingOneStays(t *testing.T) {
	t.Parallel()
	m, certificate := startManager(t, accept), certificateOf(t)
	id := idOf(certificate)
	first := m.agent(certificate, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "first") })
	m.untilAccepted(id)
	second := m.agent(certificate, nil)
	second.wantState(t, Cloned)
	second.wantEnd(t)
	first.wantState(t, Accepted)
	if info, _ := m.Info(id); info.Rival != second.conn.LocalAddr().String() ||
		info.Address != first.conn.LocalAddr().String() {
		t.Errorf("got %+v, want both addresses", info)
	}
	if _, text, err := get(t, m.untilAccepted(id), "/rest/"); text != "first" || err != nil {
		t.Errorf("%q answers, %v", text, err)
	}
}

// keepsRival tells whether the connection of a second agent of a device is kept open.
func (m *manager) keepsRival(id fleet.DeviceID) bool {
	first := m.of(id)
	first.mu.Lock()
	defer first.mu.Unlock()
	return first.keptRival != nil
}

// People were told for ten minutes of two agents, of which one had ended.
func TestTwoAgentsAreTwoOnlyWhileBothAreThere(t *testing.T) {
	t.Parallel()
	m, certificate := startManager(t, accept), certificateOf(t)
	id := idOf(certificate)
	m.mu.Lock()
	m.known = id
	m.mu.Unlock()
	first := m.agent(certificate, nil)
	m.untilAccepted(id)
	rival := func() string { info, _ := m.Info(id); return info.Rival }
	for range 2 { // The connection that is kept is one at a time.
		second := m.agent(certificate, nil)
		second.wantState(t, Cloned)
		m.until("a rival", func() bool { return rival() == second.conn.LocalAddr().String() && m.keepsRival(id) })
		third := m.agent(certificate, nil)
		third.wantState(t, Cloned)
		third.wantEnd(t)
		_ = second.conn.Close()
		m.until("no rival", func() bool { return rival() == "" })
	}
	last := m.agent(certificate, nil)
	last.wantState(t, Cloned)
	m.until("the connection is kept", func() bool { return m.keepsRival(id) })
	_ = first.conn.Close()
	last.wantState(t, Freed)
	last.wantEnd(t) // It comes back, and is then the only one.
}

// muteConn is a connection on which nothing arrives any more, as when a laptop changes its network.
type muteConn struct {
	net.Conn
	mute chan struct{}   // closed: nothing arrives
	over <-chan struct{} // closed: the test has ended
}

func (c muteConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	select {
	case <-c.mute:
		<-c.over
		return 0, net.ErrClosed
	default:
	}
	return n, err
}

func TestADeadTunnelGivesWayToANewerOne(t *testing.T) {
	t.Parallel()
	m, certificate := startManager(t, accept), certificateOf(t)
	id := idOf(certificate)
	conn := m.dial(certificate)
	mute := make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc(HelloPath, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") })
	mux.HandleFunc(StatusPath, func(http.ResponseWriter, *http.Request) {})
	go serveHTTP2(muteConn{conn, mute, t.Context().Done()}, mux, make(chan struct{}))
	old := m.untilAccepted(id)
	close(mute)
	newer := m.agent(certificate, nil)
	newer.wantState(t, Accepted)
	if now := m.untilAccepted(id); now == old {
		t.Error("the dead tunnel is still there")
	}
	m.until("counted", func() bool { return m.Counts().Ended["replaced"] == 1 })
}
