package health

import (
	"strings"
	"testing"
	"time"

	"muster/internal/fleet"
)

// having is the snapshot of a device that has so many files, and shares folder f with others.
func having(files int64, id fleet.DeviceID, with_ ...fleet.DeviceID) *fleet.Snapshot {
	s := with(online(id, with_...), func(f *fleet.FolderSummary) {
		f.LocalFiles, f.GlobalFiles, f.LocalDirectories, f.LocalBytes, f.Sequence = files, files, 2, 1000*files, files
	})
	s.Version = &fleet.Version{Version: "v2.0.1"}
	return s
}

// disagrees tells whether a device is one of those that disagree.
func (f *fleetOf) disagrees(t *testing.T, when string, want bool, devices ...fleet.DeviceID) {
	t.Helper()
	f.take()
	for _, id := range devices {
		found := f.Standing(f.snapshots[id], "f", f.now).Finding(fleet.WaitDisagree)
		if (found != nil) != want {
			t.Errorf("%s: that %s disagrees is %v", when, id.Short(), found != nil)
		}
		if found != nil && !strings.Contains(found.Reason, "files, 2 directories (") {
			t.Errorf("%s: the reason is %q", when, found.Reason)
		}
	}
}

func (f *fleetOf) wait(d time.Duration) {
	f.now = f.now.Add(d)
	f.take()
}

func TestDevicesThatCountDifferentlyDisagreeOnceNothingMoves(t *testing.T) {
	f := newFleet(having(9, deviceA, deviceB), having(10, deviceB, deviceA))
	f.wait(10 * time.Second) // the groups are found
	f.disagrees(t, "at first", false, deviceA, deviceB)
	f.wait(4 * time.Minute)
	f.put(having(11, deviceB, deviceA))
	f.wait(4 * time.Minute)
	f.disagrees(t, "while a sequence moves", false, deviceA, deviceB)
	f.changedNow()
	f.wait(2 * time.Minute)
	f.disagrees(t, "when nothing moved for 5 minutes", true, deviceA, deviceB)
	if got := f.changedNow(); len(got) != 2 {
		t.Errorf("%v count otherwise", got)
	}
	if got := f.Troubles(deviceA); len(got) != 0 {
		t.Errorf("it is trouble at once: %+v", got)
	}
	f.wait(10 * time.Minute)
	if got := f.Troubles(deviceA); len(got) != 1 || got[0].Cause != fleet.WaitDisagree {
		t.Errorf("the troubles are %+v", got)
	}
	f.put(having(12, deviceA, deviceB))
	f.disagrees(t, "while they go on working", true, deviceA, deviceB)
	f.put(having(12, deviceB, deviceA))
	f.disagrees(t, "when they agree", false, deviceA, deviceB)
	if got := f.Troubles(deviceA); len(got) != 0 {
		t.Errorf("it stays trouble: %+v", got)
	}
}

// disagreeing is a fleet after a while.
func disagreeing(snapshots ...*fleet.Snapshot) *fleetOf {
	f := newFleet(snapshots...)
	f.wait(10 * time.Second)
	f.wait(5 * time.Minute)
	return f
}

func TestTheFewDisagreeWithTheMany(t *testing.T) {
	f := disagreeing(having(9, deviceA, deviceB, deviceC), having(9, deviceB, deviceA, deviceC),
		having(8, deviceC, deviceA, deviceB))
	f.disagrees(t, "one of three", true, deviceC)
	f.disagrees(t, "two of three", false, deviceA, deviceB)
}

// A hub shares with all, and they share with the hub alone.
func TestDevicesThatShareOverAnotherDisagree(t *testing.T) {
	f := disagreeing(having(9, deviceA, deviceB, deviceC), having(9, deviceB, deviceA), having(8, deviceC, deviceA))
	f.disagrees(t, "behind the hub", true, deviceC)
	f.disagrees(t, "the others", false, deviceA, deviceB)
	f.put(having(8, deviceC))
	f.wait(10 * time.Second)
	f.disagrees(t, "shared no more", false, deviceA, deviceB, deviceC)
}

func TestADeviceThatHasAFolderNoMoreDisagreesNoMore(t *testing.T) {
	f := disagreeing(having(9, deviceA, deviceB), having(8, deviceB, deviceA))
	f.disagrees(t, "at first", true, deviceA, deviceB)
	f.put(changed(having(8, deviceB, deviceA), func(s *fleet.Snapshot) {
		s.Folders, s.Shares, s.Summaries = nil, []fleet.SharedFolder{}, nil
	}))
	f.disagrees(t, "removed on B", false, deviceA)

	f = disagreeing(having(9, deviceA, deviceB), having(8, deviceB, deviceA))
	delete(f.snapshots, deviceB)
	f.Update(map[fleet.DeviceID]*fleet.Snapshot{deviceB: nil}, nil, f.now)
	f.disagrees(t, "B is deleted", false, deviceA)
	if len(f.groups.folders["f"].books) != 1 {
		t.Errorf("the index has %d devices", len(f.groups.folders["f"].books))
	}
	f.Update(map[fleet.DeviceID]*fleet.Snapshot{deviceA: nil}, nil, f.now.Add(time.Minute))
	if len(f.groups.folders)+len(f.groups.differing)+len(f.groups.touched) != 0 {
		t.Errorf("something is left of the index: %+v", f.groups)
	}
}

func TestWhoCountsOtherwiseForAGoodReasonDoesNotDisagree(t *testing.T) {
	for name, other := range map[string]*fleet.Snapshot{
		"something is missing": with(having(8, deviceB, deviceA), func(f *fleet.FolderSummary) { f.NeedFiles = 1 }),
		"some is ignored":      with(having(8, deviceB, deviceA), func(f *fleet.FolderSummary) { f.IgnorePatterns = true }),
		"it is encrypted": shared(having(8, deviceB, deviceA),
			func(f *fleet.SharedFolder) { f.Type = fleet.ReceiveEncrypted }),
		"it is paused":         shared(having(8, deviceB, deviceA), func(f *fleet.SharedFolder) { f.Paused = true }),
		"it is stopped":        with(having(8, deviceB, deviceA), stoppedFolder),
		"it was changed there": with(having(8, deviceB, deviceA), func(f *fleet.FolderSummary) { f.LocalChanges = 1 }),
		"it is offline": changed(having(8, deviceB, deviceA),
			func(s *fleet.Snapshot) { s.Connection = fleet.Unreachable }),
		"it was not scanned yet": with(having(8, deviceB, deviceA),
			func(f *fleet.FolderSummary) { f.StateChanged = time.Time{} }),
		"it is another folder with the same ID": having(8, deviceB, deviceC),
		"it is shared with nobody":              having(8, deviceB),
		"before 2.0 directories have bytes": changed(with(having(9, deviceB, deviceA),
			func(f *fleet.FolderSummary) { f.LocalBytes += 2 * bytesOfEntry }),
			func(s *fleet.Snapshot) { s.Version = &fleet.Version{Version: "v1.19.2"} }),
	} {
		f := disagreeing(having(9, deviceA, deviceB), other)
		f.disagrees(t, name, false, deviceA, deviceB)
	}
}

func BenchmarkASequenceMovesInAFolderOfManyDevices(b *testing.B) {
	const many = 10_000
	ids := make([]fleet.DeviceID, many)
	for i := range ids {
		ids[i] = fleet.DeviceIDOf([32]byte{byte(i), byte(i >> 8), 1})
	}
	all := fleet.PeersOf(ids)
	snapshot := func(i int, sequence int64) *fleet.Snapshot {
		s := having(9, ids[i])
		s.Shares[0].With = all
		s.Connected = fleet.Peers{}
		return with(s, func(f *fleet.FolderSummary) { f.Sequence = sequence })
	}
	f := &fleetOf{Folders: NewFolders(Windows{}), snapshots: map[fleet.DeviceID]*fleet.Snapshot{}, now: noon}
	seen := map[fleet.DeviceID]*fleet.Snapshot{}
	for i := range ids {
		seen[ids[i]] = snapshot(i, 1)
	}
	f.groups = newComparison()
	start := time.Now()
	f.mu.Lock()
	for id, s := range seen {
		book := &folderBook{seen: &fleet.Snapshot{Device: id}}
		f.devices[id] = book
		f.setRecords(book, s, noon)
	}
	f.regroup("f", noon)
	f.mu.Unlock()
	b.ReportMetric(float64(time.Since(start).Milliseconds()), "ms-to-group")
	g := f.devices[ids[0]].folders[0].group
	before, after := snapshot(0, 1), snapshot(0, 2)
	for b.Loop() {
		f.recount(g, before, after, noon)
		f.recount(g, after, before, noon)
		f.compare(noon, map[fleet.DeviceID]bool{})
	}
}
