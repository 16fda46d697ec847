package health

import (
	"testing"
	"time"

	"muster/internal/fleet"
)

// isUnclear checks whether a finding of device A may hold although nobody is notified of it.
func (f *fleetOf) isUnclear(t *testing.T, when, folder string, cause fleet.WaitCause, want bool) {
	t.Helper()
	f.take()
	if got := f.Troubles(deviceA); len(got) != 0 {
		t.Errorf("%s: it waits with %+v", when, got)
	}
	if got := f.IsUnclear(deviceA, folder, cause, f.now); got != want {
		t.Errorf("%s: that %s of folder %q is unclear: %v", when, cause, folder, got)
	}
}

// A full disk was told as resolved at each restart, and told again when it had lasted long enough.
func TestAFullDiskWasResolvedByARestart(t *testing.T) {
	home := func(free int64) *fleet.Snapshot {
		return changed(telling(nearlyFull), func(s *fleet.Snapshot) {
			s.Folders, s.Shares, s.Summaries, s.Disks.Folders = nil, nil, nil, nil
			s.Disks.Home = fleet.DiskSpace{Free: free, Total: 1 << 40}
		})
	}
	there := fleet.FolderDisk{Path: fleet.PresenceThere, Marker: fleet.PresenceThere}
	for _, c := range []struct {
		name, folder string
		cause        fleet.WaitCause
		is, mended   *fleet.Snapshot
	}{
		{"disk of a folder", "f", fleet.WaitDiskNearlyFull, telling(nearlyFull), telling(there)},
		{"drive of a folder", "f", fleet.WaitDriveMissing, telling(driveGone), telling(there)},
		{"disk of the home", "", fleet.WaitDiskNearlyFull, home(3 << 30), home(1 << 39)},
	} {
		t.Run(c.name, func(t *testing.T) {
			silent := *c.is
			silent.Disks = nil
			f := newFleet(&silent, online(deviceB, deviceA))
			f.isUnclear(t, "before the agent reports", c.folder, c.cause, true)
			f.put(c.is)
			f.isUnclear(t, "when the agent reported", c.folder, c.cause, true)
			away := *c.is
			away.Connection = fleet.Unreachable
			f.put(&away)
			f.wait(DefaultWindows.Trouble)
			f.isUnclear(t, "away for long", c.folder, c.cause, true)
			f.put(c.is)
			f.isUnclear(t, "back", c.folder, c.cause, true)
			f.put(c.mended)
			f.isUnclear(t, "mended", c.folder, c.cause, false)

			f = newFleet()
			f.Folders = NewFolders(Windows{}, c.cause)
			f.put(c.is, online(deviceB, deviceA))
			f.isUnclear(t, "when nobody is to be told", c.folder, c.cause, false)
		})
	}
	byAddress := online(deviceA, deviceB)
	f := newFleet(byAddress, online(deviceB, deviceA))
	f.isUnclear(t, "without an agent", "f", fleet.WaitDiskNearlyFull, false)
	f.isUnclear(t, "of another folder", "g", fleet.WaitDiskNearlyFull, false)
	f.isUnclear(t, "a state", "f", fleet.WaitFolderStopped, false)
}

func TestConflictsWereResolvedByARestart(t *testing.T) {
	f := newFleet(online(deviceA, deviceB), online(deviceB, deviceA))
	f.isUnclear(t, "before the conflicts are read", "f", fleet.WaitConflicts, true)
	f.put(changed(online(deviceA, deviceB), func(s *fleet.Snapshot) {
		s.ConflictsRead = true
		s.Conflicts = map[string][]fleet.Conflict{"f": {{Path: "a.sync-conflict-1.txt"}}}
	}))
	f.isUnclear(t, "when they are read", "f", fleet.WaitConflicts, true)
	f.put(changed(online(deviceA, deviceB), func(s *fleet.Snapshot) { s.ConflictsRead = true }))
	f.isUnclear(t, "when the file is gone", "f", fleet.WaitConflicts, false)
}

// awayAt is the snapshot of a device whose connection ended at a time.
func awayAt(at time.Time, s *fleet.Snapshot) *fleet.Snapshot {
	s.Connection, s.Since = fleet.Unreachable, at
	return s
}

func TestADisagreementWasResolvedByARestart(t *testing.T) {
	f := newFleet(having(9, deviceA, deviceB), awayAt(noon, having(8, deviceB, deviceA)))
	f.isUnclear(t, "before the groups are known", "f", fleet.WaitDisagree, true)
	f.wait(10 * time.Second)
	f.isUnclear(t, "while nobody else counts", "f", fleet.WaitDisagree, true)
	f.put(having(8, deviceB, deviceA))
	f.isUnclear(t, "when they count differently", "f", fleet.WaitDisagree, true)
	f.wait(DefaultWindows.Disagree)
	f.isUnclear(t, "when they disagree", "f", fleet.WaitDisagree, true)
	f.put(having(9, deviceB, deviceA))
	f.isUnclear(t, "when they agree", "f", fleet.WaitDisagree, false)

	f = newFleet(having(9, deviceA, deviceB, deviceC), having(9, deviceB, deviceA, deviceC),
		awayAt(noon, having(8, deviceC, deviceA, deviceB)))
	f.wait(10 * time.Second)
	f.isUnclear(t, "agreeing with one, while another is away", "f", fleet.WaitDisagree, false)
	f.put(having(8, deviceC, deviceA, deviceB))
	f.isUnclear(t, "one of the many", "f", fleet.WaitDisagree, false)
	f.put(having(9, deviceC))
	f.put(having(9, deviceB))
	f.put(having(9, deviceA))
	f.wait(10 * time.Second)
	f.isUnclear(t, "sharing with nobody", "f", fleet.WaitDisagree, false)
}

// A disagreement was open for who was notified of it, and nothing waited, for as long as the other devices stayed away.
func TestADisagreementWithADeviceThatStaysAwayWasOpenForEver(t *testing.T) {
	notReported := having(8, deviceB, deviceA)
	notReported.Since, notReported.Summaries = noon, nil
	for name, other := range map[string]*fleet.Snapshot{
		"the other is away":           awayAt(noon, having(8, deviceB, deviceA)),
		"the other reports no figure": notReported,
	} {
		f := newFleet(having(9, deviceA, deviceB), other)
		f.wait(DefaultWindows.Trouble - time.Second)
		f.isUnclear(t, name, "f", fleet.WaitDisagree, true)
		f.wait(time.Second)
		f.isUnclear(t, name+" for long", "f", fleet.WaitDisagree, false)
	}
	f := disagreeing(having(9, deviceA, deviceB), having(8, deviceB, deviceA))
	f.wait(DefaultWindows.Trouble)
	if got := f.Troubles(deviceA); len(got) != 1 || got[0].Cause != fleet.WaitDisagree {
		t.Errorf("it waits with %+v", got)
	}
	f.put(awayAt(f.now, having(8, deviceB, deviceA)))
	f.isUnclear(t, "when the other goes away", "f", fleet.WaitDisagree, true)
	f.wait(DefaultWindows.Trouble)
	f.isUnclear(t, "when the other stays away", "f", fleet.WaitDisagree, false)
}

// After a restart a disagreement was told as resolved where the other device connected later than the groups were
// found.
func TestADisagreementWasResolvedBeforeTheOtherDeviceWasRead(t *testing.T) {
	notRead := func(s *fleet.Snapshot) *fleet.Snapshot {
		s.Shares = nil
		return awayAt(noon, s)
	}
	f := newFleet(having(9, deviceA, deviceB), notRead(having(8, deviceB, deviceA)))
	f.wait(time.Minute)
	f.isUnclear(t, "before the other is read", "f", fleet.WaitDisagree, true)
	f.put(having(8, deviceB, deviceA))
	f.wait(10 * time.Second)
	f.isUnclear(t, "when it counts differently", "f", fleet.WaitDisagree, true)

	f = newFleet(having(9, deviceA, deviceB), notRead(having(8, deviceC, deviceA)))
	f.wait(time.Minute)
	f.isUnclear(t, "while a device with another folder is away", "f", fleet.WaitDisagree, false)
}

// After a restart a disagreement was open for who was notified of it, and nothing waited, for as long as people went on
// working in the folder.
func TestADisagreementAboutABusyFolderWasOpenForEver(t *testing.T) {
	f := newFleet(having(9, deviceA, deviceB), having(8, deviceB, deviceA))
	f.wait(10 * time.Second)
	for n := range int64(3) {
		f.wait(4 * time.Minute)
		f.put(lacking(having(8, deviceB, deviceA)))
		f.put(having(8, deviceB, deviceA))
		f.put(having(10+n, deviceA, deviceB, deviceC)) // The groups are found anew once.
		f.isUnclear(t, "while it may begin to disagree", "f", fleet.WaitDisagree, true)
	}
	f.wait(4 * time.Minute)
	f.put(having(20, deviceA, deviceB, deviceC))
	f.isUnclear(t, "when it moved all the time", "f", fleet.WaitDisagree, false)
	f.wait(DefaultWindows.Disagree)
	f.isUnclear(t, "when it disagrees", "f", fleet.WaitDisagree, true)
	f.put(awayAt(f.now, having(8, deviceB, deviceA)))
	f.isUnclear(t, "when the other goes away", "f", fleet.WaitDisagree, true)
	f.put(having(8, deviceB, deviceA))
	f.isUnclear(t, "when the other is back", "f", fleet.WaitDisagree, true)
}
