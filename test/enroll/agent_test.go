package enroll_test

import (
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"muster/api"
	"muster/client"
	"muster/internal/adapter/agent"
	"muster/internal/fleet"
	"muster/test/daemon"
	"muster/test/server"
	"muster/test/wait"
)

// certificate writes the files of a certificate for this machine.
func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	made := httptest.NewTLSServer(http.NotFoundHandler())
	made.Close()
	private, err := x509.MarshalPKCS8PrivateKey(made.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, block := range map[string]*pem.Block{key: {Type: "PRIVATE KEY", Bytes: private},
		cert: {Type: "CERTIFICATE", Bytes: made.Certificate().Raw}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

// site is a server with a daemon and the agent of that.
type site struct {
	*server.Server
	t      *testing.T
	daemon *daemon.Daemon
	cert   string
	stop   func() // the agent
}

// agent starts the agent anew.
func (s *site) agent(key string) {
	s.t.Helper()
	s.stop()
	s.stop = server.StartAgent(s.t, agent.Options{Server: s.URL, Home: s.daemon.Home, CA: s.cert,
		Key: fleet.NewSecret(key), Version: "test"})
}

// waitAsking waits until the device is listed in a state.
func (s *site) waitAsking(state string) {
	s.t.Helper()
	wait.Until(s.t, func() string {
		all, err := s.Client.Enrollments(s.t.Context(), client.List{})
		if err == nil && len(all) == 1 && all[0].DeviceID == string(s.daemon.ID) && all[0].State == state &&
			all[0].Address == "127.0.0.1" && all[0].APIPort == int64(s.daemon.Port) {
			return ""
		}
		return "the device is not " + state
	})
}

func (s *site) waitManaged() {
	s.t.Helper()
	s.WaitState(s.daemon.ID, "online by its agent", func(state api.DeviceState) bool {
		return state.Connection == string(fleet.Online) && state.FoundBy == fleet.FoundByAgent
	})
}

// waitRecord waits until the record has the API key that the agent found: no person typed or copied it.
func (s *site) waitRecord() {
	s.t.Helper()
	wait.Until(s.t, func() string {
		device, err := s.Client.Device(s.t.Context(), string(s.daemon.ID))
		if err == nil && device.APIKey == s.daemon.APIKey && device.APIAddress == "" &&
			device.APIPort == int64(s.daemon.Port) {
			return ""
		}
		return "the record of the device has not the access of its daemon"
	})
}

// An agent with a key is managed at once; the key does not bring the device back that an administrator deleted.
func TestAnAgentEnrolsItsDaemonWithAKeyAndWaitsAfterItWasDeleted(t *testing.T) {
	s := &site{t: t, stop: func() {}}
	cert, key := certificate(t)
	s.cert, s.daemon = cert, daemon.Start(t, daemon.Options{})
	s.Server = server.Start(t, server.Options{TLSCert: cert, TLSKey: key})
	t.Cleanup(func() { s.stop() })
	made, err := s.Client.CreateEnrollKey(t.Context(), api.CreateEnrollKey{Tags: &[]string{"office"}, Uses: new(int64(5))})
	if err != nil {
		t.Fatal(err)
	}
	s.agent(made.Key)
	s.waitManaged()
	s.waitRecord()
	id := string(s.daemon.ID)
	if tags, err := s.Client.DeviceTags(t.Context(), id); err != nil || strings.Join(tags, " ") != "office" {
		t.Errorf("got %v, %v", tags, err)
	}
	if err := s.Client.DeleteDevice(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	s.agent(made.Key)
	s.waitAsking("waiting")
	if err := s.Client.RejectEnrollment(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	s.agent(made.Key)
	s.waitAsking("rejected")
	if _, err := s.Client.AcceptEnrollment(t.Context(), id, api.AcceptEnrollment{Tags: &[]string{"home"}}); err != nil {
		t.Fatal(err)
	}
	s.agent("")
	s.waitManaged()
	s.waitRecord()
	if tags, err := s.Client.DeviceTags(t.Context(), id); err != nil || strings.Join(tags, " ") != "home" {
		t.Errorf("got %v, %v", tags, err)
	}
}
