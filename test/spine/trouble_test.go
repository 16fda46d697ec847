package spine_test

import (
	"strings"
	"testing"

	"muster/api"
	"muster/internal/fleet"
	"muster/test/daemon"
	"muster/test/server"
	"muster/test/wait"
)

func TestADaemonThatStopsAndStartsAgain(t *testing.T) {
	t.Parallel()
	s, d := server.Start(t, server.Options{}), daemon.Start(t, daemon.Options{})
	enroll(t, s, d, "office")
	d.Stop()
	state := s.WaitConnection(d.ID, fleet.Unreachable)
	if state.Reason == "" || state.Next == "" || state.Configuration != string(fleet.ConfigUnknown) {
		t.Errorf("an unreachable device is shown as %+v", state)
	}
	wait.Until(t, func() string { // it is kept a moment after the device is online
		if _, err := s.Client.DeviceStatus(t.Context(), string(d.ID)); err != nil {
			return "the last known status is gone: " + err.Error()
		}
		return ""
	})
	s.Template("set", "options.natEnabled", "false", "office")
	d.Restart()
	s.WaitConfiguration(d.ID, fleet.ConfigInSync)
	if natEnabled(d) {
		t.Error("what was asked while the daemon was away was not brought to it")
	}
}

func TestAWrongKeyIsSaidAndMended(t *testing.T) {
	t.Parallel()
	s, d := server.Start(t, server.Options{}), daemon.Start(t, daemon.Options{TLS: true})
	s.Register(d.ID, "wrong", d.Address, d.Port)
	if state := s.WaitConnection(d.ID, fleet.KeyRefused); !strings.Contains(strings.ToLower(state.Reason+state.Next),
		"key") {
		t.Errorf("nobody would know what to do: %+v", state)
	}
	s.Register(d.ID, d.APIKey, d.Address, d.Port)
	s.WaitConnection(d.ID, fleet.Online)
}

func TestAnotherDaemonBehindTheAddressIsNeverWrittenTo(t *testing.T) {
	t.Parallel()
	s := server.Start(t, server.Options{})
	a, b := daemon.Start(t, daemon.Options{TLS: true}), daemon.Start(t, daemon.Options{TLS: true})
	s.Template("set", "options.natEnabled", "false", "office")
	b.Patch("/rest/config/options", `{"natEnabled": true}`)
	s.Register(a.ID, b.APIKey, b.Address, b.Port, "office")
	s.WaitConnection(a.ID, fleet.IdentityMismatch)
	if !natEnabled(b) {
		t.Error("a daemon that is somebody else was configured")
	}
	if _, err := s.Client.DeviceStatus(t.Context(), string(a.ID)); fleet.CodeOf(err) != fleet.CodeNotFound {
		t.Errorf("the status of somebody else is shown: %v", err)
	}
}

func TestATemplateThatWouldEmptyGUILeavesTheDaemonReachable(t *testing.T) {
	t.Parallel()
	s, d := server.Start(t, server.Options{}), daemon.Start(t, daemon.Options{TLS: true})
	enroll(t, s, d, "office")
	before := string(d.Get("/rest/config/gui"))
	for _, id := range []int64{
		s.Template("merge", "gui", `{apiKey: "", address: "127.0.0.1:1", enabled: false}`, "office"),
		s.Template("set", "gui", `{}`, "office"),
	} {
		state := s.WaitState(d.ID, "failed or held", func(state api.DeviceState) bool {
			return state.Configuration == string(fleet.ConfigFailed) || state.Configuration == string(fleet.ConfigHeld)
		})
		if state.Reason == "" {
			t.Errorf("no reason: %+v", state)
		}
		if after := string(d.Get("/rest/config/gui")); after != before {
			t.Errorf("gui changed from %s to %s", before, after)
		}
		if err := s.Client.DeleteTemplate(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	s.WaitConfiguration(d.ID, fleet.ConfigUnmanaged)
}

func TestObserveWritesNothing(t *testing.T) {
	t.Parallel()
	s, d := server.Start(t, server.Options{Mode: fleet.ModeObserve}), daemon.Start(t, daemon.Options{})
	enroll(t, s, d, "office")
	d.Patch("/rest/config/options", `{"natEnabled": true}`)
	s.Template("set", "options.natEnabled", "false", "office")
	s.WaitConfiguration(d.ID, fleet.ConfigPending)
	plan, err := s.Client.DevicePlan(t.Context(), string(d.ID))
	if err != nil || len(plan.Changes) != 1 || plan.Changes[0].Key != "options.natEnabled" {
		t.Errorf("got plan %+v, %v", plan, err)
	}
	if !natEnabled(d) {
		t.Error("a write in observe mode")
	}
}
