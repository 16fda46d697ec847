package client

import (
	"maps"
	"net"
	"strconv"
	"testing"

	"muster/internal/adapter/syncthing"
	"muster/internal/fleet"
	"muster/internal/stsim"
	"muster/test/simulated"
)

// The client refused to ask for /metrics, so no conflict was ever counted. Daemons older than 2.0 have no such page.
func TestConflictCountsAreReadFromADaemonThatCounts(t *testing.T) {
	for name, version := range map[string]stsim.Version{"2": stsim.V2, "1": stsim.V1} {
		t.Run(name, func(t *testing.T) {
			farm := simulated.Start(t, stsim.Options{Count: 1, Folders: 1, Versions: []stsim.Version{version}, Quiet: true})
			d := farm.Daemon(0)
			c := open(t, syncthing.Target{Device: d.ID(), APIKey: fleet.NewSecret(d.APIKey()), Introduced: fleet.ByPerson,
				Address: net.JoinHostPort(d.Host(), strconv.Itoa(d.Port()))})
			must(c.Status(t.Context()))(t)
			got, err := c.ConflictCounts(t.Context())
			if version == stsim.V1 {
				wantCode(t, err, fleet.CodeNotFound)
				return
			}
			if want := map[string]int64{d.FolderIDs()[0]: 0}; err != nil || !maps.Equal(got, want) {
				t.Errorf("got %v, %v, want %v", got, err, want)
			}
		})
	}
}
