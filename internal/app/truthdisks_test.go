package app

import (
	"cmp"
	"context"
	"slices"
	"testing"
	"time"

	"muster/api"
	"muster/internal/engine/mirror"
	"muster/internal/fleet"
	"muster/internal/stsim"
)

// diskTruth is what the agent of a device tells of the disk of a folder. The daemon did not notice it yet.
type diskTruth struct{ pathMissing, markerMissing, nearlyFull bool }

func (d diskTruth) driveMissing() bool { return d.pathMissing || d.markerMissing }

// diskIsFull tells whether the agent says of a folder that a disk is nearly full: its own, or that of the daemon's
// home, of which the first folder tells.
func (t *truth) diskIsFull(i, folder int) bool {
	return t.daemons[i].folders[folder].disk.nearlyFull || t.tellsOfHome(i, folder)
}

func (t *truth) tellsOfHome(i, folder int) bool { return t.daemons[i].homeFull && folder == 0 }

// byAgent finds each daemon by its agent. The agent is on this machine: the daemon is asked at its own address.
type byAgent struct{}

func (byAgent) Resolve(_ context.Context, device fleet.Device, _ bool) (mirror.Found, error) {
	return mirror.Found{Host: device.APIAddress, By: fleet.FoundByAgent, Introduced: fleet.ByPerson}, nil
}

func surely(holds bool) certainty {
	if holds {
		return always
	}
	return never
}

// tellOf has the agent of a device tell of a disk after it changed.
func tellOf(change func(daemon *daemonTruth, disk *diskTruth)) func(s *story, a act) error {
	return func(s *story, a act) error {
		daemon := &s.daemons[a.Daemon]
		change(daemon, &daemon.folders[a.Folder].disk)
		s.tellDisks(a.Daemon)
		return nil
	}
}

// tellDisks has the agent of a device tell of its disks, as agents do after a change and when they connect.
func (s *story) tellDisks(i int) {
	facts := &fleet.DiskFacts{At: time.Now(), Home: fleet.DiskSpace{Free: 1 << 39, Total: 1 << 40}}
	if s.daemons[i].homeFull {
		facts.Home.Free = 1 << 30
	}
	for f, folder := range s.folders {
		is := s.daemons[i].folders[f].disk
		one := fleet.FolderDisk{Folder: folder, Space: fleet.DiskSpace{Free: 1 << 38, Total: 1 << 39},
			Path: fleet.PresenceThere, Marker: fleet.PresenceThere}
		if is.pathMissing {
			one.Path = fleet.PresenceMissing
		}
		if is.markerMissing {
			one.Marker = fleet.PresenceMissing
		}
		if is.nearlyFull {
			one.Space.Free = 1 << 30
		}
		facts.Folders = append(facts.Folders, one)
	}
	slices.SortFunc(facts.Folders, func(a, b fleet.FolderDisk) int { return cmp.Compare(a.Folder, b.Folder) })
	s.mirror.SetDisks(s.farm.Daemon(i).ID(), facts)
}

// A device whose drive is missing has nothing of what others lack, although its daemon says so until it looks.
func TestAMissingDriveHoldsNothing(t *testing.T) {
	t.Parallel()
	for _, version := range []stsim.Version{stsim.V1, stsim.V2} {
		if wrong := tell(t, []stsim.Version{version}, []act{
			{Kind: "lags", Wait: readTime, Looks: true}, {Kind: "drive goes", Daemon: 1, Wait: readTime, Looks: true},
			{Kind: "drive goes", Daemon: 2, Wait: longTime, Looks: true, Prints: "table"},
			{Kind: "drive comes back", Daemon: 1, Wait: longTime, Looks: true, Prints: "json"},
		}, nil); wrong != "" {
			t.Error(wrong)
		}
	}
}

// compareHolders fails where a device is said to have what another lacks and does not, or is not connected to it.
func (c *comparison) compareHolders(i, f int, shown api.FolderStanding) {
	for _, id := range shown.HeldBy {
		if j := c.daemonOf(id); j < 0 || !c.linked(i, j) || !c.hasAll(j, f) {
			c.failf("daemon %d is said to have what daemon %d lacks of folder %d", j, i, f)
		}
	}
}

// The first folder tells of the disk of the daemon's home, and any folder of a marker that is gone.
func TestTheDiskOfTheHomeAndMissingMarkersAreShown(t *testing.T) {
	t.Parallel()
	if wrong := tell(t, []stsim.Version{stsim.V2}, []act{
		{Kind: "home fills", Wait: longTime, Looks: true, Prints: "table"},
		{Kind: "marker goes", Folder: 1, Wait: longTime, Looks: true, Prints: "json"},
		{Kind: "home is cleared", Wait: readTime, Looks: true}, {Kind: "marker comes back", Folder: 1, Wait: readTime},
	}, nil); wrong != "" {
		t.Error(wrong)
	}
}
