package stsim

import (
	"crypto/tls"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"muster/internal/core/stconfig"
)

// quick are timings that keep tests short without changing what happens in which order.
var quick = Timing{
	SavedAgain: 50 * time.Millisecond, Drain: 50 * time.Millisecond, Backoff: 200 * time.Millisecond,
	Down: 10 * time.Millisecond, Scan: time.Millisecond, Summary: 10 * time.Millisecond,
}

func startFarm(t *testing.T, o Options) *Farm {
	t.Helper()
	if o.Timing == (Timing{}) {
		o.Timing = quick
	}
	f, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

func startDaemon(t *testing.T, v Version) *Daemon {
	t.Helper()
	return startFarm(t, Options{Versions: []Version{v}}).Daemon(0)
}

// eachVersion runs a test on a daemon of each version.
func eachVersion(t *testing.T, test func(t *testing.T, d *Daemon)) {
	for _, v := range []Version{V1, V2} {
		t.Run(string(v), func(t *testing.T) { test(t, startDaemon(t, v)) })
	}
}

func client(t *testing.T, f *Farm) *http.Client {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	if f.options.Memory {
		transport.DialContext = f.Dial
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request,
		[]*http.Request) error {
		return http.ErrUseLastResponse
	}}
}

// call sends one request with the daemon's key and gives status and body.
func call(t *testing.T, d *Daemon, method, path, body string) (int, string) {
	t.Helper()
	request, err := http.NewRequest(method, d.URL()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-API-Key", d.APIKey())
	response, err := client(t, d.farm).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

func get(t *testing.T, d *Daemon, path string) stconfig.Value {
	t.Helper()
	status, text := call(t, d, "GET", path, "")
	if status != http.StatusOK {
		t.Fatalf("GET %s: %d %s", path, status, text)
	}
	v, err := stconfig.Parse([]byte(text))
	if err != nil {
		t.Fatalf("GET %s: %v", path, err)
	}
	return v
}

func TestAFarmAnswersAsTheDaemonsThatItsOptionsAskFor(t *testing.T) {
	f := startFarm(t, Options{Count: 6, Seed: 7, Folders: 2})
	for i, d := range f.Daemons() {
		if got := get(t, d, "/rest/system/status").Get("myID").Str(); got != string(d.ID()) {
			t.Errorf("daemon %d says it is %s, want %s", i, got, d.ID())
		}
		if got := get(t, d, "/rest/system/version").Get("version").Str(); got != string(d.Version()) {
			t.Errorf("daemon %d says it has version %s, want %s", i, got, d.Version())
		}
		config := get(t, d, "/rest/config")
		if !config.Equal(d.Config()) {
			t.Errorf("daemon %d sends another configuration than it has", i)
		}
		if got := config.Get("folders").Len(); got != 2 {
			t.Errorf("daemon %d has %d folders, want 2", i, got)
		}
		for _, id := range d.FolderIDs() {
			s := get(t, d, "/rest/db/status?folder="+id)
			if integerOf(s.Get("globalFiles")) == 0 || s.Get("state").Str() != "idle" {
				t.Errorf("daemon %d: folder %s is %s with %s files", i, id, s.Get("state").Str(), s.Get("globalFiles").Str())
			}
		}
	}
}

func TestTheSeedDecidesAboutNamesFoldersAndNumbers(t *testing.T) {
	describe := func(seed uint64) string {
		f, err := New(Options{Count: 5, Seed: seed, Folders: 3})
		if err != nil {
			t.Fatal(err)
		}
		var text []string
		for _, d := range f.Daemons() {
			text = append(text, d.Name(), d.Host())
			for config := range d.Config().Get("folders").Values() {
				numbers, err := json.Marshal(d.farm.contents.summary(d, config))
				if err != nil {
					t.Fatal(err)
				}
				text = append(text, config.Get("id").Str(), config.Get("label").Str(), string(numbers))
			}
		}
		return strings.Join(text, "\n")
	}
	first, again, other := describe(1), describe(1), describe(2)
	if first != again {
		t.Error("the same seed makes two different farms")
	}
	if first == other {
		t.Error("two seeds make the same farm")
	}
}
