package pending_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"muster/api"
	"muster/client"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
	"muster/internal/stsim"
	"muster/test/daemon"
	"muster/test/server"
	"muster/test/simulated"
	"muster/test/wait"
)

// hasDevice tells how a daemon's configuration names a device: in its list, or in the list of a folder.
func hasDevice(t *testing.T, d *daemon.Daemon, id fleet.DeviceID) string {
	t.Helper()
	var config struct {
		Devices []struct{ DeviceID string }
		Folders []struct {
			ID      string
			Devices []struct{ DeviceID string }
		}
	}
	d.GetJSON("/rest/config", &config)
	for _, device := range config.Devices {
		if device.DeviceID == string(id) {
			return "the daemon has it"
		}
	}
	for _, folder := range config.Folders {
		for _, share := range folder.Devices {
			if share.DeviceID == string(id) {
				return "folder " + folder.ID + " is shared with it"
			}
		}
	}
	return ""
}

// TestARevokedDeviceIsOutOfRealDaemons is the whole way of a stolen laptop: it goes from every daemon, also where a
// person puts it back and where a template still shares with it; its knocks say that it is revoked; and when the
// revocation ends it may be let in again.
func TestARevokedDeviceIsOutOfRealDaemons(t *testing.T) {
	t.Parallel()
	s := server.Start(t, server.Options{})
	laptop, nas, desk := daemon.Start(t, daemon.Options{}), daemon.Start(t, daemon.Options{}),
		daemon.Start(t, daemon.Options{})
	laptop.Patch("/rest/config/options", map[string]any{"reconnectionIntervalS": 5}) // It knocks often.
	for _, d := range []*daemon.Daemon{nas, desk} {
		d.AddPeer(laptop)
		d.AddFolder("docs", laptop)
	}
	for _, d := range []*daemon.Daemon{laptop, nas, desk} {
		s.Register(d.ID, d.APIKey, d.Address, d.Port, d.ID.Short())
		s.WaitConfiguration(d.ID, fleet.ConfigUnmanaged)
	}
	before := laptop.Get("/rest/config")
	reason := "stolen"
	if _, err := s.Client.RevokeDevice(t.Context(), string(laptop.ID), api.RevokeDevice{Reason: &reason}); err != nil {
		t.Fatal(err)
	}
	for _, d := range []*daemon.Daemon{nas, desk} {
		wait.Until(t, func() string { return hasDevice(t, d, laptop.ID) })
	}
	s.WaitState(laptop.ID, "told that it is revoked", func(state api.DeviceState) bool {
		return strings.Contains(state.Reason, "revoked") && strings.Contains(state.Reason, "(stolen)")
	})

	// A person puts it back, by hand. Before Muster has read that it is gone, a device that is there again was never out.
	s.WaitConfiguration(nas.ID, fleet.ConfigUnmanaged)
	nas.Put("/rest/config/devices", []any{map[string]any{"deviceID": laptop.ID, "name": "mine",
		"addresses": []string{laptop.SyncAddress()}}})
	s.WaitState(nas.ID, "named as brought back", func(state api.DeviceState) bool {
		return strings.Contains(state.BroughtBack, "somebody at the daemon brought it back")
	})
	wait.Until(t, func() string { return hasDevice(t, nas, laptop.ID) })
	waiting, err := s.Client.Waiting(t.Context(), "")
	if err != nil || !slices.ContainsFunc(waiting.Groups, func(g api.WaitingGroup) bool {
		return g.Cause == string(fleet.WaitBroughtBack) && strings.Contains(g.Reason, laptop.ID.Short()) &&
			len(g.Devices) == 1 && g.Devices[0].DeviceID == string(nas.ID)
	}) {
		t.Errorf("nobody is told who brought it back: %+v, %v", waiting.Groups, err)
	}

	// A template shares with it: the rest of the template applies.
	template := s.Template("merge", "folders", fmt.Sprintf(
		`[{"id": "team", "path": %q, "devices": [{"deviceID": %q}]}]`, desk.Home+"/team", laptop.ID), desk.ID.Short())
	share := "folders.team.devices." + string(laptop.ID)
	wait.Until(t, func() string {
		plan, err := s.Client.DevicePlan(t.Context(), string(desk.ID))
		if err != nil {
			return err.Error()
		}
		for _, c := range plan.Changes {
			if c.Key == share && c.Class == "skipped" && slices.Equal(c.Templates, []int64{template}) &&
				strings.Contains(c.Reason, "take it out of the template") {
				return ""
			}
		}
		return fmt.Sprintf("the share is not skipped: %+v", plan.Changes)
	})
	s.WaitConfiguration(desk.ID, fleet.ConfigInSync)
	if how := hasDevice(t, desk, laptop.ID); how != "" {
		t.Error(how)
	}

	// It knocks.
	asks := find(t, s, nas.ID, "device", "")
	if asks.From != string(laptop.ID) || strings.Contains(asks.Revoked, "(stolen)") ||
		!strings.Contains(asks.Revoked, "muster revocation delete "+laptop.ID.Short()) {
		t.Errorf("the knock is %+v", asks)
	}
	if waiting, err = s.Client.Waiting(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(waiting.Groups, func(g api.WaitingGroup) bool {
		return g.Cause == string(fleet.WaitPendingDevice) && strings.Contains(g.Reason, "is not let in") &&
			len(g.Actions) == 1 && g.Actions[0].Name == "dismiss"
	}) {
		t.Errorf("a revoked device is offered to be let in: %+v", waiting.Groups)
	}
	var problem *client.Error
	err = s.Client.AcceptPending(t.Context(), asks.ID, api.AcceptPending{})
	if !errors.As(err, &problem) || problem.Status != http.StatusConflict {
		t.Errorf("let in: %v", err)
	}
	if how := hasDevice(t, nas, laptop.ID); how != "" {
		t.Error(how)
	}

	// Its own daemon is as it was.
	if after := laptop.Get("/rest/config"); string(after) != string(before) {
		t.Errorf("Muster wrote to the revoked device: %s, was %s", after, before)
	}

	if err := s.Client.DeleteRevocation(t.Context(), string(laptop.ID)); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, func() string { // The template shares with it again.
		if hasDevice(t, desk, laptop.ID) == "" {
			return "the desk does not have it"
		}
		return ""
	})
	asks = find(t, s, nas.ID, "device", "")
	if err := s.Client.AcceptPending(t.Context(), asks.ID, api.AcceptPending{}); err != nil {
		t.Fatal(err)
	}
	if hasDevice(t, nas, laptop.ID) == "" {
		t.Error("it was let in, and the daemon does not have it")
	}
}

// TestARevocationReachesTheWholeFleet covers a fleet of which a part is away, and a server that is killed: each daemon
// drops the device as soon as it can be reached, and an introducer's is taken away like a person's.
func TestARevocationReachesTheWholeFleet(t *testing.T) {
	t.Parallel()
	const daemons = 12
	s := server.Start(t, server.Options{})
	f := simulated.Start(t, stsim.Options{Count: daemons + 1, Folders: 2, Group: daemons + 1, Quiet: true, Network: 84})
	gone := f.Daemon(daemons)
	for i := range daemons {
		d := f.Daemon(i)
		if !knows(d, gone.ID()) {
			t.Fatalf("daemon %d does not know the device", i)
		}
		s.Register(d.ID(), d.APIKey(), d.Host(), d.Port())
		s.WaitConnection(d.ID(), fleet.Online)
	}
	away := f.Daemon(0)
	away.Stop()
	s.WaitConnection(away.ID(), fleet.Unreachable)
	if _, err := s.Client.RevokeDevice(t.Context(), string(gone.ID()), api.RevokeDevice{}); err != nil {
		t.Fatal(err)
	}
	s.Kill()
	s.WaitEnd()
	s = server.Start(t, server.Options{Home: s.Home})
	left := func(d *stsim.Daemon) string {
		if knows(d, gone.ID()) {
			return d.ID().Short() + " still has it"
		}
		for folder := range d.Config().Get("folders").Values() {
			for share := range folder.Get("devices").Values() {
				if share.Get("deviceID").Str() == string(gone.ID()) {
					return d.ID().Short() + " still shares with it"
				}
			}
		}
		return ""
	}
	for i := range daemons {
		if i > 0 {
			wait.Until(t, func() string { return left(f.Daemon(i)) })
		}
	}
	if left(away) == "" {
		t.Error("the daemon that is away was written to")
	}
	if err := away.Start(); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, func() string { return left(away) })

	introducer := f.Daemon(2).ID()
	if err := f.Daemon(1).Edit(func(config stconfig.Value) stconfig.Value {
		return stconfig.Replace(config, stconfig.Key{}.Child("devices").Child(string(gone.ID())),
			config.Get("defaults").Get("device").With("deviceID", stconfig.Text(string(gone.ID()))).
				With("introducedBy", stconfig.Text(string(introducer))))
	}); err != nil {
		t.Fatal(err)
	}
	s.WaitState(f.Daemon(1).ID(), "named as introduced", func(state api.DeviceState) bool {
		return strings.Contains(state.BroughtBack, "the introducer "+introducer.Short()) ||
			strings.Contains(state.BroughtBack, "the introducer "+string(introducer))
	})
	wait.Until(t, func() string { return left(f.Daemon(1)) })
}
