package tunnel_test

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
	"muster/internal/stsim"
	"muster/test/daemon"
	"muster/test/server"
	"muster/test/simulated"
	"muster/test/wait"
)

// neighbour answers with a certificate of its own where a daemon was, and wants the daemon's API key.
type neighbour struct {
	key []byte

	mu       sync.Mutex // guards what follows
	contacts int
	keys     int // that arrived
}

func startNeighbour(t *testing.T, at, key string) *neighbour {
	t.Helper()
	n := &neighbour{key: []byte(key)}
	api := httptest.NewUnstartedServer(n)
	_ = api.Listener.Close()
	wait.Until(t, func() string {
		listener, err := net.Listen("tcp", at)
		if err != nil {
			return err.Error()
		}
		api.Listener = countedListener{listener, n}
		return ""
	})
	api.Config.ErrorLog = log.New(io.Discard, "", 0)
	api.StartTLS()
	t.Cleanup(api.Close)
	return n
}

func (n *neighbour) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var all bytes.Buffer
	_ = r.Write(&all)
	if bytes.Contains(all.Bytes(), n.key) {
		n.mu.Lock()
		n.keys++
		n.mu.Unlock()
	}
	_, _ = io.WriteString(w, "{}")
}

func (n *neighbour) caught() (contacts, keys int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.contacts, n.keys
}

type countedListener struct {
	net.Listener
	neighbour *neighbour
}

func (l countedListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err == nil {
		l.neighbour.mu.Lock()
		defer l.neighbour.mu.Unlock()
		l.neighbour.contacts++
	}
	return conn, err
}

// The agent told the pin of its daemon: a neighbour that has the daemon's address after the tunnel dropped is another.
func TestANeighbourWithTheAddressOfADaemonGetsNoKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Register(w.daemon.ID, w.daemon.APIKey, "", w.daemon.Port)
	w.startAgent(false)
	w.waitFoundBy(fleet.FoundByAgent)
	wait.Until(t, func() string {
		settings, err := w.Client.DeviceSettings(t.Context(), string(w.daemon.ID))
		if err != nil || settings.Pin != w.daemon.Pin() {
			return fmt.Sprintf("the pin is %q, %v", settings.Pin, err)
		}
		return ""
	})
	w.Register(w.daemon.ID, w.daemon.APIKey, w.daemon.Address, w.daemon.Port)
	w.waitFoundBy(fleet.FoundByAgent)
	w.daemon.Stop()
	n := startNeighbour(t, w.daemon.HostPort(), w.daemon.APIKey)
	w.stop()
	w.WaitConnection(w.daemon.ID, fleet.PinMismatch)
	if contacts, keys := n.caught(); contacts == 0 || keys > 0 {
		t.Errorf("the neighbour was contacted %d times and got %d keys", contacts, keys)
	}
}

// The agent told no pin, and the record has an address: the first certificate there was trusted, and got the key.
func TestADeviceThatItsAgentProvedWasTrustedOnFirstUseWithoutIt(t *testing.T) {
	t.Parallel()
	listen := fmt.Sprintf("127.0.0.1:%d", daemon.FreePort(t))
	s := server.Start(t, server.Options{AgentListen: listen})
	farm := simulated.Start(t, stsim.Options{Network: 92})
	stop := simulated.RunAgents(t, farm.RunAgents, listen)
	d := farm.Daemon(0)
	s.Register(d.ID(), d.APIKey(), "", d.Port())
	s.WaitState(d.ID(), "online by its agent", func(state api.DeviceState) bool {
		return state.Connection == string(fleet.Online) && state.FoundBy == fleet.FoundByAgent
	})
	wait.For(t, "how it was found is kept, with its first revision", func() bool {
		revisions, err := s.Client.Revisions(t.Context(), string(d.ID()), client.List{})
		return err == nil && len(revisions) > 0
	})
	s.Register(d.ID(), d.APIKey(), d.Host(), d.Port())
	s.WaitState(d.ID(), "online by its agent", func(state api.DeviceState) bool {
		return state.Connection == string(fleet.Online) && state.FoundBy == fleet.FoundByAgent
	})
	d.Stop()
	n := startNeighbour(t, net.JoinHostPort(d.Host(), fmt.Sprint(d.Port())), d.APIKey())
	stop()
	wantNoKey := func() {
		t.Helper()
		s.WaitState(d.ID(), "waiting for its agent", func(state api.DeviceState) bool {
			return state.Connection == string(fleet.Unreachable)
		})
		if contacts, keys := n.caught(); contacts > 0 || keys > 0 {
			t.Fatalf("the neighbour was contacted %d times and got %d keys", contacts, keys)
		}
	}
	wantNoKey()
	s.Kill()
	s = server.Start(t, server.Options{Home: s.Home, AgentListen: listen})
	wantNoKey()
	way := fleet.WayDirect.String() // an administrator leaves the agent out: the first certificate is trusted then
	if _, err := s.Client.PutDeviceSettings(t.Context(), string(d.ID()), api.PutDeviceSettings{Way: &way}); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, func() string {
		if _, keys := n.caught(); keys == 0 {
			return "the neighbour does not notice a key"
		}
		return ""
	})
}
