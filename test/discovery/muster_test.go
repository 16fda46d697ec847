//muster:needs daemons
package discovery_test

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"muster/internal/adapter/discovery"
	"muster/internal/fleet"
	"muster/test/daemon"
	"muster/test/server"
	"muster/test/wait"
)

func TestMain(m *testing.M) {
	server.Main()
	m.Run()
}

func TestADeviceWithoutAnAddressIsFoundMirroredAndConfigured(t *testing.T) {
	s := startServer(t)
	real := daemon.Start(t, daemon.Options{TLS: true, AnnounceTo: s.url()})
	// it has announced itself
	find(t, newDiscovery(t, discovery.Options{Servers: []string{s.url()}, AllowLocal: true}), record(real))

	muster := server.Start(t, server.Options{DiscoveryServers: []string{s.url()}, DiscoveryAllowLocal: true})
	muster.Template("set", "options.maxSendKbps", "1234\n", "found")
	muster.Register(real.ID, real.APIKey, "", real.Port, "found")
	state := muster.WaitConfiguration(real.ID, fleet.ConfigInSync)
	if want := net.JoinHostPort("localhost", fmt.Sprint(real.Port)); state.FoundBy != discovery.ByGlobal ||
		state.Address != want {
		t.Errorf("found by %q at %q, want global at %s", state.FoundBy, state.Address, want)
	}
	var options struct{ MaxSendKbps int }
	real.GetJSON("/rest/config/options", &options)
	if options.MaxSendKbps != 1234 {
		t.Errorf("the daemon has %d, the template says 1234", options.MaxSendKbps)
	}
	wait.Until(t, func() string { // it is kept a moment after the device is online
		status, err := muster.Client.DeviceStatus(t.Context(), string(real.ID))
		if err != nil || status.MyID != string(real.ID) {
			return fmt.Sprintf("mirrored %+v, %v", status, err)
		}
		return ""
	})
	device, err := muster.Client.Device(t.Context(), string(real.ID))
	if err != nil || device.APIAddress != "" {
		t.Errorf("what was found is in the record: %q, %v", device.APIAddress, err)
	}

	t.Run("a Muster that does not allow local addresses stays away", func(t *testing.T) {
		strict := server.Start(t, server.Options{DiscoveryServers: []string{s.url()}})
		strict.Register(real.ID, real.APIKey, "", real.Port)
		strict.WaitReason(real.ID, string(fleet.NotFound), "loopback")
	})
}

// trap is an API, and a sync port, that wants API keys: it says nothing about who it is before it has one.
type trap struct {
	port int

	mu       sync.Mutex // guards what follows
	keys     map[string]bool
	requests int
	syncs    int // handshakes of the sync protocol
}

// newTrap answers on every loopback address.
func newTrap(t *testing.T) *trap {
	t.Helper()
	made := &trap{keys: map[string]bool{}}
	api := httptest.NewUnstartedServer(made)
	api.Config.ErrorLog = nil
	listener, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	_ = api.Listener.Close()
	api.Listener = tapped{listener, made}
	api.TLS = &tls.Config{NextProtos: []string{"http/1.1", "bep/1.0"}, VerifyConnection: made.shookHands}
	api.StartTLS()
	t.Cleanup(api.Close)
	made.port = listener.Addr().(*net.TCPAddr).Port
	return made
}

func (tr *trap) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	tr.mu.Lock()
	tr.requests++
	tr.mu.Unlock()
	var seen bytes.Buffer
	_ = r.Write(&seen)
	tr.look(seen.Bytes())
	fmt.Fprintf(w, `{"myID":%q,"startTime":"now"}`, strings.TrimPrefix(r.Header.Get("X-API-Key"), bait))
}

func (tr *trap) shookHands(state tls.ConnectionState) error {
	if state.NegotiatedProtocol == "bep/1.0" {
		tr.mu.Lock()
		defer tr.mu.Unlock()
		tr.syncs++
	}
	return nil
}

// look searches for API keys, which begin with bait.
func (tr *trap) look(sent []byte) {
	if _, key, found := bytes.Cut(sent, []byte(bait)); found {
		tr.mu.Lock()
		defer tr.mu.Unlock()
		tr.keys[string(key[:min(len(key), 20)])] = true
	}
}

func (tr *trap) caught() (keys, requests, syncs int) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return len(tr.keys), tr.requests, tr.syncs
}

const bait = "bait-"

func keyOf(id fleet.DeviceID) string { return bait + string(id) }

// tapped also reads what comes in without TLS.
type tapped struct {
	net.Listener
	trap *trap
}

func (l tapped) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	return tappedConn{conn, l.trap}, err
}

type tappedConn struct {
	net.Conn
	trap *trap
}

func (c tappedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.trap.look(p[:n])
	return n, err
}

// lies are answers of a discovery server that lead to the trap, or are to make Muster stumble.
func lies(port int) []string {
	var all []string
	say := func(addresses ...string) {
		text, _ := json.Marshal(map[string]any{"addresses": addresses})
		all = append(all, string(text))
	}
	hosts := []string{"127.0.0.1", "127.1.2.3", "localhost", "LOCALHOST", "localhost.", "[::1]", "[::ffff:127.0.0.1]",
		"[0:0:0:0:0:0:0:1]"}
	for _, host := range hosts {
		for _, scheme := range []string{"tcp", "tcp4", "tcp6", "quic", "http", "https", "relay", "udp", "", "dynamic+tcp"} {
			say(fmt.Sprintf("%s://%s:%d", scheme, host, port))
			say(fmt.Sprintf("%s://%s:1", scheme, host))
		}
		for _, rest := range []string{"/", "/rest/config", "?id=X", "#x", "\r\nX-API-Key: x", " "} {
			say(fmt.Sprintf("tcp://%s:%d%s", host, port, rest))
		}
		say(fmt.Sprintf("tcp://user:password@%s:%d", host, port))
		say(fmt.Sprintf("relay://192.0.2.1:443/?id=%s", host), fmt.Sprintf("tcp://%s:%d", host, port), "http://evil.invalid")
	}
	good := fmt.Sprintf(`{"addresses":["tcp://127.0.0.1:%d"]}`, port)
	return append(all, "", "null", "7", `"x"`, "[]", "{}", good+good, good+"x", good[:15], "\ufeff"+good, "<html>",
		"\x00\x00",
		`{"addresses":null}`, `{"addresses":"tcp://127.0.0.1:1"}`, `{"addresses":[1]}`, `{"addresses":[null]}`,
		`{"addresses":[[]]}`,
		strings.Repeat("[", 20_000), `{"addresses":["`+strings.Repeat("a", 60_000)+`"]}`, good+strings.Repeat(" ", 1<<20),
		`{"addresses":[`+strings.Repeat(`"tcp://127.0.0.1:1",`, 1000)+fmt.Sprintf(`"tcp://127.0.0.1:%d"]}`, port))
}

// A discovery server that lies about every device gets Muster to knock at its trap, and no API key.
func TestADiscoveryServerThatLiesGetsNoKey(t *testing.T) {
	bad := newTrap(t)
	answers := lies(bad.port)
	if len(answers) < 200 {
		t.Fatalf("only %d hostile answers", len(answers))
	}
	says := map[string]string{}
	ids := make([]fleet.DeviceID, len(answers))
	for i, answer := range answers {
		ids[i] = fleet.DeviceIDOf(sha256.Sum256(fmt.Appendf(nil, "victim %d", i)))
		says[string(ids[i])] = answer
	}
	liar := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-API-Key") != "" {
			bad.look([]byte(r.Header.Get("X-API-Key")))
		}
		_, _ = w.Write([]byte(says[r.URL.Query().Get("device")]))
	}))
	t.Cleanup(liar.Close)
	pin := fleet.DeviceIDOf(sha256.Sum256(liar.Certificate().Raw))
	muster := server.Start(t, server.Options{DiscoveryServers: []string{liar.URL + "/?id=" + string(pin)},
		DiscoveryAllowLocal: true})
	for _, id := range ids {
		muster.Register(id, keyOf(id), "", bad.port)
	}
	for i, id := range ids {
		wait.Until(t, func() string {
			state, err := muster.Client.DeviceState(t.Context(), string(id))
			switch {
			case err != nil:
				return err.Error()
			case state.Connection == string(fleet.Online):
				t.Fatalf("answer %d, %.80q: the trap passed for the device", i, answers[i])
			case state.Connection == string(fleet.NeverSeen):
				return fmt.Sprintf("answer %d, %.80q: not looked at yet", i, answers[i])
			}
			return ""
		})
	}
	keys, requests, syncs := bad.caught()
	if keys > 0 || syncs < 20 {
		t.Errorf("the trap got %d API keys in %d requests; %d devices were asked to prove themselves", keys, requests, syncs)
	}

	// The trap works: somebody who types its address gives the key away.
	muster.Register(ids[0], keyOf(ids[0]), "127.0.0.1", bad.port)
	wait.Until(t, func() string {
		if keys, _, _ := bad.caught(); keys == 1 {
			return ""
		}
		return "the trap does not notice a key"
	})
}
