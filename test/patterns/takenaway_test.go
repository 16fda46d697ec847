package patterns_test

import (
	"fmt"
	"testing"
	"time"

	"muster/internal/fleet"
	"muster/test/daemon"
	"muster/test/server"
	"muster/test/wait"
)

// Patterns that a person took away at the daemon stayed unseen for up to a quarter of an hour. The daemon scans the
// folder then, and its state says so. The server of this test reads patterns in turn only every day, long after the
// wait is over: that they come back shows that the change of the folder's state had them read.
func TestPatternsThatAPersonTookAwayComeBack(t *testing.T) {
	t.Parallel()
	s, d := server.Start(t, server.Options{IgnoresEvery: 24 * time.Hour}), daemon.Start(t, daemon.Options{})
	d.AddFolder("photos")
	s.Register(d.ID, d.APIKey, d.Address, d.Port, "real")
	s.WaitConfiguration(d.ID, fleet.ConfigUnmanaged)
	s.Template("set", "ignores.photos", `["*.tmp"]`, "real")
	there := func() string {
		var answer struct{ Ignore []string }
		if d.GetJSON("/rest/db/ignores?folder=photos", &answer); fmt.Sprint(answer.Ignore) != "[*.tmp]" {
			return fmt.Sprintf("the patterns are %q", answer.Ignore)
		}
		return ""
	}
	wait.Until(t, there)
	s.WaitConfiguration(d.ID, fleet.ConfigInSync)
	for _, person := range [][]string{{}, {"*.bak"}} { // A third time would make the key contended.
		d.Post("/rest/db/ignores?folder=photos", map[string][]string{"ignore": person})
		wait.Until(t, there)
		s.WaitConfiguration(d.ID, fleet.ConfigInSync)
	}
}
