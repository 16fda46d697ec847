// Package discovery_test finds real daemons through a real discovery server, all on loopback.
package discovery_test

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"muster/internal/adapter/discovery"
	"muster/internal/adapter/syncthing"
	"muster/internal/fleet"
	"muster/test/daemon"
	"muster/test/wait"
)

// discosrv is a stdiscosrv of the test's own.
type discosrv struct {
	address string
	id      fleet.DeviceID
}

func (s discosrv) url() string { return fmt.Sprintf("https://%s/?id=%s", s.address, s.id) }

// startServer waits until the server answers. A shell ends it when the test does, also when the test is killed: the
// shell then reads the end of its input.
func startServer(t *testing.T) discosrv {
	t.Helper()
	if _, err := exec.LookPath("stdiscosrv"); err != nil {
		t.Fatal("this test needs Syncthing's discovery server: apt-get install syncthing-discosrv")
	}
	home, address := t.TempDir(), fmt.Sprintf("127.0.0.1:%d", daemon.FreePort(t))
	cmd := exec.Command("sh", "-c", `"$@" & p=$!; read end; kill $p; wait $p`, "sh", "stdiscosrv", "-listen", address,
		"-cert", filepath.Join(home, "cert.pem"), "-key", filepath.Join(home, "key.pem"), "-db-dir",
		filepath.Join(home, "db"))
	cmd.Dir = home
	log, err := os.Create(filepath.Join(home, "log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = log, log
	input, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = input.Close()
		_ = cmd.Wait() // ends by the signal
		_ = log.Close()
	})
	s := discosrv{address: address}
	wait.For(t, "the discovery server to answer", func() bool {
		conn, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			return false
		}
		defer conn.Close()
		s.id = fleet.DeviceIDOf(sha256.Sum256(conn.ConnectionState().PeerCertificates[0].Raw))
		return true
	})
	return s
}

func newDiscovery(t *testing.T, o discovery.Options) *discovery.Discovery {
	t.Helper()
	d, err := discovery.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// find asks until the device is found. Every round begins as after a PUT of the device: otherwise the server's
// Retry-After would count.
func find(t *testing.T, d *discovery.Discovery, device fleet.Device,
	others ...discovery.Neighbours) discovery.Candidate {
	t.Helper()
	var found discovery.Candidate
	var asked discovery.Neighbours
	if len(others) > 0 {
		asked = others[0]
	}
	wait.For(t, "the device to be found", func() bool {
		var err error
		if found, err = d.Resolve(context.Background(), device, true, asked); err == nil {
			return true
		}
		if fleet.CodeOf(err) != fleet.CodeNotFound {
			t.Fatal(err)
		}
		d.Forget(device.ID)
		return false
	})
	return found
}

func record(d *daemon.Daemon) fleet.Device {
	return fleet.Device{ID: d.ID, APIKey: fleet.NewSecret(d.APIKey), APIPort: d.Port}
}

// connect is what a watcher does with what was found.
func connect(t *testing.T, d *discovery.Discovery, device fleet.Device, found discovery.Candidate) (fleet.Status,
	error) {
	t.Helper()
	client := syncthing.New(syncthing.Target{Device: device.ID, APIKey: device.APIKey, Introduced: found.Introduced,
		SyncAddresses: found.SyncAddresses,
		Address:       net.JoinHostPort(found.Host, fmt.Sprint(device.APIPort))}, syncthing.Options{Discovered: d.Control})
	defer client.Close()
	return client.Status(context.Background())
}

func TestADaemonThatAnnouncesItselfIsFoundAndProven(t *testing.T) {
	s := startServer(t)
	real := daemon.Start(t, daemon.Options{TLS: true, AnnounceTo: s.url()})
	d := newDiscovery(t, discovery.Options{Servers: []string{s.url()}, AllowLocal: true})
	found := find(t, d, record(real))
	want := fmt.Sprintf("tcp://localhost:%d", real.SyncPort)
	if found.Host != "localhost" || found.By != discovery.ByGlobal || !slices.Equal(found.SyncAddresses, []string{want}) {
		t.Fatalf("found %+v, want localhost with %s", found, want)
	}
	status, err := connect(t, d, record(real), found)
	if err != nil || status.MyID != real.ID {
		t.Fatalf("status of %s, %v", status.MyID, err)
	}

	t.Run("elsewhere a local answer is refused, twice", func(t *testing.T) {
		strict := newDiscovery(t, discovery.Options{Servers: []string{s.url()}})
		_, err := strict.Resolve(context.Background(), record(real), false, nil)
		if fleet.CodeOf(err) != fleet.CodeNotFound || !strings.Contains(err.Error(), "on loopback") {
			t.Errorf("resolve: %v", err)
		}
		if _, err := connect(t, strict, record(real), found); err == nil || !strings.Contains(err.Error(), "on loopback") {
			t.Errorf("connect to what was found: %v", err)
		}
	})

	t.Run("a server with another certificate is not asked", func(t *testing.T) {
		other := newDiscovery(t, discovery.Options{Servers: []string{fmt.Sprintf("https://%s/?id=%s", s.address, real.ID)},
			AllowLocal: true})
		if _, err := other.Resolve(context.Background(), record(real), false, nil); err == nil ||
			!strings.Contains(err.Error(), "another certificate") {
			t.Errorf("resolve: %v", err)
		}
	})

	t.Run("a device that nobody announces is told so", func(t *testing.T) {
		nobody := fleet.Device{ID: fleet.DeviceIDOf(sha256.Sum256([]byte("nobody"))), APIPort: 8384}
		_, err := d.Resolve(context.Background(), nobody, false, nil)
		if fleet.CodeOf(err) != fleet.CodeNotFound || !strings.Contains(err.Error(), s.address+" does not know it") {
			t.Errorf("resolve: %v", err)
		}
	})
}

// An announcement is a claim: whoever answers in the device's place, at the API's port and even at its sync port,
// without holding the device's key, gets no API key.
func TestAnImpostorAtTheAnnouncedHostGetsNoKey(t *testing.T) {
	s := startServer(t)
	real := daemon.Start(t, daemon.Options{TLS: true, AnnounceTo: s.url()})
	d := newDiscovery(t, discovery.Options{Servers: []string{s.url()}, AllowLocal: true})
	found := find(t, d, record(real))
	real.Stop() // its announcement stays for two hours, its ports are free

	keys := make(chan string, 100)
	impostor := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, values := range r.Header {
			if strings.Contains(strings.Join(values, " "), real.APIKey) {
				keys <- name
			}
		}
		w.Header().Set("X-Syncthing-Id", string(real.ID)) // a lie
		fmt.Fprintf(w, `{"myID":%q}`, real.ID)
	}))
	defer impostor.Close()
	device := record(real)
	device.APIPort = impostor.Listener.Addr().(*net.TCPAddr).Port

	if _, err := connect(t, d, device, found); err == nil {
		t.Error("an impostor with nothing at the sync port passed for the device")
	}
	answerSync(t, real.SyncPort, impostor.TLS.Certificates)
	if _, err := connect(t, d, device, found); err == nil {
		t.Error("an impostor with its own certificate at the sync port passed for the device")
	}
	if len(keys) > 0 {
		t.Errorf("the impostor got the API key in %s", <-keys)
	}
}

// answerSync shakes hands on a port as a daemon's sync protocol does.
func answerSync(t *testing.T, port int, certificates []tls.Certificate) {
	t.Helper()
	l, err := tls.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port),
		&tls.Config{Certificates: certificates, NextProtos: []string{"bep/1.0"}})
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_ = conn.(*tls.Conn).Handshake()
			_ = conn.Close()
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		serving.Wait()
	})
}

// neighbour is a managed daemon whose API the test calls itself.
type neighbour struct{ d *daemon.Daemon }

func (n neighbour) Online(fleet.DeviceID) []fleet.DeviceID { return []fleet.DeviceID{n.d.ID} }

func (n neighbour) Discovery(ctx context.Context, _ fleet.DeviceID) ([]byte, error) {
	return n.get(ctx, "/rest/system/discovery")
}

func (n neighbour) Connections(ctx context.Context, _ fleet.DeviceID) ([]byte, error) {
	return n.get(ctx, "/rest/system/connections")
}

func (n neighbour) get(ctx context.Context, path string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+n.d.HostPort()+path, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("X-API-Key", n.d.APIKey)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	return io.ReadAll(answer.Body)
}

func TestAConnectedDaemonKnowsWhereAnotherIs(t *testing.T) {
	s := startServer(t)
	wanted, knows := daemon.Start(t, daemon.Options{TLS: true}), daemon.Start(t, daemon.Options{})
	wanted.AddPeer(knows)
	wait.For(t, "the two daemons to connect", func() bool {
		var answer struct {
			Connections map[fleet.DeviceID]struct{ Connected bool }
		}
		knows.GetJSON("/rest/system/connections", &answer)
		return answer.Connections[wanted.ID].Connected
	})
	d := newDiscovery(t, discovery.Options{Servers: []string{s.url()}, AllowLocal: true})
	found := find(t, d, record(wanted), neighbour{knows})
	if found.Host != "127.0.0.1" || found.By != discovery.ByFleet {
		t.Errorf("found %+v", found)
	}
}
