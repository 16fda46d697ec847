package tunnel_test

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"muster/api"
	"muster/internal/fleet"
	"muster/test/daemon"
	"muster/test/server"
)

// A discovered address could lead to the listener of agents.
func TestADiscoveredAddressLedToTheListenerOfAgents(t *testing.T) {
	t.Parallel()
	liar := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"addresses":["tcp://127.0.0.1:22000"]}`)
	}))
	t.Cleanup(liar.Close)
	pin := fleet.DeviceIDOf(sha256.Sum256(liar.Certificate().Raw))
	port := daemon.FreePort(t)
	s := server.Start(t, server.Options{AgentListen: fmt.Sprintf("127.0.0.1:%d", port), DiscoveryAllowLocal: true,
		DiscoveryServers: []string{liar.URL + "/?id=" + string(pin)}})
	id := fleet.DeviceIDOf([32]byte{7})
	s.Register(id, "key", "", port)
	its := "sha256:" + strings.Repeat("ab", 32)
	if _, err := s.Client.PutDeviceSettings(t.Context(), string(id), api.PutDeviceSettings{Pin: &its}); err != nil {
		t.Fatal(err)
	}
	s.WaitState(id, "not contacted at Muster's own port", func(state api.DeviceState) bool {
		return state.Connection == string(fleet.Unreachable) && strings.Contains(state.Reason, "Muster itself")
	})
}
