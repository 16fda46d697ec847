// Package tunnel_test tests devices that are reached through agents: with real daemons, real agents, and a server in a
// process of its own that is killed.
//
//muster:needs daemons
package tunnel_test

import (
	"fmt"
	"log/slog"
	"os"
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

func TestMain(m *testing.M) {
	server.Main()
	os.Exit(m.Run())
}

// world is a server with one daemon and the agent of that.
type world struct {
	*server.Server
	t      *testing.T
	daemon *daemon.Daemon
	cert   string
	stop   func() // the agent
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, stop: func() {}}
	var key string
	w.cert, key = server.Certificate(t)
	w.daemon = daemon.Start(t, daemon.Options{})
	w.Server = server.Start(t, server.Options{TLSCert: w.cert, TLSKey: key})
	t.Cleanup(func() { w.stop() })
	return w
}

func (w *world) startAgent(observe bool) {
	w.t.Helper()
	w.stop = server.StartAgent(w.t, agent.Options{Server: w.URL, Home: w.daemon.Home, CA: w.cert,
		Observe: observe, Version: "test", Log: slog.New(slog.DiscardHandler)})
}

func (w *world) waitFoundBy(way string) {
	w.t.Helper()
	w.WaitState(w.daemon.ID, "online by "+way, func(s api.DeviceState) bool {
		return s.Connection == string(fleet.Online) && s.FoundBy == way
	})
}

func (w *world) setWay(way fleet.Way) {
	w.t.Helper()
	text := way.String()
	if _, err := w.Client.PutDeviceSettings(w.t.Context(), string(w.daemon.ID),
		api.PutDeviceSettings{Way: &text}); err != nil {
		w.t.Fatal(err)
	}
}

func TestADaemonIsManagedByItsAgent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.startAgent(false)
	wait.Until(t, func() string {
		asking, err := w.Client.Enrollments(t.Context(), client.List{})
		if err != nil || len(asking) != 1 || asking[0].DeviceID != string(w.daemon.ID) {
			return "the device does not ask to be accepted"
		}
		return ""
	})
	if _, err := w.Client.AcceptEnrollment(t.Context(), string(w.daemon.ID),
		api.AcceptEnrollment{Tags: &[]string{"office"}}); err != nil {
		t.Fatal(err)
	}
	w.waitFoundBy(fleet.FoundByAgent)
	w.Template("set", "options.maxSendKbps", "1234", "office")
	w.waitOption("maxSendKbps", 1234)
	w.WaitConfiguration(w.daemon.ID, fleet.ConfigInSync)

	// Consent moves its API within the machine, where the agent follows.
	w.daemon.Restart()
	w.waitFoundBy(fleet.FoundByAgent)
	w.stop()
	w.WaitConnection(w.daemon.ID, fleet.Unreachable)
	w.startAgent(false)
	w.waitFoundBy(fleet.FoundByAgent)
	if err := w.Client.DeleteDevice(t.Context(), string(w.daemon.ID)); err != nil {
		t.Fatal(err)
	}
	w.stop()
}

// waitOption waits until the daemon has the value.
func (w *world) waitOption(name string, want float64) {
	w.t.Helper()
	wait.Until(w.t, func() string {
		var options map[string]any
		w.daemon.GetJSON("/rest/config/options", &options)
		if options[name] != want {
			return name + " is not what the template says"
		}
		return ""
	})
}

// The agent goes before the address, comes and goes, and no change is lost on the way.
func TestADeviceChangesItsWay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Register(w.daemon.ID, w.daemon.APIKey, w.daemon.Address, w.daemon.Port, "office")
	w.waitFoundBy("record")
	w.startAgent(false)
	w.waitFoundBy(fleet.FoundByAgent)
	w.daemon.Patch("/rest/config/options", map[string]any{"maxRecvKbps": 77})
	w.WaitRevision(w.daemon.ID, "options.maxRecvKbps", "77")
	w.setWay(fleet.WayDirect)
	w.waitFoundBy("record")
	w.setWay(fleet.WayAgent)
	w.waitFoundBy(fleet.FoundByAgent)
	w.stop()
	w.WaitReason(w.daemon.ID, string(fleet.Unreachable), "agent is not connected")
	w.setWay(fleet.WayAuto)
	w.waitFoundBy("record")
	w.daemon.Patch("/rest/config/options", map[string]any{"maxRecvKbps": 78})
	w.WaitRevision(w.daemon.ID, "options.maxRecvKbps", "78")
}

// An agent that observes lets nothing through that changes the daemon, whatever the server wants.
func TestAnAgentThatObservesIsExplained(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Register(w.daemon.ID, w.daemon.APIKey, "", w.daemon.Port, "office")
	w.startAgent(true)
	w.waitFoundBy(fleet.FoundByAgent)
	w.Template("set", "options.maxSendKbps", "1234", "office")
	w.WaitReason(w.daemon.ID, string(fleet.ConfigFailed), "--observe")
	order, err := w.Client.OrderToDevice(t.Context(), string(w.daemon.ID), client.OrderSpec{Type: client.OrderRestart})
	if err != nil {
		t.Fatal(err)
	}
	wait.Until(t, func() string {
		if order, err = w.Client.Order(t.Context(), order.ID); err != nil || order.Status == "running" {
			return fmt.Sprintf("the order is %s, %v", order.Status, err)
		}
		return ""
	})
	if order.Status != "failed" || !strings.Contains(order.Reason, "--observe") {
		t.Errorf("the restart is %s: %s", order.Status, order.Reason)
	}
}
