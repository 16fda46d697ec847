package agent

import (
	"encoding/base64"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"muster/internal/adapter/tunnel"
	"muster/internal/fleet"
	"muster/test/wait"
)

func TestTheManagerReachesTheDaemonWithTheAgentsKey(t *testing.T) {
	t.Parallel()
	d, m := newFakeDaemon(t, nil), newFakeManager(t, tunnel.ALPN)
	a := started(t, d, m, nil)
	c := m.accept()
	if shown := c.conn.ConnectionState().PeerCertificates[0]; !shown.Equal(d.device.Leaf) {
		t.Error("the agent proved another device")
	}
	hello := c.hello()
	if hello.Version != "test" || hello.APIPort == 0 || hello.Observe || hello.Key != "" {
		t.Errorf("got %+v", hello)
	}
	header := http.Header{"X-Api-Key": {"stolen"}, "Cookie": {"a=b"}, "Origin": {"https://evil.example"},
		"Authorization": {"Basic eA=="}, "X-Forwarded-For": {"1.2.3.4"}, "Content-Type": {"application/json"}}
	status, code, text := c.ask(
		http.MethodPatch,
		"/rest/config/folders/a%20b",
		strings.NewReader(`{"paused":true}`),
		header,
	)
	if status != 200 || code != "" || text != "{}" {
		t.Fatalf("got %d %s: %s", status, code, text)
	}
	got := d.requests()[0]
	if got.method != http.MethodPatch || got.target != "/rest/config/folders/a%20b" || got.body != 15 ||
		got.host != d.server.Listener.Addr().String() {
		t.Errorf("the daemon was asked %+v", got)
	}
	for name := range got.header {
		switch name {
		case "X-Api-Key", "Content-Type", "User-Agent", "Accept-Encoding", "Content-Length", "Connection":
		default:
			t.Errorf("the header %s: %v reached the daemon", name, got.header[name])
		}
	}
	if got.header.Get("X-API-Key") != "key one" {
		t.Error("the daemon was asked with another key than its own")
	}
	if r := a.Report(); !r.Connected || len(r.Changes) != 1 || r.Changes[0].Path != "/rest/config/folders/a%20b" {
		t.Errorf("the agent reports %+v", r)
	}
}

func TestAReplacedKeyAndAddressCountForTheNextRequest(t *testing.T) {
	t.Parallel()
	d, m := newFakeDaemon(t, nil), newFakeManager(t, tunnel.ALPN)
	started(t, d, m, nil)
	c := m.accept()
	for _, key := range []string{"key one", "key two", "key three"} {
		if key != "key one" {
			d.server.Close()
			d.start(key)
		}
		if status, code, text := c.ask(http.MethodGet, "/rest/system/status", nil, nil); status != 200 {
			t.Fatalf("with %s: got %d %s: %s", key, status, code, text)
		}
	}
	d.server.Close()
	if status, code, _ := c.ask(http.MethodGet, "/rest/system/status", nil, nil); status != http.StatusBadGateway ||
		code != tunnel.ErrorUnreachable {
		t.Errorf("of a daemon that is down: got %d %s", status, code)
	}
}

// The manager can write any address into the daemon's configuration. The key must go to the daemon, and to nothing
// else.
func TestTheKeyGoesToNothingButTheDaemonOfTheHome(t *testing.T) {
	t.Parallel()
	d, m := newFakeDaemon(t, nil), newFakeManager(t, tunnel.ALPN)
	started(t, d, m, nil)
	c := m.accept()
	var touched atomic.Int32
	other := newFakeDaemon(t, func(http.ResponseWriter, *http.Request) { touched.Add(1) })
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	var inPlain atomic.Bool
	go func() {
		for {
			conn, err := plain.Accept()
			if err != nil {
				return
			}
			heard := make([]byte, 5)
			if n, _ := io.ReadFull(conn, heard); strings.HasPrefix(string(heard[:n]), "GET") {
				inPlain.Store(true)
			}
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
			conn.Close()
		}
	}()
	for name, address := range map[string]string{
		"another daemon": other.server.Listener.Addr().String(), "plain HTTP": plain.Addr().String(),
		"another machine": "192.0.2.1:8384", "metadata": "169.254.169.254:80", "a socket": "/run/nothing.sock",
		"no address": "nowhere",
	} {
		d.configure(address, "key one")
		status, code, text := c.ask(http.MethodGet, "/rest/system/status", nil, nil)
		if name == "no address" { // the files of before count while these make no sense
			continue
		}
		if status != http.StatusBadGateway || code != tunnel.ErrorUnreachable {
			t.Errorf("%s: got %d %s: %s", name, status, code, text)
		}
	}
	if touched.Load() > 0 || len(other.requests()) > 0 {
		t.Error("another daemon was asked")
	}
	if inPlain.Load() {
		t.Error("a request went out in plain HTTP")
	}
}

func TestObserveLetsNothingChange(t *testing.T) {
	t.Parallel()
	d, m := newFakeDaemon(t, nil), newFakeManager(t, tunnel.ALPN)
	started(t, d, m, func(o *Options) { o.Observe = true })
	c := m.accept()
	if !c.hello().Observe {
		t.Error("the agent does not tell that it only observes")
	}
	c.tell(tunnel.Status{State: tunnel.Accepted, Message: "write what you like"})
	for _, rule := range tunnel.List() {
		target := someTarget(rule)
		status, code, _ := c.ask(rule.Method, target, nil, nil)
		switch {
		case rule.Method == http.MethodGet && status != 200:
			t.Errorf("GET %s: got %d %s", target, status, code)
		case rule.Method != http.MethodGet && (status != http.StatusForbidden || code != tunnel.ErrorObserve):
			t.Errorf("%s %s: got %d %s", rule.Method, target, status, code)
		}
	}
	for _, got := range d.requests() {
		if got.method != http.MethodGet {
			t.Errorf("the daemon was asked %+v", got)
		}
	}
}

// someTarget is a request that a rule lets through.
func someTarget(rule tunnel.Rule) string {
	target := "/" + strings.ReplaceAll(rule.Path, "*", "x")
	if rule.Paged {
		target += "?perpage=100"
	}
	return target
}

// Writes beyond configuration are allowed by the person who runs the agent, one kind at a time.
func TestWritesBeyondConfigurationNeedASwitch(t *testing.T) {
	t.Parallel()
	for _, on := range [][]string{nil, {tunnel.SwitchRevert}, tunnel.Switches} {
		t.Run(strings.Join(on, "+"), func(t *testing.T) {
			t.Parallel()
			d, m := newFakeDaemon(t, nil), newFakeManager(t, tunnel.ALPN)
			started(t, d, m, func(o *Options) { o.Allow = on })
			c := m.accept()
			if hello := c.hello(); hello.List != tunnel.ListVersion || !slices.Equal(hello.Allow, on) {
				t.Errorf("got %+v", hello)
			}
			for _, rule := range tunnel.List() {
				status, code, _ := c.ask(rule.Method, someTarget(rule), nil, nil)
				switch {
				case rule.Switch == "" || slices.Contains(on, rule.Switch):
					if status != http.StatusOK {
						t.Errorf("%s %s: got %d %s", rule.Method, rule.Path, status, code)
					}
				case status != http.StatusForbidden || code != tunnel.ErrorSwitch:
					t.Errorf("%s %s: got %d %s", rule.Method, rule.Path, status, code)
				}
			}
		})
	}
}

func TestTheEnrolKeyIsGivenUntilTheDeviceIsAccepted(t *testing.T) {
	t.Parallel()
	d, m := newFakeDaemon(t, nil), newFakeManager(t, tunnel.ALPN)
	a := started(t, d, m, func(o *Options) { o.Key = fleet.NewSecret("enrol") })
	c := m.accept()
	if key := c.hello().Key; key != "enrol" {
		t.Errorf("got the key %q", key)
	}
	c.tell(tunnel.Status{State: tunnel.Waiting, Message: "an administrator has to accept it"})
	if key := c.hello().Key; key != "enrol" {
		t.Errorf("while it waits: got the key %q", key)
	}
	c.tell(tunnel.Status{State: tunnel.Accepted, Message: "managed"})
	if key := c.hello().Key; key != "" {
		t.Errorf("after it was accepted: got the key %q", key)
	}
	if r := a.Report(); r.State != tunnel.Accepted || r.Message != "managed" {
		t.Errorf("the agent reports %+v", r)
	}
	c.conn.Close()
	if key := m.accept().hello().Key; key != "" {
		t.Errorf("on the next connection: got the key %q", key)
	}
}

func TestTheAgentComesBackToAServerThatWasRestarted(t *testing.T) {
	t.Parallel()
	d, m := newFakeDaemon(t, nil), newFakeManager(t, tunnel.ALPN)
	a := started(t, d, m, nil)
	c := m.accept()
	address := m.listener.Addr().String()
	m.listener.Close()
	c.conn.Close()
	wait.For(t, "the agent notices that the connection ended", func() bool { return !a.Report().Connected })
	m.listen(address, tunnel.ALPN)
	m.accept().hello()
	if r := a.Report(); !r.Connected || r.Trouble != "" {
		t.Errorf("the agent reports %+v", r)
	}
}

func TestAServerThatNothingVouchesForIsNotServed(t *testing.T) {
	t.Parallel()
	d, m := newFakeDaemon(t, nil), newFakeManager(t, tunnel.ALPN)
	file := filepath.Join(t.TempDir(), "muster.pem")
	writePEM(t, file, "CERTIFICATE", m.own.Certificate[0])
	stranger := certificateFor(t, "muster")
	strangerFile := filepath.Join(t.TempDir(), "stranger.pem")
	writePEM(t, strangerFile, "CERTIFICATE", stranger.Certificate[0])
	key := publicKeyPrint(m.own.Leaf)
	_, port, _ := net.SplitHostPort(m.listener.Addr().String())
	for name, test := range map[string]struct {
		server, ca   string
		fingerprints []string
		known        bool
	}{
		"nothing is given":      {m.listener.Addr().String(), "", nil, false},
		"its own certificate":   {m.listener.Addr().String(), file, nil, true},
		"another certificate":   {m.listener.Addr().String(), strangerFile, nil, false},
		"another name":          {"localhost:" + port, file, nil, false},
		"its fingerprint":       {m.listener.Addr().String(), "", []string{m.fingerprint()}, true},
		"by another name":       {"localhost:" + port, "", []string{m.fingerprint()}, true},
		"that of its key":       {m.listener.Addr().String(), "", []string{key}, true},
		"one of two":            {m.listener.Addr().String(), "", []string{fleetPrint(stranger), m.fingerprint()}, true},
		"another fingerprint":   {m.listener.Addr().String(), "", []string{fleetPrint(stranger)}, false},
		"both, and one differs": {m.listener.Addr().String(), file, []string{fleetPrint(stranger)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := New(Options{
				Server:       test.server,
				CA:           test.ca,
				Fingerprints: test.fingerprints,
				Home:         d.home,
				Key: fleet.NewSecret(
					"k",
				),
				KeyFile: "/etc/muster/key",
				Observe: true,
				Log:     slog.New(slog.DiscardHandler),
				Proxy:   noProxy,
			})
			if err != nil {
				t.Fatal(err)
			}
			if test.known {
				conn, err := a.connect(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				conn.Close()
				<-m.conns
				return
			}
			err = a.Run(t.Context()) // gives up: a person has to act
			var told *fleet.Error
			if !errors.As(err, &told) || !strings.Contains(told.Message, key) ||
				!strings.Contains(told.Hint, "`muster agent --server https://"+test.server+" --fingerprint "+key+" --home "+d.home+
					" --key-file /etc/muster/key --observe`") {
				t.Errorf("got %v, want the fingerprint and what to type", err)
			}
		})
	}
}

func TestAServerWithoutAgentsIsExplained(t *testing.T) {
	t.Parallel()
	d, m := newFakeDaemon(t, nil), newFakeManager(t, "h2")
	a, err := New(Options{Server: m.listener.Addr().String(), Fingerprints: []string{m.fingerprint()}, Home: d.home,
		Log: slog.New(slog.DiscardHandler), Proxy: noProxy})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.connect(t.Context()); fleet.CodeOf(err) != fleet.CodeUnsupported {
		t.Errorf("got %v", err)
	}
}

func TestTheProxyOfTheEnvironmentIsUsed(t *testing.T) {
	t.Parallel()
	d, m := newFakeDaemon(t, nil), newFakeManager(t, tunnel.ALPN)
	credentials := make(chan string, 10)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	proxy := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		credentials <- r.Header.Get("Proxy-Authorization")
		if r.Method != http.MethodConnect || r.Host != m.listener.Addr().String() {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		to, err := net.Dial("tcp", r.Host)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		from, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		_, _ = io.WriteString(from, "HTTP/1.1 200 OK\r\n\r\n")
		go func() { _, _ = io.Copy(to, from); to.Close() }()
		_, _ = io.Copy(from, to)
		from.Close()
	})}
	go func() { _ = proxy.Serve(listener) }()
	t.Cleanup(func() { proxy.Close() })
	at := &url.URL{Scheme: "http", User: url.UserPassword("ann", "pass"), Host: listener.Addr().String()}
	started(t, d, m, func(o *Options) {
		o.Proxy = func(*http.Request) (*url.URL, error) { return at, nil }
	})
	m.accept().hello()
	if got := <-credentials; got != "Basic "+base64.StdEncoding.EncodeToString([]byte("ann:pass")) {
		t.Errorf("the proxy got the credentials %q", got)
	}

	a, err := New(Options{Server: "muster.example:1", Fingerprints: []string{m.fingerprint()}, Home: d.home,
		Log: slog.New(slog.DiscardHandler), Proxy: func(*http.Request) (*url.URL, error) { return at, nil }})
	if err != nil {
		t.Fatal(err)
	}
	_, err = a.connect(t.Context())
	if fleet.CodeOf(err) != fleet.CodeUnavailable || !strings.Contains(err.Error(), "403 Forbidden") {
		t.Errorf("of a proxy that refuses: got %v", err)
	}
}

func TestAMachineThatSleptIsNoticed(t *testing.T) {
	t.Parallel()
	for elapsed, want := range map[[2]time.Duration]bool{
		{clockEvery, clockEvery}:        false,
		{clockEvery, clockEvery + 1e9}:  false,
		{clockEvery, time.Hour}:         true,
		{clockEvery, -time.Hour}:        false, // the clock was put back
		{time.Minute, 70 * time.Second}: false, // this program had no turn
	} {
		if slept(elapsed[0], elapsed[1]) != want {
			t.Errorf("the program's clock went on %v, the wall clock %v: want %t", elapsed[0], elapsed[1], want)
		}
	}
}

func TestAddressesOfTheServer(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"muster.example": "https://muster.example:2525", "muster.example:443": "https://muster.example:443",
		"https://muster.example":       "https://muster.example:443",
		"https://muster.example:2525/": "https://muster.example:2525",
		"[::1]:2525":                   "https://[::1]:2525", "10.0.0.1": "https://10.0.0.1:2525",
		"http://muster.example:2525": "", "": "", "https://": "", "ftp://x": "", "https://a:b@muster.example": "",
		"https://muster.example/prefix": "", "muster.example/?x": "",
	} {
		host, port, err := parseServer(text)
		got := (&server{host: host, port: port}).URL()
		var told *fleet.Error
		switch {
		case want == "" && (!errors.As(err, &told) || told.Hint == ""):
			t.Errorf("%q: got %s, %v; want an error that says what to do", text, got, err)
		case want != "" && (err != nil || got != want):
			t.Errorf("%q: got %s, %v; want %s", text, got, err, want)
		}
	}
}

func TestUsualHomes(t *testing.T) {
	t.Parallel()
	variables := map[string]string{"XDG_CONFIG_HOME": "/c", "STHOMEDIR": "/st", "LOCALAPPDATA": "/local"}
	for system, want := range map[string][]string{
		"linux":   {"/st", "/c/syncthing", "/u/.local/state/syncthing"},
		"darwin":  {"/st", "/u/Library/Application Support/Syncthing", "/c/syncthing", "/u/.local/state/syncthing"},
		"windows": {"/st", "/local/Syncthing"},
	} {
		got := usualHomes(system, "/u", func(name string) string { return variables[name] })
		if strings.Join(got, ":") != strings.Join(want, ":") {
			t.Errorf("%s: got %v, want %v", system, got, want)
		}
	}
}

func TestWildcardsAreReachedOnLoopback(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"127.0.0.1:8384": "127.0.0.1:8384", ":8384": "127.0.0.1:8384", "0.0.0.0:1": "127.0.0.1:1", "[::]:1": "[::1]:1",
		"localhost:8384": "localhost:8384", "/run/st.sock": "/run/st.sock", "unix:///run/st.sock": "/run/st.sock",
		"nowhere": "", "127.0.0.1:x": "", "127.0.0.1:70000": "",
	} {
		home := &Home{}
		err := home.parseAddress(address)
		if want == "" {
			if err == nil {
				t.Errorf("%s: got %s", address, home.address())
			}
		} else if err != nil || home.address() != want {
			t.Errorf("%s: got %s, %v; want %s", address, home.address(), err, want)
		}
	}
}
