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
		if !f.IsYoung(f.snapshots[deviceA], f.now) {
			t.Errorf("%v is not young at once", c.cause)
		}
		f.now = noon.Add(10 * time.Minute)
		seen := telling(c.disk)
		seen.LastSeen = f.now
		f.put(seen)
		f.waitsFor(t, "when it lasts", c.words, c.cause)
		if f.IsYoung(f.snapshots[deviceA], f.now) {
			t.Errorf("%v is still young when it is trouble", c.cause)
		}
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
	f.put(changed(online(deviceA, deviceB), func(s *fleet.Snapshot) {
		s.Conflicts, s.ConflictsLeftOut = conflicting.Conflicts, map[string]int{"f": 7}
		s.ConflictsCounted = map[string]int64{"f": 9}
	}))
	f.waitsFor(
		t,
		"when not all are named",
		`more than 2 files are in conflict, the newest is "b.sync-conflict-1.txt"; the `+
			`daemon counted 9 conflicts since its start`,
		fleet.WaitConflicts,
	)
	f.put(changed(online(deviceA, deviceB), func(s *fleet.Snapshot) { s.ConflictsCounted = map[string]int64{"f": 9} }))
	f.waitsFor(t, "when they are gone, although the daemon counted some", "")

	f = newFleet()
	f.Folders = NewFolders(Windows{}, fleet.WaitConflicts, fleet.WaitFolderStopped)
	f.put(with(conflicting, stoppedFolder), online(deviceB, deviceA))
	f.now = noon.Add(time.Hour)
	f.waitsFor(t, "when nobody is to be told", "")
}

// A folder with a missing drive, a full disk or a file in conflict was shown as up to date wherever a list has one word
// for it.
func TestAFolderWithAFindingWasShownAsUpToDate(t *testing.T) {
	conflicting := func() *fleet.Snapshot {
		return changed(online(deviceA, deviceB), func(s *fleet.Snapshot) {
			s.Conflicts = map[string][]fleet.Conflict{"f": {{Path: "a.sync-conflict-1.txt"}}}
		})
	}
	both := telling(driveGone)
	both.Conflicts = conflicting().Conflicts
	for _, c := range []struct {
		name    string
		is      *fleet.Snapshot
		want    fleet.FolderState
		besides int
	}{
		{"drive missing", telling(driveGone), fleet.FolderDriveMissing, 0},
		{"disk nearly full", telling(nearlyFull), fleet.FolderDiskNearlyFull, 0},
		{"conflict", conflicting(), fleet.FolderConflicts, 0},
		{"two findings", both, fleet.FolderDriveMissing, 1},
		{"scanning", with(telling(nearlyFull), func(f *fleet.FolderSummary) { f.State = "scanning" }),
			fleet.FolderDiskNearlyFull, 0},
		{"something is missing", with(telling(nearlyFull), func(f *fleet.FolderSummary) { f.NeedBytes, f.NeedFiles = 7, 1 }),
			fleet.FolderSyncing, 1},
		{"stopped", with(conflicting(), stoppedFolder), fleet.FolderStopped, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFleet(c.is, online(deviceB, deviceA))
			got := f.Standing(c.is, "f", f.now)
			if state, _ := f.State(deviceA, "f"); got.State != c.want || state != c.want || len(got.Besides) != c.besides {
				t.Errorf("got %v and %v, besides %+v, want %v", got.State, state, got.Besides, c.want)
			}
			if got.Reason == "" || got.Next == "" && c.want != fleet.FolderSyncing || got.Trouble ||
				!got.Since.Equal(noon) {
				t.Errorf("got %+v", got)
			}
			f.now = noon.Add(9 * time.Minute)
			f.waitsFor(t, "soon", "")
			later := *c.is
			later.LastSeen = noon.Add(10 * time.Minute)
			f.now = later.LastSeen
			f.put(&later)
			if got = f.Standing(&later, "f", f.now); got.State == c.want && !got.Trouble || len(f.Troubles(deviceA)) == 0 {
				t.Errorf("when it lasts it is %+v, and waits with %+v", got, f.Troubles(deviceA))
			}
		})
	}
}

// TestANearlyFullDiskOfTheHomeIsTroubleOnce has people told of the disk of the daemon's home by one folder of the
// device.
func TestANearlyFullDiskOfTheHomeIsTroubleOnce(t *testing.T) {
	full := telling(fleet.FolderDisk{Space: fleet.DiskSpace{Free: 1 << 39, Total: 1 << 41}})
	full.Disks.Home = nearlyFull.Space
	full.Folders = append(full.Folders, fleet.FolderLabel{Folder: "g"})
	f := newFleet(full, online(deviceB, deviceA))
	f.now = noon.Add(10 * time.Minute)
	full.LastSeen = f.now
	f.waitsFor(t, "when it lasts", "the disk of the daemon's home, with its database, is nearly full: 3.0 GiB of 1.0 TiB",
		fleet.WaitDiskNearlyFull)
	if got := f.Standing(full, "g", f.now); len(got.Besides) != 0 {
		t.Errorf("it is told again by another folder: %+v", got.Besides)
	}
	same := telling(nearlyFull)
	same.Disks.Home, same.LastSeen = nearlyFull.Space, f.now
	f.put(same)
	f.waitsFor(t, "where a folder is on the same disk", "the disk of the folder is nearly full", fleet.WaitDiskNearlyFull)
}

// Of the disk of its daemon's home a device without folders told nobody.
func TestANearlyFullDiskOfTheHomeOfADeviceWithoutFoldersToldNobody(t *testing.T) {
	empty := changed(telling(nearlyFull), func(s *fleet.Snapshot) {
		s.Folders, s.Shares, s.Summaries, s.Disks.Folders = nil, nil, nil, nil
		s.Disks.Home, s.FoundBy = nearlyFull.Space, fleet.FoundByAgent
	})
	f := newFleet(empty)
	if got := f.Troubles(deviceA); len(got) != 0 {
		t.Errorf("at once it waits with %+v", got)
	}
	f.Changed()
	f.now = noon.Add(DefaultWindows.Trouble)
	lasting := *empty
	lasting.LastSeen = f.now
	f.put(&lasting)
	got := f.Troubles(deviceA)
	if len(got) != 1 ||
		got[0] != (fleet.FolderTrouble{Cause: fleet.WaitDiskNearlyFull, Since: time.UnixMilli(noon.UnixMilli())}) {
		t.Fatalf("when it lasts it waits with %+v", got)
	}
	if changed := f.Changed(); !changed[deviceA] {
		t.Error("the view is not told of it")
	}
	const want = "the disk of the daemon's home, with its database, is nearly full: 3.0 GiB of 1.0 TiB are free"
	reason, next := f.Standing(&lasting, "", f.now).Text(fleet.WaitDiskNearlyFull)
	if !strings.HasPrefix(reason, want) || next != nextOfHome {
		t.Errorf("the reason is %q, the advice %q", reason, next)
	}
	state, err := New().State(deviceA, Facts{Snapshot: &lasting, HomeText: f.HomeText(&lasting, f.now)})
	if err != nil || !strings.Contains(state.Reason, want) || !strings.Contains(state.Next, nextOfHome) {
		t.Errorf("the state says %q, %q (%v)", state.Reason, state.Next, err)
	}
	f.silentAboutHome(t, &lasting)
	f.now = f.now.Add(DefaultWindows.Trouble)
	if f.take(); len(f.Troubles(deviceA)) != 1 {
		t.Error("the word of an agent that is connected is too old")
	}
	room := lasting
	room.Disks = &fleet.DiskFacts{At: f.now, Home: fleet.DiskSpace{Free: 1 << 40, Total: 1 << 41}}
	f.put(&room)
	if got := f.Troubles(deviceA); len(got) != 0 || !f.Changed()[deviceA] {
		t.Errorf("with room it waits with %+v", got)
	}
	away := lasting
	away.Connection = fleet.Unreachable
	f.put(&away)
	f.now = f.now.Add(DefaultWindows.Trouble)
	if f.take(); len(f.Troubles(deviceA)) != 0 {
		t.Error("the agent's word is old, and still trouble")
	}
}

// silentAboutHome checks what the state of a device says of the disk of its home where nobody is to be told, and when
// the device has folders or the agent's report is old. It had said it although `diskNearlyFull` was off.
func (f *fleetOf) silentAboutHome(t *testing.T, full *fleet.Snapshot) {
	t.Helper()
	if text := NewFolders(Windows{}, fleet.WaitDiskNearlyFull).HomeText(full, f.now); text != "" {
		t.Errorf("where nobody is to be told, the state says %q", text)
	}
	filled, old := *full, *full
	filled.Folders = []fleet.FolderLabel{{Folder: "f"}}
	old.FoundBy, old.Disks = "", &fleet.DiskFacts{At: f.now.Add(-DefaultWindows.Trouble), Home: full.Disks.Home}
	for _, s := range []*fleet.Snapshot{&filled, &old} {
		if text := f.HomeText(s, f.now); text != "" {
			t.Errorf("the state of %+v says %q", s, text)
		}
	}
}

// A conflict that went between two readings was shown as 0 files, the newest "".
func TestNoFilesWereInConflict(t *testing.T) {
	got := conflictText(fleet.ConflictsOn{})
	if more := conflictText(fleet.ConflictsOn{More: true}); got != "files of the folder are in conflict" || more != got {
		t.Errorf("got %q and %q", got, more)
	}
}

// Conflicts for whose names there was no room were no trouble.
func TestConflictsThatAreLeftOutAreTrouble(t *testing.T) {
	s := changed(online(deviceA, deviceB), func(s *fleet.Snapshot) { s.ConflictsLeftOut = map[string]int{"f": 3} })
	f := newFleet(s, online(deviceB, deviceA))
	f.now = noon.Add(10 * time.Minute)
	f.waitsFor(t, "when they stay", "files of the folder are in conflict", fleet.WaitConflicts)
}

// A device whose drive was missing was last known as up to date once it was away.
func TestADeviceWithAMissingDriveWasLastKnownAsUpToDate(t *testing.T) {
	s := telling(driveGone)
	f := newFleet(s, online(deviceB, deviceA))
	before := f.Standing(s, "f", f.now)
	f.now = noon.Add(time.Minute)
	away := *s
	away.Connection = fleet.Unreachable
	f.put(&away)
	got := f.Standing(&away, "f", f.now)
	if got.State != fleet.FolderUnknown || got.Last == nil || *got.Last != fleet.FolderDriveMissing {
		t.Errorf("got %v, last known %v", got.State, got.Last)
	}
	f.put(s)
	if after := f.Standing(s, "f", f.now); after.State != before.State || !after.Since.Equal(before.Since) {
		t.Errorf("back, it is %v since %v", after.State, after.Since)
	}
}

// A device whose drive was missing was named as one that has what others lack, while the agent's word holds.
func TestADeviceWithAMissingDriveWasAHolder(t *testing.T) {
	a := lacking(online(deviceA, deviceB))
	b := online(deviceB, deviceA)
	f := newFleet(a, b)
	everybody := func(fleet.DeviceID) bool { return true }
	if got := f.Holders(a, "f", f.now, 10, everybody); len(got) != 1 {
		t.Errorf("the holders are %v", got)
	}
	f.is(t, "while the drive is there", deviceA, fleet.FolderSyncing, false)
	f.put(changed(b, func(s *fleet.Snapshot) {
		gone := driveGone
		gone.Folder = "f"
		s.Disks = &fleet.DiskFacts{At: noon, Folders: []fleet.FolderDisk{gone}}
	}))
	if got := f.Holders(a, "f", f.now, 10, everybody); len(got) != 0 {
		t.Errorf("without its drive, the holders are %v", got)
	}
	f.is(t, "while the drive is missing", deviceA, fleet.FolderBehind, false)
	f.now = noon.Add(10 * time.Minute)
	f.is(t, "when the agent's word is old", deviceA, fleet.FolderStalled, false)
	if got := f.Holders(a, "f", f.now, 10, everybody); len(got) != 1 {
		t.Errorf("when the agent's word is old, the holders are %v", got)
	}
}

// The word of an agent that is connected is never too old, and was not heard at all.
func TestAConnectedAgentsMissingDriveMadeItsDeviceAHolder(t *testing.T) {
	gone := driveGone
	gone.Folder = "f"
	a := lacking(online(deviceA, deviceB))
	b := changed(online(deviceB, deviceA), func(s *fleet.Snapshot) {
		s.FoundBy, s.Disks = fleet.FoundByAgent, &fleet.DiskFacts{At: noon, Folders: []fleet.FolderDisk{gone}}
	})
	f := newFleet(a, b)
	f.wait(time.Hour)
	f.is(t, "while the agent is connected", deviceA, fleet.FolderBehind, false)
	everybody := func(fleet.DeviceID) bool { return true }
	if got := f.Holders(a, "f", f.now, 10, everybody); len(got) != 0 {
		t.Errorf("the holders are %v", got)
	}
	byAddress := *b
	byAddress.FoundBy = ""
	f.put(&byAddress)
	f.is(t, "when it was reached another way, and the agent's word is old", deviceA, fleet.FolderStalled, false)
}
