package listen

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"muster/internal/adapter/tunnel"
)

// port is a socket that serves clients and agents.
type port struct {
	*Socket
	t      *testing.T
	agents chan *tls.Conn // served now
	places sync.WaitGroup // of agents
	client tls.Certificate
}

func listenForAgents(t *testing.T, change func(*Options)) *port {
	t.Helper()
	p := &port{t: t, agents: make(chan *tls.Conn, 100)}
	own := issueNow(t)
	var err error
	if p.client, err = tls.X509KeyPair([]byte(own.cert), []byte(own.key)); err != nil {
		t.Fatal(err)
	}
	o := Options{Address: "127.0.0.1:0", Home: t.TempDir(), Clients: 8, Reserve: 1, Reserved: reserved,
		Log: slog.New(slog.DiscardHandler), AgentPlace: func() (func(), bool) { p.places.Add(1); return p.places.Done, true }}
	o.TLSCert, o.TLSKey = t.TempDir()+"/cert.pem", t.TempDir()+"/key.pem"
	write(t, o.TLSCert, own.cert)
	write(t, o.TLSKey, own.key)
	change(&o)
	if p.Socket, err = Listen(o); err != nil {
		t.Fatal(err)
	}
	p.ServeAgents(func(conn *tls.Conn, known func()) {
		known()
		p.agents <- conn
		_, _ = io.Copy(io.Discard, conn)
	})
	t.Cleanup(func() { _ = p.Close() })
	return p
}

func (p *port) serve() {
	server := Server(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.TLS.PeerCertificates) > 0 {
			http.Error(w, "a certificate", http.StatusTeapot)
		}
	}), slog.New(slog.DiscardHandler))
	go func() { _ = server.Serve(p.Socket) }()
	p.t.Cleanup(func() { _ = server.Close() })
}

func (p *port) dial(protocols []string, certificates ...tls.Certificate) (*tls.Conn, bool, error) {
	asked := false
	config := &tls.Config{InsecureSkipVerify: true, NextProtos: protocols, MinVersion: tls.VersionTLS12,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			asked = true
			if len(certificates) == 0 {
				return &tls.Certificate{}, nil
			}
			return &certificates[0], nil
		}}
	conn, err := tls.Dial("tcp", p.Addr().String(), config)
	if err == nil {
		p.t.Cleanup(func() { _ = conn.Close() })
		_ = conn.SetReadDeadline(time.Now().Add(30 * time.Second))
	}
	return conn, asked, err
}

func TestOnlyAgentsAreAskedForACertificate(t *testing.T) {
	t.Parallel()
	p := listenForAgents(t, func(*Options) {})
	p.serve()
	for _, protocols := range [][]string{nil, {"http/1.1"}, {"h2", "http/1.1"}} {
		conn, asked, err := p.dial(protocols, p.client)
		if err != nil || asked {
			t.Errorf("%v: asked for a certificate: %v, %v", protocols, asked, err)
		}
		if conn != nil {
			_ = conn.Close()
		}
	}
	client := &http.Client{Transport: &http.Transport{ForceAttemptHTTP2: true,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true, Certificates: []tls.Certificate{p.client}}}}
	response, err := client.Get("https://" + p.Addr().String())
	if err != nil || response.StatusCode != http.StatusOK || response.ProtoMajor != 2 {
		t.Fatalf("a browser gets %+v, %v", response, err)
	}
	_ = response.Body.Close()
	conn, asked, err := p.dial([]string{"h2", tunnel.ALPN}, p.client)
	if err != nil || !asked || conn.ConnectionState().NegotiatedProtocol != tunnel.ALPN {
		t.Fatalf("an agent is asked for a certificate: %v, %v", asked, err)
	}
	served := <-p.agents
	if got := served.ConnectionState().PeerCertificates[0].Raw; string(got) != string(p.client.Certificate[0]) {
		t.Error("another certificate came through")
	}
	if served.ConnectionState().Version != tls.VersionTLS13 || served.ConnectionState().DidResume {
		t.Error("not a full handshake of TLS 1.3")
	}
	_ = conn.Close()
	p.places.Wait() // given back
}

func TestAnAgentWithoutCertificateIsNotServed(t *testing.T) {
	t.Parallel()
	p := listenForAgents(t, func(*Options) {})
	p.serve()
	conn, _, err := p.dial([]string{tunnel.ALPN})
	if err == nil { // TLS 1.3 tells with the first read
		_, err = conn.Read(make([]byte, 1))
	}
	if err == nil || !strings.Contains(err.Error(), "certificate required") {
		t.Errorf("got %v", err)
	}
	if len(p.agents) != 0 {
		t.Error("it is served")
	}
}

// Agents outnumber the connections of the API by far, and neither may take the other's places.
func TestAgentsTakeNoPlacesOfClients(t *testing.T) {
	t.Parallel()
	p := listenForAgents(t, func(o *Options) { o.Clients = 4 })
	p.serve()
	for range 20 {
		if _, _, err := p.dial([]string{tunnel.ALPN}, p.client); err != nil {
			t.Fatal(err)
		}
		<-p.agents
	}
	client := &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{DisableKeepAlives: true,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	for range 4 {
		response, err := client.Get("https://" + p.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
	}
}

func TestAgentsWithoutAPlaceAreTurnedAway(t *testing.T) {
	t.Parallel()
	p := listenForAgents(t, func(o *Options) { o.AgentPlace = func() (func(), bool) { return nil, false } })
	p.serve()
	conn, _, err := p.dial([]string{tunnel.ALPN}, p.client)
	if err == nil {
		_, err = conn.Read(make([]byte, 1))
	}
	if err == nil || len(p.agents) != 0 {
		t.Errorf("it is served, %v", err)
	}
}

func TestAPortForAgentsServesNothingElse(t *testing.T) {
	t.Parallel()
	p := listenForAgents(t, func(o *Options) { o.OnlyAgents, o.TLSCert, o.TLSKey = true, "", "" })
	done := make(chan error, 1)
	go func() { done <- p.AcceptAgents() }()
	if _, _, err := p.dial([]string{"h2"}); err == nil {
		t.Error("another client is served")
	}
	if _, _, err := p.dial([]string{tunnel.ALPN}, p.client); err != nil {
		t.Error(err)
	}
	<-p.agents
	_ = p.Close()
	if err := <-done; err == nil {
		t.Error("it goes on after it was closed")
	}
}

// A connection of an agent does not keep the server from stopping.
func TestAgentsOutliveTheServer(t *testing.T) {
	t.Parallel()
	p := listenForAgents(t, func(*Options) {})
	server := Server(http.NotFoundHandler(), slog.New(slog.DiscardHandler))
	go func() { _ = server.Serve(p.Socket) }()
	conn, _, err := p.dial([]string{tunnel.ALPN}, p.client)
	if err != nil {
		t.Fatal(err)
	}
	served := <-p.agents
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := served.Write([]byte("x")); err != nil {
		t.Error(err)
	}
	if _, err := conn.Read(make([]byte, 1)); err != nil {
		t.Error(err)
	}
}

func TestAttemptsFromOneAddressAreBounded(t *testing.T) {
	t.Parallel()
	a := newAttempts[netip.Prefix](attemptBurst, attemptRate)
	one, other := networkOf("192.0.2.1:1000"), networkOf("[2001:db8::1]:1000")
	if networkOf("192.0.2.1:2000") != one || networkOf("[2001:db8::2]:1") != other || networkOf("192.0.2.2:1") == one {
		t.Error("networks are told apart wrongly")
	}
	for range attemptBurst {
		if !a.room(one) || !a.charge(one) {
			t.Fatal("refused within the burst")
		}
	}
	allowed := 0
	for range 1000 {
		if a.room(one) && a.charge(one) {
			allowed++
		}
	}
	if allowed > 100 || !a.room(other) {
		t.Errorf("%d attempts beyond the burst are allowed, others: %v", allowed, a.room(other))
	}
	for range 50 {
		a.refund(one)
	}
	if !a.room(one) {
		t.Error("registered devices count as attempts")
	}
}

// Agents that came while others were in the handshake used up what their address may begin, and waited for minutes.
func TestAnAttemptThatFoundNoPlaceIsNotCounted(t *testing.T) {
	t.Parallel()
	p := listenForAgents(t, func(o *Options) { o.Clients = 8 }) // two handshakes at a time
	p.serve()
	for range cap(p.gate.handshakes) {
		p.gate.handshakes <- struct{}{}
	}
	for range 2 * attemptBurst {
		if _, _, err := p.dial([]string{tunnel.ALPN}, p.client); err == nil {
			t.Fatal("it found a place")
		}
	}
	for range cap(p.gate.handshakes) {
		<-p.gate.handshakes
	}
	if _, _, err := p.dial([]string{tunnel.ALPN}, p.client); err != nil {
		t.Errorf("the first agent that finds a place: %v", err)
	}
}

// The agents of a site that were in the handshake at the same time used up what their address may begin.
func TestHandshakesUnderWayAreNotCounted(t *testing.T) {
	t.Parallel()
	p := listenForAgents(t, func(o *Options) { o.Clients = 4000 })
	p.gate.attempts = newAttempts[netip.Prefix](5, 0)
	p.serve()
	p.ServeAgents(func(_ *tls.Conn, known func()) { known() })
	halfway, proofs, ended := make(chan error), make(chan struct{}), make(chan error)
	prove := func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		halfway <- nil
		<-proofs
		return &p.client, nil
	}
	for range 10 {
		go func() {
			conn, err := tls.Dial("tcp", p.Addr().String(), &tls.Config{InsecureSkipVerify: true,
				NextProtos: []string{tunnel.ALPN}, MinVersion: tls.VersionTLS13, GetClientCertificate: prove})
			if err != nil {
				halfway <- err
				return
			}
			_, err = conn.Read(make([]byte, 1)) // until it was handed over
			_ = conn.Close()
			ended <- err
		}()
	}
	for range 10 {
		if err := <-halfway; err != nil {
			t.Fatalf("turned away: %v", err)
		}
	}
	close(proofs)
	for range 10 {
		if err := <-ended; !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("not handed over: %v", err)
		}
	}
}

// A registered device that connected in a loop cost the server as many handshakes as it liked.
func TestADeviceThatConnectsInALoopCounts(t *testing.T) {
	t.Parallel()
	p := listenForAgents(t, func(o *Options) { o.Clients = 4000 }) // there is always a place
	p.ServeAgents(func(_ *tls.Conn, known func()) { known() })
	p.serve()
	for range 2 * (attemptBurst + returnBurst) {
		conn, _, err := p.dial([]string{tunnel.ALPN}, p.client)
		if err != nil {
			return
		}
		_ = conn.Close()
	}
	t.Error("it is let in as often as it likes")
}

func TestAPortForAgentsHasAllItsPlacesForThem(t *testing.T) {
	t.Parallel()
	shared := listenForAgents(t, func(o *Options) { o.Clients = 16 })
	own := listenForAgents(t, func(o *Options) { o.Clients, o.OnlyAgents, o.TLSCert, o.TLSKey = 16, true, "", "" })
	if a, b := cap(shared.gate.handshakes), cap(own.gate.handshakes); a != 4 || b != 17 {
		t.Errorf("%d handshakes at a time on a shared port and %d on their own, want 4 and 17", a, b)
	}
}
