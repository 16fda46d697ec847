package recipes

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"sync"
	"testing"
	"time"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
	"muster/internal/stsim"
	"muster/test/daemon"
	"muster/test/simulated"
	"muster/test/wait"
)

// write is one request that changes something.
type write struct{ method, path, body string }

// living is a daemon, and a proxy in front of it that Muster talks to and that keeps every write.
type living struct {
	label    string
	id       fleet.DeviceID
	key      string
	upstream *url.URL
	port     int    // of the proxy, on 127.0.0.1
	cut      func() // ends Muster's connections, as a daemon that ends does
	start    stconfig.Value
	wanted   stconfig.Value // start, with what a person edited since
	migrated []string       // what an upgrade changed since

	mu     sync.Mutex
	writes []write
}

// noKeepAlive: daemons close idle connections after 15 s, perhaps just when one is used again.
var noKeepAlive = &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}

func newLiving(t *testing.T, label string, id fleet.DeviceID, key, upstream string) *living {
	t.Helper()
	address, err := url.Parse(upstream)
	if err != nil {
		t.Fatal(err)
	}
	l := &living{label: label, id: id, key: key, upstream: address}
	forward := &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(address) },
		Transport: noKeepAlive,
		// A daemon that does not answer looks like one, not like a proxy.
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	proxy := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			l.keep(r)
		}
		forward.ServeHTTP(w, r)
	}))
	proxy.Config.ErrorLog = nil
	t.Cleanup(proxy.Close)
	t.Cleanup(proxy.CloseClientConnections)
	l.cut = proxy.CloseClientConnections
	at, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	if l.port, err = strconv.Atoi(at.Port()); err != nil {
		t.Fatal(err)
	}
	return l
}

func (l *living) keep(r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	l.mu.Lock()
	defer l.mu.Unlock()
	l.writes = append(l.writes, write{r.Method, r.URL.RequestURI(), string(body)})
}

// taken are the writes since it was asked last.
func (l *living) taken() []write {
	l.mu.Lock()
	defer l.mu.Unlock()
	writes := l.writes
	l.writes = nil
	return writes
}

// call asks the daemon itself, past the proxy, and waits for its API where that restarts.
func (l *living) call(t *testing.T, method, path string, body []byte) stconfig.Value {
	t.Helper()
	client := http.Client{Transport: noKeepAlive, Timeout: 20 * time.Second}
	var status int
	var answer []byte
	wait.ForState(t, func() string { return l.label + " does not answer" }, func() bool {
		request, err := http.NewRequestWithContext(t.Context(), method, l.upstream.String()+path, bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("X-API-Key", l.key)
		response, err := client.Do(request)
		if err != nil {
			return false
		}
		defer response.Body.Close()
		answer, err = io.ReadAll(response.Body)
		status = response.StatusCode
		return err == nil
	})
	if status != http.StatusOK {
		t.Fatalf("%s %s of %s: %d %s", method, path, l.label, status, answer)
	}
	if len(bytes.TrimSpace(answer)) == 0 {
		return stconfig.Value{}
	}
	v, err := stconfig.Parse(answer)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// doc is the daemon's configuration, with the ignore patterns of the page's folder as templates see them.
func (l *living) doc(t *testing.T) stconfig.Value {
	t.Helper()
	doc := l.call(t, "GET", "/rest/config", nil)
	lines := l.call(t, "GET", "/rest/db/ignores?folder=photos", nil).Get("ignore")
	return doc.With("ignores", stconfig.Obj(stconfig.Member{Name: "photos", Value: lines}))
}

// prepare makes what the page says that every recipe starts from.
func (l *living) prepare(t *testing.T, fleet names) {
	t.Helper()
	var devices, shares []any
	for label, id := range fleet {
		devices = append(devices, map[string]any{"deviceID": id, "name": "Machine of " + label,
			"addresses": []string{"tcp://127.0.0.1:1"}})
		shares = append(shares, map[string]any{"deviceID": id})
	}
	l.put(t, "/rest/config/devices", devices)
	l.put(t, "/rest/config/folders",
		[]any{map[string]any{"id": "photos", "label": "Photos", "path": "~/photos", "devices": shares}})
	l.start = l.call(t, "GET", "/rest/config", nil)
}

func (l *living) put(t *testing.T, path string, body any) {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	l.call(t, "PUT", path, text)
}

// reset brings the daemon back to where every recipe starts.
func (l *living) reset(t *testing.T) {
	t.Helper()
	l.call(t, "POST", "/rest/db/ignores?folder=photos", []byte(`{"ignore":[]}`))
	l.call(t, "PUT", "/rest/config", l.start.JSON())
	l.taken()
}

// startReal starts two daemons of Debian's.
func startReal(t *testing.T, labels []string) []*living {
	var all []*living
	for _, label := range labels {
		d := daemon.Start(t, daemon.Options{})
		all = append(all, newLiving(t, label, d.ID, d.APIKey, "http://"+d.HostPort()))
	}
	return all
}

// startSimulated starts two daemons of stsim.
func startSimulated(version stsim.Version) func(*testing.T, []string) []*living {
	return func(t *testing.T, labels []string) []*living {
		return livingIn(t, startFarm(t, version, len(labels)), labels)
	}
}

func startFarm(t *testing.T, version stsim.Version, count int) *stsim.Farm {
	t.Helper()
	farm := simulated.Start(t, stsim.Options{Count: count, Versions: []stsim.Version{version}, Folders: -1, Quiet: true})
	return farm
}

// livingIn are the first daemons of a farm.
func livingIn(t *testing.T, farm *stsim.Farm, labels []string) []*living {
	t.Helper()
	var all []*living
	for i, label := range labels {
		d := farm.Daemon(i)
		all = append(all, newLiving(t, label, d.ID(), d.APIKey(), d.URL()))
	}
	return all
}
