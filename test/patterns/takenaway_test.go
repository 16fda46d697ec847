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
// folder then, and its state says so.
func TestPatternsThatAPersonTookAwayComeBack(t *testing.T) {
	t.Parallel()
	s, d := server.Start(t, server.Options{}), daemon.Start(t, daemon.Options{})
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
	d.Post("/rest/db/ignores?folder=photos", map[string][]string{"ignore": {}})
	began := time.Now()
	wait.Until(t, there)
	t.Logf("they were back after %v", time.Since(began))
}
