package scale_test

import (
	"fmt"
	"testing"
	"time"

	"muster/client"
	"muster/internal/fleet"
	"muster/test/server"
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
			if len(states) == 1000 && got == 1000 {
				return ""
			}
			return fmt.Sprintf("%d of %d devices", got, len(states))
		}
	}
	server.Until(t, count(func(connection, _ string) bool { return connection == string(fleet.Online) }))
	t.Logf("1,000 online after %v", time.Since(began).Round(100*time.Millisecond))
	server.Until(t, count(func(connection, configuration string) bool {
		return connection == string(fleet.Online) && configuration == string(fleet.ConfigInSync)
	}))
	t.Logf("1,000 in sync after %v", time.Since(began).Round(100*time.Millisecond))
	checkFolders(t, s.Client)
	s.Stop()
}

// checkFolders holds the folder list against the daemons' own configurations.
func checkFolders(t *testing.T, c *client.Client) {
	t.Helper()
	folders, err := c.Folders(t.Context(), client.List{})
	if err != nil {
		t.Fatal(err)
	}
	sharers := map[string]int{}
	for _, f := range folders {
		summaries, err := c.FolderSummaries(t.Context(), f.Folder)
		if err != nil {
			t.Fatalf("%s: %v", f.Folder, err)
		}
		sharers[f.Folder] = len(summaries)
	}
	if got := sharers["price-list"]; got != 5 {
		t.Errorf("the template's folder is on %d devices, want 5", got)
	}
	if got := sharers["handbook"]; got != 1000 {
		t.Errorf("the folder that every simulated daemon has is on %d devices", got)
	}
	if len(folders) < 300 {
		t.Errorf("only %d folders", len(folders))
	}
}
