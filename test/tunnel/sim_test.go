package tunnel_test

import (
	"fmt"
	"strings"
	"testing"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
	"muster/internal/stsim"
	"muster/test/server"
	"muster/test/simulated"
	"muster/test/wait"
)

// hostOf is HOST:PORT of a server, to which agents connect.
func hostOf(s *server.Server) string { return strings.TrimPrefix(s.URL, "https://") }

// Simulated daemons of both versions are managed by simulated agents, through restarts of the server.
func TestSimulatedAgents(t *testing.T) {
	t.Parallel()
	cert, key := server.Certificate(t)
	s := server.Start(t, server.Options{TLSCert: cert, TLSKey: key})
	farm := simulated.Start(t, stsim.Options{Count: 4, Network: 91})
	stop := simulated.RunAgents(t, farm.RunAgents, hostOf(s))
	for _, d := range farm.Daemons() {
		s.Register(d.ID(), d.APIKey(), "", d.Port(), "all")
	}
	s.Template("set", "options.maxSendKbps", "99", "all")
	for _, d := range farm.Daemons() {
		s.WaitState(d.ID(), "in sync by its agent", func(state api.DeviceState) bool {
			return state.FoundBy == fleet.FoundByAgent && state.Configuration == string(fleet.ConfigInSync)
		})
		wait.Until(t, func() string {
			if got := string(d.Config().Get("options").Get("maxSendKbps").JSON()); got != "99" {
				return "the daemon has " + got
			}
			return ""
		})
	}

	stop()
	s.Kill()
	s = server.Start(t, server.Options{Home: s.Home, TLSCert: cert, TLSKey: key})
	for _, d := range farm.Daemons() {
		s.WaitState(d.ID(), "waited for", func(state api.DeviceState) bool {
			return state.Connection == string(fleet.Unreachable) && strings.Contains(state.Reason, "has not connected again yet")
		})
	}
}

// The state of a device says what its agent is too old for, and that agent is asked for none of it.
func TestAnAgentOfAnOlderListIsToldAndNotAskedForMore(t *testing.T) {
	t.Parallel()
	cert, key := server.Certificate(t)
	s := server.Start(t, server.Options{TLSCert: cert, TLSKey: key})
	farm := simulated.Start(t, stsim.Options{Count: 2, Network: 94})
	old, current := farm.Daemon(0), farm.Daemon(1)
	old.SetAgentList(1)
	simulated.RunAgents(t, farm.RunAgents, hostOf(s))
	for _, d := range farm.Daemons() {
		s.Register(d.ID(), d.APIKey(), "", d.Port())
	}
	s.WaitState(old.ID(), "online, with an old agent", func(state api.DeviceState) bool {
		return state.Connection == string(fleet.Online) && strings.Contains(state.Reason, "its agent is too old")
	})
	if state := s.WaitConnection(current.ID(), fleet.Online); strings.Contains(state.Reason, "too old") {
		t.Errorf("the other agent is said to be old: %+v", state)
	}
	asked := func(d *stsim.Daemon) int { return d.Counters().ByRoute["GET /rest/db/file"] }
	wait.Until(t, func() string {
		found, err := s.Client.FileOnDevices(t.Context(), "handbook", "2015/item-00000.dat", client.List{})
		if err == nil && asked(current) > 0 {
			return ""
		}
		return fmt.Sprintf("the daemon behind the newer agent was not asked for a file: %+v, %v", found, err)
	})
	if n := asked(old); n != 0 {
		t.Errorf("the daemon behind the old agent was asked for a file %d times", n)
	}
}

// Some of the demo's devices come by their agents, and one waits to be accepted.
func TestTheDemoHasAgents(t *testing.T) {
	t.Parallel()
	s := server.Start(t, server.Options{Demo: 6})
	wait.Until(t, func() string {
		states, err := s.Client.States(t.Context(), client.List{})
		if err != nil {
			return err.Error()
		}
		by := map[string]int{}
		for _, state := range states {
			if state.Connection == string(fleet.Online) {
				by[state.FoundBy]++
			}
		}
		if by[fleet.FoundByAgent] != 2 || by["record"] != 4 {
			return fmt.Sprintf("online are, by how they were found: %v", by)
		}
		return ""
	})
	wait.Until(t, func() string {
		asking, err := s.Client.Enrollments(t.Context(), client.List{})
		if err != nil || len(asking) != 1 || asking[0].State != "waiting" {
			return fmt.Sprintf("waiting are %+v, %v", asking, err)
		}
		return ""
	})
}

// A fleet of simulated agents waited for a person to accept each of them.
func TestSimulatedAgentsComeWithAnEnrolKey(t *testing.T) {
	t.Parallel()
	cert, key := server.Certificate(t)
	s := server.Start(t, server.Options{TLSCert: cert, TLSKey: key})
	made, err := s.Client.CreateEnrollKey(t.Context(), api.CreateEnrollKey{Uses: new(int64(2)), Tags: &[]string{"all"}})
	if err != nil {
		t.Fatal(err)
	}
	farm := simulated.Start(t, stsim.Options{Count: 2, Network: 95, EnrollKey: fleet.NewSecret(made.Key)})
	simulated.RunAgents(t, farm.RunAgents, hostOf(s))
	for _, d := range farm.Daemons() {
		s.WaitConnection(d.ID(), fleet.Online)
	}
}
