package tunnel_test

import (
	"fmt"
	"testing"

	"muster/api"
	"muster/internal/fleet"
	"muster/internal/stsim"
	"muster/test/daemon"
	"muster/test/server"
	"muster/test/simulated"
	"muster/test/wait"
)

// switched is a simulated daemon that is reached by its agent and at its address.
type switched struct {
	*server.Server
	t      *testing.T
	daemon *stsim.Daemon
	folder string
}

func newSwitched(t *testing.T) *switched {
	t.Helper()
	agents := fmt.Sprintf("127.0.0.1:%d", daemon.FreePort(t))
	farm := simulated.Start(t, stsim.Options{Count: 1, Folders: 1, Quiet: true, Network: 93})
	s := &switched{server.Start(t, server.Options{AgentListen: agents}), t, farm.Daemon(0), ""}
	s.folder = s.daemon.FolderIDs()[0]
	simulated.RunAgents(t, farm.RunAgents, agents)
	s.Register(s.daemon.ID(), s.daemon.APIKey(), s.daemon.Host(), s.daemon.Port(), "office")
	s.waitWay(fleet.FoundByAgent)
	return s
}

func (s *switched) waitWay(way string) {
	s.t.Helper()
	s.WaitState(s.daemon.ID(), "in sync by "+way, func(state api.DeviceState) bool {
		return state.Connection == string(fleet.Online) && state.FoundBy == way &&
			(state.Configuration == string(fleet.ConfigInSync) || state.Configuration == string(fleet.ConfigUnmanaged))
	})
}

// use changes the way, and makes a folder's number another one at the same moment.
func (s *switched) use(way fleet.Way, number int64) {
	s.t.Helper()
	text := way.String()
	if _, err := s.Client.PutDeviceSettings(s.t.Context(), string(s.daemon.ID()),
		api.PutDeviceSettings{Way: &text}); err != nil {
		s.t.Fatal(err)
	}
	if err := s.daemon.SetSummary(s.folder, func(f *fleet.FolderSummary) { f.Sequence = number }); err != nil {
		s.t.Fatal(err)
	}
}

// mirrored waits until the server has the folder's number.
func (s *switched) mirrored(number int64) {
	s.t.Helper()
	wait.Until(s.t, func() string {
		summaries, err := s.Client.FolderSummaries(s.t.Context(), s.folder)
		if err != nil || len(summaries) != 1 || summaries[0].Sequence != number {
			return fmt.Sprintf("want the number %d, got %+v, %v", number, summaries, err)
		}
		return ""
	})
}

var turns = []struct {
	way     fleet.Way
	foundBy string
}{{fleet.WayDirect, "record"}, {fleet.WayAgent, fleet.FoundByAgent}, {fleet.WayDirect, "record"},
	{fleet.WayAuto, fleet.FoundByAgent}}

// What happens on a daemon while its way changes is mirrored, and its configuration is read once.
func TestAChangeOfWayLosesNoEventAndReadsOnce(t *testing.T) {
	t.Parallel()
	s := newSwitched(t)
	for i, turn := range turns {
		number := int64(1000 + i)
		s.daemon.ResetCounters()
		s.use(turn.way, number)
		s.waitWay(turn.foundBy)
		s.mirrored(number)
		if c := s.daemon.Counters(); c.ByRoute["GET /rest/config"] != 1 || c.Writes != 0 {
			t.Errorf("%s: %d reads of the configuration and %d writes, want 1 and 0: %v", turn.way,
				c.ByRoute["GET /rest/config"], c.Writes, c.ByRoute)
		}
	}
}

// A change that is under way while the way changes is written once, by one writer.
func TestAChangeOfWayWritesOnce(t *testing.T) {
	t.Parallel()
	s := newSwitched(t)
	id := s.Template("set", "options.maxSendKbps", "1000", "office")
	s.waitRate("1000")
	for i, turn := range turns {
		s.WaitConfiguration(s.daemon.ID(), fleet.ConfigInSync)
		s.daemon.ResetCounters()
		rate, op, key := fmt.Sprint(2000+i), "set", "options.maxSendKbps"
		if _, err := s.Client.PutTemplate(t.Context(), id,
			api.PutTemplate{Op: &op, Key: &key, Template: &rate}); err != nil {
			t.Fatal(err)
		}
		s.use(turn.way, int64(i))
		s.waitRate(rate)
		s.waitWay(turn.foundBy)
		if writes := s.daemon.Counters().Writes; writes != 1 {
			t.Errorf("%s: %d writes, want 1: %v", turn.way, writes, s.daemon.Counters().ByRoute)
		}
	}
}

func (s *switched) waitRate(want string) {
	s.t.Helper()
	wait.Until(s.t, func() string {
		if got := string(s.daemon.Config().Get("options").Get("maxSendKbps").JSON()); got != want {
			return "the daemon has " + got
		}
		return ""
	})
}
