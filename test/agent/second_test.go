package agent_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"muster/internal/fleet"
)

// Two agents on one machine were told to remove the daemon's identity. The second ends, says why, and may start as soon
// as the first has ended.
func TestASecondAgentOfOneHomeEndsAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorldIn(t, nil)
	w.startAgent()
	w.accept("team")
	w.server.WaitConnection(w.daemon.ID, fleet.Online)
	second := exec.CommandContext(t.Context(), os.Args[0], "agent", "--server", w.options.AgentListen, "--home",
		w.daemon.Home, "--fingerprint", w.fingerprint())
	second.Env = w.environment()
	out, err := second.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "another agent runs for the daemon of "+w.daemon.Home) ||
		!strings.Contains(string(out), "Stop one of the two") || strings.Contains(string(out), "key.pem") {
		t.Errorf("the second agent ends with %v:\n%s", err, out)
	}
	w.killAgent()
	w.startAgent()
	w.server.Template("set", "options.maxSendKbps", "1111\n", "team")
	w.hasRate(1111)
}
