package agent_test

import (
	"strings"
	"testing"
	"time"

	"muster/api"
	"muster/internal/fleet"
	"muster/test/server"
)

// A daemon that had been stopped for 20 s was noticed 14 s after its start, when the next contact was due. This server
// tries a daemon again only after an hour, so that nothing but the agent's message can tell it that the daemon is back.
func TestTheAgentTellsThatItsDaemonIsBack(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, nil, server.Options{RetryPause: time.Hour})
	w.startAgent()
	w.accept()
	w.server.WaitConnection(w.daemon.ID, fleet.Online)
	w.daemon.Stop()
	w.server.WaitState(w.daemon.ID, "told by the agent that the daemon does not answer", func(s api.DeviceState) bool {
		return s.Connection == string(fleet.Unreachable) && strings.Contains(s.Reason, "does not answer")
	})
	w.daemon.Restart() // It returns when the daemon's API answers.
	began := time.Now()
	w.server.WaitConnection(w.daemon.ID, fleet.Online)
	t.Logf("online %v after the daemon's API answered", time.Since(began).Round(time.Millisecond))
}
