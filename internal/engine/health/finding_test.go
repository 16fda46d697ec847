package health

import (
	"strings"
	"testing"
	"time"

	"muster/internal/fleet"
)

// telling is the snapshot of a device whose agent tells of the disk of folder f.
func telling(disk fleet.FolderDisk) *fleet.Snapshot {
	disk.Folder = "f"
	return changed(online(deviceA, deviceB), func(s *fleet.Snapshot) {
		s.FoundBy, s.Disks = fleet.FoundByAgent, &fleet.DiskFacts{At: noon, Folders: []fleet.FolderDisk{disk}}
	})
}

var (
	nearlyFull = fleet.FolderDisk{Space: fleet.DiskSpace{Free: 3 << 30, Total: 1 << 40}}
	driveGone  = fleet.FolderDisk{Path: fleet.PresenceMissing}
)

// waitsFor are the troubles of device A, and what is said of the first.
func (f *fleetOf) waitsFor(t *testing.T, when string, words string, causes ...fleet.WaitCause) {
	t.Helper()
	f.take()
	got := f.Troubles(deviceA)
	if len(got) != len(causes) {
		t.Fatalf("%s: got %+v, want %v", when, got, causes)
	}
	for i, cause := range causes {
		reason, next := f.Standing(f.snapshots[deviceA], "f", f.now).Text(cause)
		if got[i].Cause != cause || !strings.Contains(reason, words) || next == "" {
			t.Errorf("%s: got %v, %q, %q, want %v with %q", when, got[i].Cause, reason, next, cause, words)
		}
	}
}

func TestTheAgentsFactsAreTrouble(t *testing.T) {
	for _, c := range []struct {
		disk  fleet.FolderDisk
		cause fleet.WaitCause
		words string
	}{
		{nearlyFull, fleet.WaitDiskNearlyFull, "3.0 GiB of 1.0 TiB are free"},
		{driveGone, fleet.WaitDriveMissing, "is not there any more"},
		{fleet.FolderDisk{Path: fleet.PresenceThere, Marker: fleet.PresenceMissing}, fleet.WaitDriveMissing, ".stfolder"},
	} {
		f := newFleet(telling(c.disk), online(deviceB, deviceA))
		f.waitsFor(t, "at once", "")
		f.now = noon.Add(10 * time.Minute)
		seen := telling(c.disk)
		seen.LastSeen = f.now
		f.put(seen)
		f.waitsFor(t, "when it lasts", c.words, c.cause)
		gone := telling(fleet.FolderDisk{Path: fleet.PresenceThere, Marker: fleet.PresenceThere})
		gone.LastSeen = f.now
		f.put(gone)
		f.waitsFor(t, "when it is over", "")
	}
}

func TestTheAgentsFactsGoWhenTheyAreOld(t *testing.T) {
	s := telling(driveGone)
	f := newFleet(s, online(deviceB, deviceA))
	away := *s
	away.Connection, away.LastSeen = fleet.NotFound, noon.Add(9*time.Minute)
	f.put(&away)
	f.now = noon.Add(10 * time.Minute)
	f.waitsFor(t, "soon after the agent went", "is not there any more", fleet.WaitDriveMissing)
	f.changedNow()
	f.now = noon.Add(20 * time.Minute)
	if got := f.changedNow(); len(got) != 1 {
		t.Errorf("%v count otherwise", got)
	}
	f.waitsFor(t, "long after", "")
}

func TestConflictsAreTroubleUnlessThatIsOff(t *testing.T) {
	conflicting := changed(online(deviceA, deviceB), func(s *fleet.Snapshot) {
		s.Conflicts = map[string][]fleet.Conflict{"f": {{Path: "b.sync-conflict-1.txt"}, {Path: "a.sync-conflict-1.txt"}}}
	})
	f := newFleet(conflicting, online(deviceB, deviceA))
	f.now = noon.Add(10 * time.Minute)
	f.waitsFor(t, "when they stay", `2 files are in conflict, the newest is "b.sync-conflict`, fleet.WaitConflicts)
	f.put(online(deviceA, deviceB))
	f.waitsFor(t, "when they are gone", "")

	f = newFleet()
	f.Folders = NewFolders(Windows{}, fleet.WaitConflicts, fleet.WaitFolderStopped)
	f.put(with(conflicting, stoppedFolder), online(deviceB, deviceA))
	f.now = noon.Add(time.Hour)
	f.waitsFor(t, "when nobody is to be told", "")
}
