package listen

import (
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"muster/internal/tunnel"
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
	p.ServeAgents(func(conn *tls.Conn, accepted func()) {
		accepted()
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
	var a attempts
	one, other := networkOf("192.0.2.1:1000"), networkOf("[2001:db8::1]:1000")
	if networkOf("192.0.2.1:2000") != one || networkOf("[2001:db8::2]:1") != other || networkOf("192.0.2.2:1") == one {
		t.Error("networks are told apart wrongly")
	}
	for range attemptBurst {
		if !a.charge(one) {
			t.Fatal("refused within the burst")
		}
	}
	refused := 0
	for range 1000 {
		if !a.charge(one) {
			refused++
		}
	}
	if refused < 900 {
		t.Errorf("%d of 1000 attempts were refused", refused)
	}
	for range 50 {
		a.refund(one)
	}
	if !a.charge(one) {
		t.Error("accepted devices count as attempts")
	}
}
