package scale_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"muster/client"
	"muster/internal/fleet"
	"muster/test/server"
	"muster/test/wait"
)

// A demo of 1,000 daemons: all online, all configured, folders right, and a clean end.
func TestADemoOfAThousandDaemonsIsOnlineAndConfigured(t *testing.T) {
	began := time.Now()
	s := server.Start(t, server.Options{Demo: 1000})
	t.Logf("ready after %v", time.Since(began).Round(100*time.Millisecond))
	count := func(want func(connection, configuration string) bool) func() string {
		return func() string {
			states, err := s.Client.States(t.Context(), client.List{})
			if err != nil {
				return err.Error()
			}
			got := 0
			for _, state := range states {
				if want(state.Connection, state.Configuration) {
					got++
				}
			}
			if len(states) == 1000 && got == 999 { // One of them cannot be reached.
				return ""
			}
			return fmt.Sprintf("%d of %d devices", got, len(states))
		}
	}
	wait.Until(t, count(func(connection, _ string) bool { return connection == string(fleet.Online) }))
	t.Logf("1,000 online after %v", time.Since(began).Round(100*time.Millisecond))
	wait.Until(t, count(func(connection, configuration string) bool {
		return connection == string(fleet.Online) && configuration == string(fleet.ConfigInSync)
	}))
	t.Logf("1,000 in sync after %v", time.Since(began).Round(100*time.Millisecond))
	// what was read back is kept a moment later
	wait.Until(t, func() string { return wrongFolders(t.Context(), s.Client) })
	s.Stop()
}

// wrongFolders holds the folder list against the daemons' own configurations; "" when it is right.
func wrongFolders(ctx context.Context, c *client.Client) string {
	folders, err := c.Folders(ctx, client.List{})
	if err != nil {
		return err.Error()
	}
	sharers := map[string]int{}
	for _, f := range folders {
		summaries, err := c.FolderSummaries(ctx, f.Folder)
		if err != nil {
			return fmt.Sprintf("%s: %v", f.Folder, err)
		}
		sharers[f.Folder] = len(summaries)
	}
	if got := sharers["price-list"]; got != 5 {
		return fmt.Sprintf("the template's folder is on %d devices, want 5", got)
	}
	if got := sharers["handbook"]; got != 999 {
		return fmt.Sprintf("the folder that every simulated daemon has is on %d devices", got)
	}
	if len(folders) < 300 {
		return fmt.Sprintf("only %d folders", len(folders))
	}
	return ""
}
