package canary_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"

	"muster/test/daemon"
)

// proxy stands before a daemon, and can break what it answers: the error about that quotes the answer.
type proxy struct {
	port    int
	forward *httputil.ReverseProxy
	broken  atomic.Int32
}

// What a proxy breaks.
const (
	breaksNothing = iota
	breaksWrites
	breaksAll
)

func newProxy(t *testing.T, d *daemon.Daemon) *proxy {
	t.Helper()
	p := &proxy{forward: httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: d.HostPort()})}
	s := httptest.NewTLSServer(p)
	t.Cleanup(s.Close)
	t.Cleanup(s.CloseClientConnections)
	p.port = s.Listener.Addr().(*net.TCPAddr).Port
	return p
}

func (p *proxy) breakWrites() { p.broken.Store(breaksWrites) }
func (p *proxy) breakAll()    { p.broken.Store(breaksAll) }

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	broken := p.broken.Load()
	if broken == breaksNothing || broken == breaksWrites && r.Method == http.MethodGet {
		p.forward.ServeHTTP(w, r)
		return
	}
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	_, _ = conn.Write([]byte("HTTP/1.1 " + inCause + " OK\r\n\r\n")) // no status: the client quotes the line
	_ = conn.Close()
}
