package cli

import (
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"muster/api"
	"muster/internal/fleet"
)

// daemonHome is a folder as a Syncthing daemon leaves it, as far as enroll looks at it.
func daemonHome(t *testing.T, gui string) string {
	t.Helper()
	home := t.TempDir()
	write(t, home, "cert.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("any")})))
	write(t, home, "https-cert.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("other")})))
	write(t, home, "config.xml",
		`<configuration><gui enabled="true"><address>`+gui+`</address><apikey>k</apikey></gui></configuration>`)
	return home
}

// registry is a server that knows one device, whose state changes from one look to the next; the last one stays.
func registry(t *testing.T, states ...api.DeviceState) (address string, written func() []string) {
	t.Helper()
	var mu sync.Mutex
	var writes []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		var value any = api.Device{Label: "nas", DeviceID: "ID", APIAddress: "127.0.0.1", APIPort: 8384}
		switch {
		case r.Method == http.MethodPut:
			writes = append(writes, r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:])
			if strings.Contains(r.URL.Path, "/tags/") {
				value = []string{}
			}
		case strings.HasSuffix(r.URL.Path, "/state"):
			value = states[0]
			if len(states) > 1 {
				states = states[1:]
			}
		}
		_ = json.NewEncoder(w).Encode(value)
	}))
	t.Cleanup(server.Close)
	return server.URL, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return writes
	}
}

func TestEnrollWritesNothingBeforeEverythingIsRight(t *testing.T) {
	home, elsewhere := daemonHome(t, "127.0.0.1:8384"), daemonHome(t, "no port")
	address, written := registry(t, api.DeviceState{Connection: "online"})
	for name, test := range map[string]struct {
		flags []string
		says  string
	}{
		"no home":    {[]string{"--home", t.TempDir(), "--server", address}, "config.xml"},
		"no address": {[]string{"--home", elsewhere, "--server", address}, "host and port"},
		"no scheme": {[]string{"--home", home, "--server", strings.TrimPrefix(address, "http://")},
			"looks like http://"},
		"a tag that is none": {[]string{"--home", home, "--server", address, "--tag", "good", "--tag", "a\tb"},
			"control characters"},
		"a blank label":      {[]string{"--home", home, "--server", address, "--label", ""}, "the label is blank"},
		"a label of blanks":  {[]string{"--home", home, "--server", address, "--label", "  "}, "the label is blank"},
		"a server elsewhere": {[]string{"--home", home, "--server", "http://muster.example"}, "--address"},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, errs := run(t, append([]string{"enroll", "--token", "x"}, test.flags...)...)
			if !refuses(code) || out != "" || !strings.Contains(errs, test.says) {
				t.Errorf("got %d and\n%s%swant %q", code, out, errs, test.says)
			}
			if got := written(); len(got) > 0 {
				t.Errorf("%v was written", got)
			}
		})
	}
}

func TestEnrollSaysWhatStaysAndNotWhatPasses(t *testing.T) {
	before := api.DeviceState{Connection: "unreachable", Reason: "an old reason"}
	there := api.DeviceState{Connection: "online", Configuration: "inSync"}
	away := api.DeviceState{Connection: "unreachable", Reason: "nothing listens", Next: "Start the daemon."}
	home := daemonHome(t, "0.0.0.0:8384")
	for name, test := range map[string]struct {
		states    []api.DeviceState
		wait      string
		out, errs string
	}{
		"at once": {[]api.DeviceState{before, there}, "60s", "Online: configuration inSync\n", ""},
		"at last": {[]api.DeviceState{before, away, away, away, there}, "60s", "Online: configuration inSync\n",
			"unreachable: nothing listens\n"},
		"does not wait": {[]api.DeviceState{away}, "0s", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			address, written := registry(t, test.states...)
			code, out, errs := run(t, "enroll", "--token", "x", "--server", address, "--home", home, "--tag", "office,site",
				"--wait", test.wait)
			if want := "Updated \"nas\", ID, at 127.0.0.1:8384\n" + test.out; code != exitDone || out != want ||
				errs != test.errs {
				t.Errorf("got %d and\n%s%swant\n%s%s", code, out, errs, want, test.errs)
			}
			if got := strings.Join(written()[1:], " "); got != "office site" {
				t.Errorf("got the tags %q, want both", got)
			}
		})
	}
}

func TestWhoIsNotOnlineIsSaidToBeRegistered(t *testing.T) {
	for want, last := range map[string]api.DeviceState{
		"the daemon is registered, but not online after 30s: nothing listens": {Reason: "nothing listens",
			Next: "Start the daemon."},
		"the daemon is registered, but not online after 30s": {},
	} {
		var e *fleet.Error
		if err := notOnline(last, 30*time.Second); !errors.As(err, &e) || e.Error() != want || e.Hint == "" {
			t.Errorf("got %v, want %q and what to do", err, want)
		}
	}
}
