package spine_test

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"muster/api"
	"muster/internal/engine/reconcile"
	"muster/internal/fleet"
	"muster/test/daemon"
	"muster/test/server"
)

// takenPort is one on which the test listens. No other test takes it when the test does not listen any more.
func takenPort(t *testing.T) (port int, taken net.Listener) {
	t.Helper()
	port = daemon.FreePort(t)
	taken, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = taken.Close() })
	return port, taken
}

// moveAPI has a template move the API of a daemon, and waits until that is held.
func moveAPI(t *testing.T, s *server.Server, d *daemon.Daemon, port int) api.ApplyPlan {
	t.Helper()
	s.Register(d.ID, d.APIKey, d.Address, d.Port, "moving")
	s.WaitConfiguration(d.ID, fleet.ConfigUnmanaged)
	s.Template("set", "gui.address", fmt.Sprintf(`"%s:%d"`, d.Address, port), "moving")
	s.WaitConfiguration(d.ID, fleet.ConfigHeld)
	made, err := s.Client.DevicePlan(t.Context(), string(d.ID))
	if err != nil || len(made.Changes) != 1 || made.Changes[0].Class != "held" {
		t.Fatalf("got %+v, %v", made.Changes, err)
	}
	return api.ApplyPlan{Digest: &made.Digest, Consent: []string{"gui.address"}}
}

// waitMoved waits until a device is in sync at a port, which its record then has.
func waitMoved(t *testing.T, s *server.Server, d *daemon.Daemon, port int) {
	t.Helper()
	s.WaitConfiguration(d.ID, fleet.ConfigInSync)
	address := fmt.Sprintf("%s:%d", d.Address, port)
	s.WaitState(d.ID, "online at "+address, func(state api.DeviceState) bool {
		return state.Connection == string(fleet.Online) && state.Address == address
	})
	if got := recordedPort(t, s, d); got != port {
		t.Errorf("the record has the port %d, want %d", got, port)
	}
}

func recordedPort(t *testing.T, s *server.Server, d *daemon.Daemon) int {
	t.Helper()
	device, err := s.Client.Device(t.Context(), string(d.ID))
	if err != nil {
		t.Fatal(err)
	}
	return int(device.APIPort)
}

// The port could not be moved: that was refused, with a text that led to a device that nobody could reach.
func TestTheAPIMovesToAnotherPort(t *testing.T) {
	t.Parallel()
	s := server.Start(t, server.Options{})
	d := daemon.Start(t, daemon.Options{})
	port, taken := takenPort(t)
	consent := moveAPI(t, s, d, port)
	_ = taken.Close()
	if _, err := s.Client.ApplyPlan(t.Context(), string(d.ID), consent); err != nil {
		t.Fatal(err)
	}
	waitMoved(t, s, d, port)
}

// Muster is killed when the daemon has taken the new port, and the record still has the old one.
func TestTheAPIMovesAlthoughMusterIsKilled(t *testing.T) {
	t.Parallel()
	for _, step := range []string{reconcile.StepAfterIntent, reconcile.StepAfterWrite + "1",
		reconcile.StepBeforeVerify, reconcile.StepBeforeOutcome} {
		t.Run(step, func(t *testing.T) {
			s := server.Start(t, server.Options{KillAt: step})
			d := daemon.Start(t, daemon.Options{})
			port, taken := takenPort(t)
			consent := moveAPI(t, s, d, port)
			_ = taken.Close()
			if _, err := s.Client.ApplyPlan(t.Context(), string(d.ID), consent); err == nil {
				t.Error("the apply answered although the server was killed")
			}
			s.WaitEnd()
			again := server.Start(t, server.Options{Home: s.Home})
			waitMoved(t, again, d, port)
		})
	}
}

// Where something else has the port, the daemon answers nowhere: both addresses are said, the record stays, and the
// daemon is found as soon as the port is free.
func TestAnAPIThatCannotMoveIsFoundWhenItCan(t *testing.T) {
	t.Parallel()
	s := server.Start(t, server.Options{})
	d := daemon.Start(t, daemon.Options{})
	port, taken := takenPort(t)
	consent := moveAPI(t, s, d, port)
	if _, err := s.Client.ApplyPlan(t.Context(), string(d.ID), consent); err == nil {
		t.Error("the apply went well although the port is taken")
	}
	s.WaitState(d.ID, "access lost, with both addresses", func(state api.DeviceState) bool {
		old, is := fmt.Sprintf("%s:%d", d.Address, d.Port), fmt.Sprintf("%s:%d", d.Address, port)
		return state.Configuration == string(fleet.ConfigFailed) && strings.Contains(state.Reason, "access lost") &&
			strings.Contains(state.Reason, old) && strings.Contains(state.Reason, is)
	})
	if got := recordedPort(t, s, d); got != d.Port {
		t.Errorf("the record has the port %d, want the old one", got)
	}
	_ = taken.Close()
	waitMoved(t, s, d, port)
}
