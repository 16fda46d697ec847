package writer_test

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"muster/test/daemon"
)

// proxy stands between Muster and a daemon and notes when what was asked.
type proxy struct {
	host string
	port int

	mu      sync.Mutex // guards what follows
	seen    []asked
	writing int        // writes under way: Muster has an answer before its end is noted
	noted   *sync.Cond // a write has ended
	losing  *loss      // what happens to the next write; nil: its answer arrives
}

// loss has the answer to one write get lost. before and after are called when the write arrives and when the daemon
// has answered it.
type loss struct{ before, after func() }

// loseNext has the answer to the next write get lost.
func (p *proxy) loseNext(l loss) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.losing = &l
}

// nextLoss returns the loss that a request suffers, and ends it; nil: none.
func (p *proxy) nextLoss(a asked) (lost *loss) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if a.writes() {
		lost, p.losing = p.losing, nil
	}
	return lost
}

// asked is one request of Muster's. The daemon was at work on it at some time between start and end.
type asked struct {
	connection   string
	method, path string
	start, end   time.Time
}

func (a asked) writes() bool { return a.method != http.MethodGet }

// newProxy shows Muster a certificate of its own: Muster trusts an address that a person typed.
func newProxy(t *testing.T, d *daemon.Daemon) *proxy {
	t.Helper()
	target := &url.URL{Scheme: "http", Host: d.HostPort()}
	p := &proxy{}
	p.noted = sync.NewCond(&p.mu)
	reverse := &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableCompression: true},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) {
			panic(http.ErrAbortHandler) // as if the daemon had closed the connection
		},
	}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := asked{connection: r.RemoteAddr, method: r.Method, path: r.URL.EscapedPath(), start: time.Now()}
		p.begin(a)
		defer p.end(a) // also when the connection breaks
		if lost := p.nextLoss(a); lost != nil {
			lost.before()
			reverse.ServeHTTP(httptest.NewRecorder(), r)
			lost.after()
			panic(http.ErrAbortHandler)
		}
		reverse.ServeHTTP(w, r)
	}))
	s.StartTLS()
	t.Cleanup(s.Close)
	host, port, err := net.SplitHostPort(s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	p.host = host
	if p.port, err = strconv.Atoi(port); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *proxy) begin(a asked) {
	if a.writes() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.writing++
	}
}

func (p *proxy) end(a asked) {
	a.end = time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen = append(p.seen, a)
	if a.writes() {
		p.writing--
		p.noted.Broadcast()
	}
}

// untilNoted waits until the end of every write is noted. The caller holds mu.
func (p *proxy) untilNoted() {
	for p.writing > 0 {
		p.noted.Wait()
	}
}

// around says what Muster did at the time of an edit.
func (p *proxy) around(e edit) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	const before = time.Second
	var lines []string
	for _, a := range p.seen {
		if a.end.After(e.start.Add(-before)) && a.start.Before(e.end.Add(before)) &&
			strings.HasPrefix(a.path, "/rest/config") {
			lines = append(lines, fmt.Sprintf("%6.1f to %6.1f ms: %s %s", ms(a.start.Sub(e.start)), ms(a.end.Sub(e.start)),
				a.method, a.path))
		}
	}
	return fmt.Sprintf("the edit took %.1f ms; around it Muster's calls:\n%s", ms(e.end.Sub(e.start)),
		strings.Join(lines, "\n"))
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// writes are Muster's writes so far.
func (p *proxy) writes() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.untilNoted()
	var all []string
	for _, a := range p.seen {
		if a.writes() {
			all = append(all, a.method+" "+a.path)
		}
	}
	return all
}

// window is a time in which an edit by somebody else at a place is lost, because there is no ETag.
type window struct {
	place      string // "options", "folders/x", "folders", ""
	start, end time.Time
}

// windows are those of all writes so far. The daemon reads, merges and stores what it is sent in one go, so the window
// is that of the call; of one whose body may repeat what was read over the same connection, it begins with that
// reading.
func (p *proxy) windows() []window {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.untilNoted()
	var all []window
	read := map[string]time.Time{}
	for _, a := range p.seen {
		place, config := strings.CutPrefix(a.path, "/rest/config")
		switch {
		case !config:
		case !a.writes():
			read[a.connection] = a.start
		default:
			w := window{place: strings.Trim(place, "/"), start: a.start, end: a.end}
			if began, ok := read[a.connection]; ok && (strings.HasPrefix(w.place, "folders") || w.place == "" ||
				w.place == "devices") {
				w.start = began
			}
			delete(read, a.connection)
			all = append(all, w)
		}
	}
	return all
}
