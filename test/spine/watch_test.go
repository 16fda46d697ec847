package spine_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"muster/api"
	"muster/internal/fleet"
	"muster/internal/stsim"
	"muster/test/daemon"
	"muster/test/server"
	"muster/test/simulated"
	"muster/test/wait"
)

// A paused fleet or tag ends the watching of whom it concerns, and of nobody else, as long as it is paused.
func TestThePausedAreNotWatched(t *testing.T) {
	t.Parallel()
	farm := simulated.Start(t, stsim.Options{Count: 2, Folders: 1, Group: 1, Quiet: true, Network: 86})
	s := server.Start(t, server.Options{})
	one, other := farm.Daemon(0), farm.Daemon(1)
	for _, d := range []*stsim.Daemon{one, other} {
		s.Register(d.ID(), d.APIKey(), d.Host(), d.Port(), "office")
	}
	watched := func(ids ...fleet.DeviceID) {
		t.Helper()
		for _, id := range ids {
			s.WaitConnection(id, fleet.Online)
		}
	}
	paused := func(ids ...fleet.DeviceID) {
		t.Helper()
		for _, id := range ids {
			s.WaitState(id, "paused", func(state api.DeviceState) bool {
				return state.Connection == string(fleet.Unreachable) && strings.Contains(state.Reason, "paused")
			})
		}
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	watched(one.ID(), other.ID())

	must(s.Client.PutTagMode(t.Context(), "away", "paused"))
	_, err := s.Client.TagDevice(t.Context(), string(one.ID()), "away")
	must(err)
	paused(one.ID())
	watched(other.ID())
	_, err = s.Client.UntagDevice(t.Context(), string(one.ID()), "away")
	must(err)
	watched(one.ID())

	must(s.Client.PutTagMode(t.Context(), "office", "paused"))
	paused(one.ID(), other.ID())
	must(s.Client.PutTagMode(t.Context(), "office", "observe"))
	watched(one.ID(), other.ID())

	must(s.Client.PutMode(t.Context(), "paused"))
	paused(one.ID(), other.ID())
	s.Stop()
	s = server.Start(t, server.Options{Home: s.Home})
	paused(one.ID(), other.ID())
	must(s.Client.PutMode(t.Context(), "on"))
	watched(one.ID(), other.ID())
}

// After the daemon made itself another certificate a person forgets the pin: what it shows now is trusted and kept.
func TestAForgottenPinIsLearntAnew(t *testing.T) {
	t.Parallel()
	s, d := server.Start(t, server.Options{}), daemon.Start(t, daemon.Options{TLS: true})
	enroll(t, s, d)
	kept := func() {
		t.Helper()
		wait.Until(t, func() string {
			settings, err := s.Client.DeviceSettings(t.Context(), string(d.ID))
			if err != nil {
				return err.Error()
			}
			if settings.Pin != d.Pin() {
				return "the pin is " + settings.Pin + ", want " + d.Pin()
			}
			return ""
		})
	}
	kept()
	d.Stop()
	for _, file := range []string{"https-cert.pem", "https-key.pem"} {
		if err := os.Remove(filepath.Join(d.Home, file)); err != nil {
			t.Fatal(err)
		}
	}
	d.Restart()
	s.WaitConnection(d.ID, fleet.PinMismatch)
	none := ""
	if _, err := s.Client.PutDeviceSettings(t.Context(), string(d.ID), api.PutDeviceSettings{Pin: &none}); err != nil {
		t.Fatal(err)
	}
	s.WaitConnection(d.ID, fleet.Online)
	kept()
}
